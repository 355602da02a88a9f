"""The index of a part: which traces name a session, and which traces the part holds, without reading the part.

A file beside the part, of entries of 24 bytes in ascending order: 8 bytes of a digest of the name that is looked up (a
session id, or a trace id), then the 16 bytes of a trace id. Two names with one digest give a trace too many, which the
query that follows leaves out. A part is written after its index, and rewritten with less than it held; so an index may
name traces that its part does not hold, and never lacks one.
"""

import mmap
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Final

from harness.documents import write_atomically

_KEY: Final = 8
_ENTRY: Final = 24


class PartIndex:
    """An index that is open for reading; a context manager."""

    def __init__(self, path: Path) -> None:
        """Raises FileNotFoundError where there is none, ValueError where the file is not an index."""
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            if size % _ENTRY:
                raise ValueError(f"{path}: {size} bytes are not a whole number of entries")
            self._data: mmap.mmap | bytes = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) if size else b""

    def __len__(self) -> int:
        return len(self._data) // _ENTRY

    def __getitem__(self, number: int) -> bytes:
        return self._data[number * _ENTRY : (number + 1) * _ENTRY]

    def traces_naming(self, session: str) -> Iterator[str]:
        """Ids of the traces that name a session."""
        return self._found(_session_key(session))

    def holds(self, trace_id: str) -> bool:
        """Whether the part may hold records of a trace."""
        return trace_id in self._found(_trace_key(trace_id))

    def _found(self, key: bytes) -> Iterator[str]:
        for number in range(bisect_left(self, key), len(self)):
            entry = self[number]
            if entry[:_KEY] != key:
                return
            yield entry[_KEY:].hex()

    def __enter__(self) -> "PartIndex":
        return self

    def __exit__(self, *_: object) -> None:
        if isinstance(self._data, mmap.mmap):
            self._data.close()


def index_path(part: Path) -> Path:
    """The path of the index of a part."""
    return part.with_suffix(".index")


def open_index(part: Path) -> PartIndex | None:
    """The index of a part; None where it has none that can be read, so that the part itself is read."""
    try:
        return PartIndex(index_path(part))
    except (FileNotFoundError, ValueError):
        return None


def entries_of(named: Iterable[tuple[str, str]]) -> list[bytes]:
    """The entries for pairs of a session id ("" for none) and a trace id."""
    found = set[bytes]()
    for session, trace_id in named:
        value = bytes.fromhex(trace_id)
        found.add(_trace_key(trace_id) + value)
        if session:
            found.add(_session_key(session) + value)
    return sorted(found)


def write_index(part: Path, entries: Iterable[bytes]) -> None:
    """Writes the index of a part whole, and flushes it."""
    write_atomically(index_path(part), b"".join(entries))
    index_path(part).chmod(0o600)


def _session_key(session: str) -> bytes:
    return blake2b(b"s" + session.encode("utf-8", "replace"), digest_size=_KEY).digest()


def _trace_key(trace_id: str) -> bytes:
    return blake2b(b"t" + trace_id.encode(), digest_size=_KEY).digest()
