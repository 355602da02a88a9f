"""Runs out of an archive that somebody sent, or that CI kept: nothing in it is believed."""

import json
import re
import stat
import zipfile
import zlib
from io import FileIO
from pathlib import Path, PurePosixPath
from typing import Final

from harness.errors import ResultsError, os_error_in_words
from harness.runs.store.manifest import MANIFEST, RUN_NAME

_MOST_MEMBERS: Final = 200_000
_MOST_BYTES: Final = 4 << 30
"""Of all files, as they are unpacked and not as the archive tells."""
_MOST_READ: Final = 32 << 20
"""At once: the list of members is read as a whole, and each takes ten times its place there."""
_DEEPEST: Final = 12
_PART: Final = 1 << 20
_BROKEN: Final = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)


class _Bounded(FileIO):
    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(_MOST_READ + 1 if size is None or size < 0 else min(size, _MOST_READ + 1)) or b""
        if len(found) > _MOST_READ:
            raise zipfile.BadZipFile("its list of files is too long")
        return found


def unpack_runs(archive: Path, into: Path) -> tuple[str, ...]:
    """Writes every run of a zip file to a folder of its name in `into`, an empty folder; the names.

    A folder with a manifest and trials is a run, and everything else is left out. Raises ResultsError if there is
    none, if the archive is damaged or too large, and for an entry that is a link or that would lie elsewhere.
    """
    try:
        with _Bounded(archive) as stream, zipfile.ZipFile(stream) as opened:
            return _unpacked(archive, opened, into)
    except _BROKEN as error:
        raise ResultsError(f"{archive}: cannot be unpacked: {error}", remedy="download it again") from None
    except OSError as error:
        raise ResultsError(f"{archive}: {os_error_in_words(error).message}") from None


def _unpacked(archive: Path, opened: zipfile.ZipFile, into: Path) -> tuple[str, ...]:
    members = [one for one in opened.infolist() if not one.is_dir()]
    if len(members) > _MOST_MEMBERS:
        raise ResultsError(f"{archive}: it has {len(members)} files; at most {_MOST_MEMBERS} are unpacked")
    placed = [(_path(archive, one), one) for one in members]
    trials = {path.parents[at] for path, _ in placed for at, name in enumerate(path.parts[-2::-1]) if name == "trials"}
    runs = {path.parent: one for path, one in placed if path.name == MANIFEST and path.parent / "trials" in trials}
    outer = [folder for folder in runs if not any(above in runs for above in folder.parents)]
    names = {folder: _name(archive, opened, folder, runs[folder]) for folder in outer}
    if not names or len(set(names.values())) < len(names):
        what = "two of its runs have one name" if names else "it has no run: no manifest.json beside trials/"
        raise ResultsError(f"{archive}: {what}", remedy="archive one folder of runs/, with everything in it")
    left = _MOST_BYTES
    for path, one in placed:
        folder = next((above for above in path.parents if above in names), None)
        if folder is not None:
            left -= _write(archive, opened, one, into / names[folder] / path.relative_to(folder), left)
    return tuple(names.values())


def _path(archive: Path, member: zipfile.ZipInfo) -> PurePosixPath:
    """Where a plain file lies. Raises ResultsError for everything that is none, and for a way out of the archive."""
    parts = member.filename.split("/")
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        problem = "is a link or a device"
    elif len(parts) > _DEEPEST or not all(part not in ("", ".", "..") and part.isprintable() for part in parts):
        problem = "does not lie in the archive"
    elif "\\" in member.filename or member.orig_filename != member.filename:
        problem = "has a name that systems read differently"
    else:
        return PurePosixPath(*parts)
    raise ResultsError(f"{archive}: the entry {member.filename[:200]!r} {problem}", remedy="do not trust the archive")


def _name(archive: Path, opened: zipfile.ZipFile, folder: PurePosixPath, manifest: zipfile.ZipInfo) -> str:
    """Of the folder; if the archive holds what is in it alone, of the manifest."""
    found: object = folder.name
    if not folder.name:
        with opened.open(manifest) as stream:
            try:
                document = json.loads(stream.read(_MOST_READ))
            except (ValueError, RecursionError):
                document = None
        found = document.get("run") if isinstance(document, dict) else None
    if isinstance(found, str) and re.fullmatch(RUN_NAME, found):
        return found
    raise ResultsError(f"{archive}: {str(found)[:200]!r} is not the name of a run")


def _write(archive: Path, opened: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path, most: int) -> int:
    """The bytes that were written; no file is written twice."""
    target.parent.mkdir(parents=True, exist_ok=True)
    done = 0
    with opened.open(member) as source, target.open("xb") as stream:
        while part := source.read(_PART):
            done += len(part)
            if done > most:
                raise ResultsError(f"{archive}: it holds more than {_MOST_BYTES >> 30} GB", remedy="keep fewer runs")
            stream.write(part)
    return done
