"""The formats that can be imported, by name."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from harness.errors import UsageError
from harness.ingest.formats import adk, anthropic, atif, inspect_log, openai_chat, otel, tau2, tau_bench
from harness.ingest.found import Importer
from harness.ingest.options import ImportOptions
from harness.ingest.run import ImportedRun, import_with

_IMPORTERS: Mapping[str, Importer] = MappingProxyType(
    {
        "adk": adk.IMPORTER,
        "anthropic": anthropic.IMPORTER,
        "atif": atif.IMPORTER,
        "inspect": inspect_log.IMPORTER,
        "openai-chat": openai_chat.IMPORTER,
        "otel": otel.IMPORTER,
        "tau-bench": tau_bench.IMPORTER,
        "tau2": tau2.IMPORTER,
    }
)


def importers() -> tuple[str, ...]:
    """Names of the formats."""
    return tuple(_IMPORTERS)


def import_file(format: str, path: Path, options: ImportOptions | None = None) -> ImportedRun:
    """Reads a file, or every file of a folder that the format could be in.

    Raises UsageError for an unknown format, InvalidDocument (file, record, field) for a file that is not what it
    should be. What was read otherwise than it stands is in the run's notes.
    """
    if format not in _IMPORTERS:
        raise UsageError(f"there is no format {format!r}", remedy=f"one of: {', '.join(_IMPORTERS)}")
    return import_with(_IMPORTERS[format], path, options or ImportOptions())
