"""The changes that an agent left in the sandbox's files, as an archive: `end_state.json` first, then `files/<path>`.

A difference is one of content, mode, kind or link target; a file rewritten with the same content is none, nor is a time
or a folder's size. The archive of the same differences is the same bytes.
"""

import hashlib
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from harness.errors import SandboxError
from harness.sandbox.snapshot import SnapshotEntry
from harness.traces.trial import EndState, FileChange, FileKind

# The headers of an end state's archive, checked before Python's reader follows them.
#
# A run folder may come from an untrusted source. `tarfile` believes each size: a negative one leads it back to an
# earlier entry, so that some versions read without end; and other kinds of entries move what it takes for the next
# header.

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


_HEAD = "end_state.json"
_IN_MEMORY_BYTES = 1 << 18
_FILE_BYTES_MAX = 64 * 1024 * 1024
_HEAD_BYTES_MAX = 128 * 1024 * 1024
_KINDS: dict[bytes, FileKind] = {b"file": "file", b"directory": "directory", b"link": "link", b"other": "other"}


class ChangedFileTooLarge(SandboxError):
    """A changed file is larger than the caller's limit."""


Reported = Iterable[tuple[dict[str, Any], bytes]]
"""The launcher's frames with their content; the last one lists removed files and those beyond the limits."""


@dataclass(frozen=True, kw_only=True)
class RestoredFiles:
    """The files that the end state is compared with; files in `absent` were never restored into this sandbox."""

    files: dict[str, SnapshotEntry]
    absent: frozenset[str] = frozenset()


def write_end_state(archive: Path, restored: RestoredFiles, reported: Reported) -> EndState:
    """Compares the launcher's report with the restored files, and writes the archive atomically.

    The archive is not flushed to disk here: the run folder flushes all files of a trial.
    """
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES, dir=str(archive.parent)) as contents:
            state, members = _state_and_positions(restored, reported, contents)
            _write_archive(archive, state, members, contents)
    except OSError as error:
        raise SandboxError(
            f"the end state cannot be written to {archive}: {error}", remedy="is the disk full?"
        ) from None
    return state


def read_end_state(archive: Path) -> EndState:
    """Raises SandboxError if the archive is missing or damaged."""
    with open_end_state(archive) as opened:
        return opened.state


def read_changed_file(archive: Path, path: str, max_bytes: int = _FILE_BYTES_MAX) -> bytes | None:
    """The content of an added or modified file; None if there is none in the archive.

    Raises ChangedFileTooLarge past `max_bytes`.
    """
    with open_end_state(archive) as opened:
        return opened.content(path, max_bytes)


class OpenEndState:
    """An archive being read."""

    def __init__(self, state: EndState, tar: tarfile.TarFile) -> None:
        self.state = state
        self._tar = tar
        # The archive's own lookup by name searches all members each time.
        self._members = {member.name: member for member in tar.getmembers()}

    def content(self, path: str, max_bytes: int = _FILE_BYTES_MAX) -> bytes | None:
        """None: not an added or modified file, or too large to have been read back.

        Raises ChangedFileTooLarge past `max_bytes`. Links and sparse members, which the harness never writes, give
        None.
        """
        member = self._members.get(_member_name(path))
        if member is None or not member.isreg() or member.issparse():
            return None
        if member.size > max_bytes:
            raise ChangedFileTooLarge(f"{path} is larger than {max_bytes} bytes")
        stream = self._tar.extractfile(member)
        return None if stream is None else stream.read()


@contextmanager
def open_end_state(archive: Path) -> Iterator[OpenEndState]:
    """Raises SandboxError if the archive is missing or damaged."""
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(archive.open("rb"))
            check_headers(stream)
            stream.seek(0)
            tar = stack.enter_context(
                tarfile.open(fileobj=stream, mode="r:", encoding="utf-8", errors="surrogateescape")
            )
            # not with pydantic's own parser: it rejects the surrogates that represent bytes that are not UTF-8
            state = EndState.model_validate(json.loads(_head(tar)))
            opened = OpenEndState(state, tar)
        except (OSError, tarfile.TarError, KeyError, ValueError, RecursionError) as error:
            raise SandboxError(
                f"{archive} is not a readable end state: {error}", remedy="run the trial again"
            ) from error
        yield opened


def _head(tar: tarfile.TarFile) -> bytes:
    member = tar.getmember(_HEAD)
    if not member.isreg() or member.issparse() or member.size > _HEAD_BYTES_MAX:
        raise ValueError(f"{_HEAD} is not a regular file of at most {_HEAD_BYTES_MAX} bytes")
    stream = tar.extractfile(member)
    return b"null" if stream is None else stream.read()


def _state_and_positions(
    restored: RestoredFiles, reported: Reported, contents: Any
) -> tuple[EndState, dict[str, tuple[int, int]]]:
    """The state, and for each of its files the position of its bytes in `contents`."""
    changes: list[FileChange] = []
    members: dict[str, tuple[int, int]] = {}
    seen: set[str] = set()
    gone = set(restored.absent)
    problem = None
    for frame, content in reported:
        if "end" in frame:
            gone |= {_decoded_path(path) for path in frame["gone"]}
            problem = _decoded_path(frame["problem"]) if "problem" in frame else None
            break
        found = _change(restored.files, frame, content)
        seen.add(_decoded_path(frame["path"]))
        if found is None:
            continue
        changes.append(found)
        if "content" in frame:
            members[found.path] = (contents.tell(), len(content))
            contents.write(content)
    changes += [
        FileChange(path=path, change="deleted", kind=restored.files[path].kind)
        for path in gone - seen
        if path in restored.files
    ]
    ordered = tuple(sorted(changes, key=lambda change: change.path))
    return EndState(changes=ordered, complete=problem is None, problem=problem), members


def _change(restored: dict[str, SnapshotEntry], frame: dict[str, Any], content: bytes) -> FileChange | None:
    path = _decoded_path(frame["path"])
    kind = _KINDS[frame["kind"]]
    before = restored.get(path)
    digest = hashlib.sha256(content).hexdigest() if "content" in frame else None
    link = _decoded_path(frame["link"]) if "link" in frame else None
    if before is not None and _is_same(before, kind, frame["mode"], digest, link):
        return None
    return FileChange(
        path=path,
        change="added" if before is None else "modified",
        kind=kind,
        mode=None if kind == "link" else frame["mode"],
        size=frame.get("size"),
        sha256=digest,
        link=link,
    )


def _is_same(before: SnapshotEntry, kind: FileKind, mode: int, digest: str | None, link: str | None) -> bool:
    if before.kind != kind:
        return False
    if kind == "link":
        return before.link == link
    if kind == "directory":
        return before.mode == mode
    return digest is not None and (before.mode, before.sha256) == (mode, digest)


def _write_tar(stream: Any, state: EndState, members: dict[str, tuple[int, int]], contents: Any) -> None:
    modes = {change.path: change.mode for change in state.changes}
    with tarfile.open(
        fileobj=stream, mode="w", format=tarfile.PAX_FORMAT, encoding="utf-8", errors="surrogateescape"
    ) as tar:
        head = json.dumps(state.model_dump(mode="json"), ensure_ascii=True, sort_keys=True, indent=1).encode()
        tar.addfile(_entry(_HEAD, len(head), 0o644), io.BytesIO(head))
        for path in sorted(members):
            at, size = members[path]
            contents.seek(at)
            tar.addfile(_entry(_member_name(path), size, modes[path] or 0), contents)


def _write_archive(archive: Path, state: EndState, members: dict[str, tuple[int, int]], contents: Any) -> None:
    temporary = archive.with_name(f".{archive.name}.{os.urandom(8).hex()}.tmp")
    try:
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as stream:
            _write_tar(stream, state, members, contents)
            os.fchmod(handle, 0o644)
        temporary.replace(archive)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _entry(name: str, size: int, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size = size
    entry.mode = mode
    return entry


def _member_name(path: str) -> str:
    return f"files{path}"


def _decoded_path(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


# Removes from an end state what must not be stored; the archive is rewritten if something in it changes.

Clean = Callable[[bytes], bytes]


def clean_end_state(archive: Path, clean: Clean) -> EndState:
    """Applies `clean` to every file, path and link; sizes and digests are of what is stored.

    The archive stays as it is, byte for byte, if nothing changes. Raises SandboxError if it cannot be read.
    """
    with open_end_state(archive) as opened:
        contents = {change.path: opened.content(change.path) for change in opened.state.changes if change.sha256}
        cleaned = {path: None if content is None else clean(content) for path, content in contents.items()}
        before = opened.state
    after = before.model_copy(
        update={"changes": tuple(_cleaned_change(change, cleaned.get(change.path), clean) for change in before.changes)}
    )
    if after != before:
        with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES, dir=str(archive.parent)) as spool:
            members = {}
            for path, content in cleaned.items():
                if content is not None:
                    members[_cleaned_text(clean, path)] = (spool.tell(), len(content))
                    spool.write(content)
            _write_archive(archive, after, members, spool)
    return after


def _cleaned_change(change: FileChange, content: bytes | None, clean: Clean) -> FileChange:
    plain: dict[str, object] = {
        "path": _cleaned_text(clean, change.path),
        "link": None if change.link is None else _cleaned_text(clean, change.link),
    }
    if content is not None:
        plain |= {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    return change.model_copy(update=plain)


def _cleaned_text(clean: Clean, text: str) -> str:
    return clean(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
