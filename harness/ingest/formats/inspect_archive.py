"""The zip archive of an Inspect log: a header, and one JSON file for each sample."""

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from harness.errors import InvalidDocument
from harness.ingest.reading import MAX_BYTES, Record, decoded, kind_of, parse_json

MAX_UNPACKED_BYTES = 2 * 1024 * 1024 * 1024
"""The maximum unpacked size of all members together."""
MAX_RATIO = 250
"""Of a member's size to what it takes in the archive; logs of models' requests, which repeat themselves, reach 100."""
_SMALL = 1024 * 1024
"""Members up to this size are unpacked with any ratio."""

_BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""The methods of which `zipfile` unpacks no more than it is asked for, whatever sizes the archive tells."""
_PART = 1024 * 1024
_CONVERT = "inspect log convert --to json writes one that can be read"


class LogArchive:
    """An open `.eval` file. Raises InvalidDocument for unreadable content."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise InvalidDocument(
                path,
                f"is not a whole .eval archive: {error}",
                remedy="an evaluation that was cut off leaves one without an end",
            ) from None
        except OSError as error:
            raise InvalidDocument(path, f"cannot be read: {error.strerror or error}") from None
        unpacked = sum(member.file_size for member in self._zip.infolist())
        if unpacked > MAX_UNPACKED_BYTES:
            self._zip.close()
            raise InvalidDocument(path, f"holds {unpacked} bytes when unpacked; at most {MAX_UNPACKED_BYTES} are read")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()

    def header(self) -> Record:
        """The log without its samples; for an unfinished log, the data written at its start."""
        names = set(self._zip.namelist())
        for name in ("header.json", "_journal/start.json"):
            if name in names:
                return self._record(name)
        raise InvalidDocument(self._path, "holds no header.json", remedy="is it an archive of Inspect?")

    def samples(self) -> Iterator[Record]:
        """The samples one by one, in the order of their names; each is released before the next is read."""
        names = dict.fromkeys(self._zip.namelist())
        for name in sorted(name for name in names if name.startswith("samples/") and name.endswith(".json")):
            yield self._record(name)

    def _record(self, name: str) -> Record:
        inside = self._path / name
        try:
            member = self._zip.getinfo(name)
            if member.file_size > MAX_BYTES:
                raise InvalidDocument(inside, f"is larger than {MAX_BYTES} bytes")
            if member.file_size > max(_SMALL, MAX_RATIO * member.compress_size):
                raise InvalidDocument(inside, f"unpacks to more than {MAX_RATIO} times its size in the archive")
            if member.compress_type not in _BOUNDED:
                raise InvalidDocument(inside, "is packed by a method that unpacks without a limit", remedy=_CONVERT)
            with self._zip.open(member) as packed:
                content = b"".join(iter(lambda: packed.read(_PART), b""))
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as error:
            # NotImplementedError (a RuntimeError) is a compression that this Python does not know.
            raise InvalidDocument(inside, f"cannot be unpacked: {error}", remedy=_CONVERT) from None
        value = parse_json(inside, decoded(inside, content))
        if not isinstance(value, dict):
            raise InvalidDocument(inside, f"the document is {kind_of(value)}, not an object")
        return Record(path=inside, data=value)
