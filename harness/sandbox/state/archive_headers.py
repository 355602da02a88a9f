"""The headers of an end state's archive, checked before Python's reader follows them.

A run folder may come from an untrusted source. `tarfile` believes each size: a negative one leads it back to an earlier
entry, so that some versions read without end; and other kinds of entries move what it takes for the next header.
"""

import tarfile
from typing import BinaryIO, Final

_ENTRIES_MAX: Final = 100_000
_EXTENDED_BYTES_MAX: Final = 16 * 1024
_PATH_AND_TIMES: Final = frozenset(
    {b"path", b"hdrcharset", b"mtime", b"atime", b"ctime", b"uname", b"gname", b"uid", b"gid"}
)
"""The records of an extended header that change neither an entry's size nor where the next one begins."""


def check_headers(archive: BinaryIO) -> None:
    """Raises ValueError, or tarfile.TarError, for anything but regular files with plain sizes. Reads up to the end."""
    for _ in range(_ENTRIES_MAX):
        header = archive.read(tarfile.BLOCKSIZE)
        if len(header) < tarfile.BLOCKSIZE or not any(header):
            return
        kind, size = header[156:157], tarfile.nti(header[124:136])  # type: ignore[attr-defined] # in no stub
        if kind not in (tarfile.REGTYPE, tarfile.XHDTYPE):
            raise ValueError(f"an entry is of kind {kind!r}, and no regular file")
        if size < 0 or (kind == tarfile.XHDTYPE and size > _EXTENDED_BYTES_MAX):
            raise ValueError(f"an entry has the size {size}")
        if kind == tarfile.XHDTYPE:
            _check_records(archive.read(size))
            archive.seek(-size % tarfile.BLOCKSIZE, 1)
        else:
            archive.seek(size + -size % tarfile.BLOCKSIZE, 1)
    raise ValueError(f"there are more than {_ENTRIES_MAX} entries")


def _check_records(content: bytes) -> None:
    """Of an extended header: `<length> <keyword>=<value>` and a line end, one after the other."""
    while content:
        digits = content[:6].partition(b" ")[0]
        length = int(digits) if digits.isdigit() else 0
        record = content[:length]
        keyword = record[len(digits) + 1 :].partition(b"=")[0]
        if not record.endswith(b"\n") or len(record) < length or keyword not in _PATH_AND_TIMES:
            raise ValueError(f"an extended header holds the record {content[:40]!r}")
        content = content[length:]
