import re
import tarfile
from pathlib import Path

import pytest

from harness.errors import SandboxError
from harness.sandbox.endstate import RestoredFiles, read_changed_file, read_end_state, write_end_state
from harness.traces.trial import EndState

_END = ({"end": 1, "gone": []}, b"")


def _file(path: bytes, content: bytes) -> tuple[dict[str, object], bytes]:
    return {"path": path, "kind": b"file", "mode": 0o644, "size": len(content), "content": 1}, content


def test_archive_begins_with_the_list_and_holds_the_files(tmp_path: Path) -> None:
    archive = tmp_path / "deep" / "end.tar"
    write_end_state(archive, RestoredFiles(files={}), [_file(b"/work/b", b"2"), _file(b"/work/a", b"1"), _END])
    with tarfile.open(archive) as tar:
        assert tar.getnames() == ["end_state.json", "files/work/a", "files/work/b"]
    assert [path.name for path in archive.parent.iterdir()] == ["end.tar"]


def test_missing_archive_is_told(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match=r"none\.tar"):
        read_end_state(tmp_path / "none.tar")


@pytest.mark.parametrize("keep", [0, 300, 700])
def test_cut_archive_is_told(tmp_path: Path, keep: int) -> None:
    archive = tmp_path / "end.tar"
    write_end_state(archive, RestoredFiles(files={}), [_file(b"/work/a", b"1" * 5000), _END])
    archive.write_bytes(archive.read_bytes()[:keep])
    with pytest.raises(SandboxError, match=r"\.tar"):
        read_end_state(archive)


def test_failure_half_way_leaves_the_earlier_archive(tmp_path: Path) -> None:
    archive = tmp_path / "end.tar"
    write_end_state(archive, RestoredFiles(files={}), [_file(b"/work/a", b"1"), _END])

    def breaks() -> object:
        yield _file(b"/work/b", b"2")
        raise SandboxError("gone")

    with pytest.raises(SandboxError, match="gone"):
        write_end_state(archive, RestoredFiles(files={}), breaks())
    assert read_changed_file(archive, "/work/a") == b"1"
    assert [path.name for path in tmp_path.iterdir()] == ["end.tar"]


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SandboxError, match=re.escape(str(tmp_path / "file"))):
        write_end_state(tmp_path / "file" / "end.tar", RestoredFiles(files={}), [_END])


def test_empty_end_state_is_read_again(tmp_path: Path) -> None:
    write_end_state(tmp_path / "end.tar", RestoredFiles(files={}), [_END])
    assert read_end_state(tmp_path / "end.tar") == EndState()


def test_packed_archive_is_refused_unread(tmp_path: Path) -> None:
    """Ours are plain: a megabyte that unpacks to a gigabyte is none."""
    write_end_state(tmp_path / "end.tar", RestoredFiles(files={}), [_END])
    with tarfile.open(tmp_path / "packed.tar", "w:gz") as tar:
        tar.add(tmp_path / "end.tar", "end_state.json")
    with pytest.raises(SandboxError, match=r"\.tar"):
        read_end_state(tmp_path / "packed.tar")


def test_head_that_is_nested_too_deeply_is_told(tmp_path: Path) -> None:
    (tmp_path / "head").write_text("[" * 100_000)
    with tarfile.open(tmp_path / "end.tar", "w") as tar:
        tar.add(tmp_path / "head", "end_state.json")
    with pytest.raises(SandboxError, match=r"\.tar"):
        read_end_state(tmp_path / "end.tar")


def _header(name: str, kind: bytes, size: int, content: bytes = b"") -> bytes:
    """One entry with a size that `tarfile` would not write."""
    raw = bytearray(tarfile.TarInfo(name).tobuf())
    raw[124:136] = b"\xff" + size.to_bytes(11, "big", signed=True) if size < 0 else b"%011o\0" % size
    raw[156:157] = kind
    raw[148:156] = b" " * 8
    raw[148:156] = b"%06o\0 " % sum(raw)
    return bytes(raw) + content + b"\0" * (-len(content) % tarfile.BLOCKSIZE)


def _record(keyword: str, value: str) -> bytes:
    length = len(f"00 {keyword}={value}\n")
    return f"{length} {keyword}={value}\n".encode()


def _extended(record: bytes) -> bytes:
    return _header("x", b"x", len(record), record)


HEAD = b'{"changes": [], "complete": true}'
MORE = {
    "a plain file": _header("files/work/a", b"0", 1, b"1"),
    "its name in an extended header": _extended(_record("path", "files/work/b")) + _header("y", b"0", 1, b"1"),
}
ENDLESS = {
    "a size that leads back": _header("a", b"0", -512),
    "a size far before the beginning": _header("a", b"0", -(1 << 40)),
    "an extended header that does": _header("a", b"x", -512),
    "a size in an extended header": _extended(_record("size", "-512")) + _header("b", b"0", 0),
    "a sparse file": _header("a", b"S", 0),
    "a sparse file by an extended header": _extended(_record("GNU.sparse.major", "1")) + _header("b", b"0", 0),
    "an older file whose name is a folder's": _header("a/", b"\0", 512, _header("b", b"0", -512)),
    "a long extended header": _extended(_record("path", "b") * (1 << 13)),
    "half of a record": _extended(b"99 path=b") + _header("b", b"0", 0),
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", [*ENDLESS])
def test_an_archive_that_would_be_read_without_end_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "end.tar").write_bytes(_header("end_state.json", b"0", len(HEAD), HEAD) + ENDLESS[name] + bytes(1024))
    with pytest.raises(SandboxError, match=r"an (entry|extended header)"):
        read_end_state(tmp_path / "end.tar")


@pytest.mark.parametrize("name", [*MORE])
def test_an_archive_of_plain_files_is_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "end.tar").write_bytes(_header("end_state.json", b"0", len(HEAD), HEAD) + MORE[name] + bytes(1024))
    path = "/work/a" if "files/work/a" in str(MORE[name]) else "/work/b"
    assert b"1" == read_changed_file(tmp_path / "end.tar", path)


def test_names_of_any_bytes_and_lengths_are_read_back(tmp_path: Path) -> None:
    paths = [b"/work/" + b"d/" * 60 + b"f" * 200, b"/work/\xff", "/work/\u00e9".encode(), b"/work/a=b\nc 9 size=3"]
    write_end_state(tmp_path / "end.tar", RestoredFiles(files={}), [*(_file(path, path) for path in paths), _END])
    for path in paths:
        assert path == read_changed_file(tmp_path / "end.tar", path.decode("utf-8", "surrogateescape"))
