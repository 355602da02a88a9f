"""A run folder on disk: its name taken, its files and its manifest checked."""

from pathlib import Path

from harness.disk import flush_folder
from harness.errors import UsageError
from harness.plain_files import UnusableEntry, check_entries
from harness.results.manifest import RunManifest
from harness.results.matrix import matrix_at
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
            f"run {path.name!r} already exists in {path.parent}",
            remedy="choose another --run-name, or continue that run: --resume",
        ) from None


def check_below(path: Path, *, besides: frozenset[str] = frozenset()) -> None:
    try:
        check_entries(path, besides=besides)
    except UnusableEntry as error:
        raise refused_entry(error) from None


def check_trial(trials: Path, place: Path) -> None:
    """As `check_below`, for one trial of a folder that may hold many. Raises ResultsError."""
    for folder in (trials, place.parent, place):
        if folder.is_symlink():
            raise refused_entry(UnusableEntry(folder, "is a link, which is not followed"))
    check_below(place)


def read_manifest(path: Path) -> RunManifest:
    if not (path / MANIFEST).is_file():
        matrix = matrix_at(path)
        if matrix is not None:
            raise UsageError(
                f"{matrix.name!r} is a matrix of several runs", remedy=f"name one of them: {', '.join(matrix.runs)}"
            )
        raise UsageError(f"{str(path)!r} is not a run folder: it has no {MANIFEST}")
    return read_as(path / MANIFEST, RunManifest)
