"""A run folder on disk: its name taken, its files and its manifest checked."""

from pathlib import Path

from harness.disk import flush_folder
from harness.errors import UsageError
from harness.plain_files import UnusableEntry, check_entries
from harness.results.manifest import RunManifest
from harness.results.naming import RunNameTaken
from harness.results.storage import (
    read_as,
    refused_entry,
)

MANIFEST = "manifest.json"


def take_name(unfinished: Path, path: Path) -> None:
    try:
        if path.exists():
            raise FileExistsError
        unfinished.rename(path)  # fails where another harness took the name in between
        flush_folder(path.parent)
    except OSError:
        raise RunNameTaken(
            f"there is already a run {path.name!r} in {path.parent}",
            remedy="choose another --run-name, or go on with that run: --resume",
        ) from None


def check_below(path: Path, *, besides: frozenset[str] = frozenset()) -> None:
    try:
        check_entries(path, besides=besides)
    except UnusableEntry as error:
        raise refused_entry(error) from None


def read_manifest(path: Path) -> RunManifest:
    if not (path / MANIFEST).is_file():
        raise UsageError(f"{str(path)!r} is no run folder: it has no {MANIFEST}")
    return read_as(path / MANIFEST, RunManifest)
