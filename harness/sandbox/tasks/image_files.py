"""The files of an image below some folders, as the entries of a snapshot, because a tmpfs would hide them."""

import hashlib
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

import docker
from docker.errors import NotFound

from harness.errors import ImageError
from harness.sandbox.images.recipe import read_files
from harness.sandbox.state.snapshot import SnapshotEntry

_IN_MEMORY = 16 * 1024 * 1024
_PERMISSIONS = 0o777


def image_files(
    client: docker.DockerClient, tag: str, places: tuple[str, ...], into: Path
) -> tuple[SnapshotEntry, ...]:
    """Copies what is below the places of an image to `into`, which mirrors its root; places that it lacks are empty.

    Raises ImageError for an image whose place is a link.
    """
    container = client.api.create_container(tag, ["true"])["Id"]
    try:
        return tuple(entry for place in places for entry in _below(client, container, place, into))
    finally:
        client.api.remove_container(container, force=True)


def folder_files(folder: Path, at: str, into: Path, program: str) -> tuple[SnapshotEntry, ...]:
    """The files of a task's own folder as root's, at another place; `program` is executable whatever its mode."""
    entries = []
    for file in read_files(folder):
        path = f"{at}/{file.path}"
        if file.link is not None:
            entries.append(SnapshotEntry(path=path, kind="link", mode=0o777, owner="root", link=file.link))
            continue
        _write(into, path, file.content)
        mode = 0o755 if file.executable or file.path == program else 0o644
        sha256 = hashlib.sha256(file.content).hexdigest()
        entries.append(SnapshotEntry(path=path, mode=mode, owner="root", size=len(file.content), sha256=sha256))
    return tuple(entries)


def exists_in(client: docker.DockerClient, tag: str, places: tuple[str, ...]) -> tuple[str, ...]:
    """The folders that exist in the image."""
    container = client.api.create_container(tag, ["true"])["Id"]
    try:
        return tuple(place for place in places if _has(client, container, place))
    finally:
        client.api.remove_container(container, force=True)


def _has(client: docker.DockerClient, container: str, place: str) -> bool:
    try:
        stream, _ = client.api.get_archive(container, place)
        stream.close()
    except NotFound:
        return False
    return True


def _below(client: docker.DockerClient, container: str, place: str, into: Path) -> Iterator[SnapshotEntry]:
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as spool:
        try:
            chunks, _ = client.api.get_archive(container, place)
        except NotFound:
            return
        for chunk in chunks:
            spool.write(chunk)
        spool.seek(0)
        with tarfile.open(fileobj=spool, mode="r:") as archive:
            yield from _entries(archive, place, into)


def _entries(archive: tarfile.TarFile, place: str, into: Path) -> Iterator[SnapshotEntry]:
    for member in archive:
        below = PurePosixPath(*PurePosixPath(member.name).parts[1:])  # the first part is the name of the place itself
        if not below.parts:
            if member.issym():
                raise ImageError(f"{place} is a link in the image", remedy="make it a folder in the Dockerfile")
            continue
        path, mode = f"{place}/{below}", member.mode & _PERMISSIONS
        if member.isdir():
            yield SnapshotEntry(path=path, kind="directory", mode=mode)
        elif member.issym():
            yield SnapshotEntry(path=path, kind="link", mode=0o777, link=member.linkname)
        elif (content := archive.extractfile(member)) is not None:
            size, sha256 = _copy(content, into, path)
            yield SnapshotEntry(path=path, mode=mode, size=size, sha256=sha256)


def _copy(content: IO[bytes], into: Path, path: str) -> tuple[int, str]:
    target = into / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as stream:
        shutil.copyfileobj(content, stream)
    with target.open("rb") as stream:
        return os.fstat(stream.fileno()).st_size, hashlib.file_digest(stream, "sha256").hexdigest()


def _write(into: Path, path: str, content: bytes) -> None:
    target = into / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
