"""The formats that can be imported, by name: the built-in ones, and what else is installed (`harness.importer`)."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.errors import UsageError
from harness.plugins import Registry

if TYPE_CHECKING:
    from harness.ingest.options import ImportOptions
    from harness.ingest.run import ImportedRun

IMPORTERS: Final = Registry(
    seam="importer",
    built_in={
        "adk": "harness.ingest.formats.adk:IMPORTER",
        "anthropic": "harness.ingest.formats.anthropic:IMPORTER",
        "atif": "harness.ingest.formats.atif:IMPORTER",
        "inspect": "harness.ingest.formats.inspect_log:IMPORTER",
        "openai-chat": "harness.ingest.formats.openai_chat:IMPORTER",
        "otel": "harness.ingest.formats.otel:IMPORTER",
        "tau-bench": "harness.ingest.formats.tau_bench:IMPORTER",
        "tau2": "harness.ingest.formats.tau2:IMPORTER",
    },
)


def importers() -> tuple[str, ...]:
    """Names of the formats."""
    return IMPORTERS.names


def import_file(format: str, path: Path, options: "ImportOptions | None" = None) -> "ImportedRun":
    """Reads a file, or every file of a folder that the format could be in.

    Raises UsageError for an unknown format, InvalidDocument (file, record, field) for a file that is not what it
    should be. What was read otherwise than it stands is in the run's notes.
    """
    from harness.ingest.found import Importer
    from harness.ingest.options import ImportOptions
    from harness.ingest.run import import_with

    found = IMPORTERS.find(format)
    if not isinstance(found, Importer):
        raise UsageError(f"importer {format!r}: expected an Importer, found {type(found).__name__}")
    return import_with(found, path, options or ImportOptions())
