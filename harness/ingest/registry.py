"""The formats that can be imported, by name: the built-in ones, and what else is installed (`harness.importer`)."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.errors import HarnessError, InvalidDocument, UsageError
from harness.plugins import Registry, described

if TYPE_CHECKING:
    from harness.ingest.found import Found, Reader, Source
    from harness.ingest.options import ImportOptions
    from harness.ingest.run import ImportedRun

IMPORTERS: Final = Registry(
    seam="importer",
    built_in={
        "adk": "harness.ingest.formats.adk:IMPORTER",
        "anthropic": "harness.ingest.formats.anthropic:IMPORTER",
        "atif": "harness.ingest.formats.atif:IMPORTER",
        "inspect": "harness.ingest.formats.inspect_log:IMPORTER",
        "langfuse": "harness.ingest.formats.langfuse:IMPORTER",
        "openai-chat": "harness.ingest.formats.openai_chat:IMPORTER",
        "otel": "harness.ingest.formats.otel:IMPORTER",
        "tau2": "harness.ingest.formats.tau2:IMPORTER",
    },
)


def importers() -> tuple[str, ...]:
    """Names of the formats."""
    return IMPORTERS.names


def import_file(format: str, path: Path, options: "ImportOptions | None" = None) -> "ImportedRun":
    """Reads a file, or every file of a folder that the format could be in.

    Raises UsageError for an unknown format, InvalidDocument (file, record, field) for a file that is not what it
    should be, or that an importer of a package fails on. What was read otherwise than it stands is in the run's notes.
    """
    from harness.ingest.found import Importer
    from harness.ingest.options import ImportOptions
    from harness.ingest.run import import_with

    found = IMPORTERS.find(format)
    if not isinstance(found, Importer):
        raise UsageError(f"importer {format!r}: expected an Importer, found {type(found).__name__}")
    if format not in IMPORTERS.built_in:
        found = replace(found, read=_refusing(format, found.read))
    return import_with(found, path, options or ImportOptions())


def _refusing(format: str, read: "Reader") -> "Reader":
    """Reads as `read` does, and refuses the file that it fails on. The built-in importers are not excused like this."""

    def reading(source: "Source") -> "Iterator[Found]":
        try:
            yield from read(source)
        except HarnessError:
            raise
        except Exception as error:
            problem = f"importer {format!r} failed on it: {described(error)}"
            remedy = f"correct the file, or report it with the error to the authors of importer {format!r}"
            raise InvalidDocument(source.path, problem, remedy=remedy) from error

    return reading
