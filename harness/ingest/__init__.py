"""Foreign trajectories and traces as ordinary suites and trials, and ours in formats that others read."""

from harness.ingest.export.atif import export_atif
from harness.ingest.export.otlp import export_otlp
from harness.ingest.options import ImportOptions, Note
from harness.ingest.registry import import_file, importers
from harness.ingest.run import ImportedRun

__all__ = ["ImportOptions", "ImportedRun", "Note", "export_atif", "export_otlp", "import_file", "importers"]
