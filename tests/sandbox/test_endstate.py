import tarfile
from pathlib import Path

import pytest

from harness.errors import SandboxError
from harness.sandbox.endstate import RestoredFiles, read_changed_file, read_end_state, write_end_state
from harness.trace.trial import EndState

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
    with pytest.raises(SandboxError, match=r"no readable end state.*none\.tar"):
        read_end_state(tmp_path / "none.tar")


@pytest.mark.parametrize("keep", [0, 300, 700])
def test_cut_archive_is_told(tmp_path: Path, keep: int) -> None:
    archive = tmp_path / "end.tar"
    write_end_state(archive, RestoredFiles(files={}), [_file(b"/work/a", b"1" * 5000), _END])
    archive.write_bytes(archive.read_bytes()[:keep])
    with pytest.raises(SandboxError, match="no readable end state"):
        read_end_state(archive)


def test_failure_half_way_leaves_the_earlier_archive(tmp_path: Path) -> None:
    archive = tmp_path / "end.tar"
    write_end_state(archive, RestoredFiles(files={}), [_file(b"/work/a", b"1"), _END])

    def breaks() -> object:
        yield _file(b"/work/b", b"2")
        raise SandboxError("gone")

    with pytest.raises(SandboxError, match="gone"):
        write_end_state(archive, RestoredFiles(files={}), breaks())  # type: ignore[arg-type]
    assert read_changed_file(archive, "/work/a") == b"1"
    assert [path.name for path in tmp_path.iterdir()] == ["end.tar"]


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SandboxError, match="cannot be written"):
        write_end_state(tmp_path / "file" / "end.tar", RestoredFiles(files={}), [_END])


def test_empty_end_state_is_read_again(tmp_path: Path) -> None:
    write_end_state(tmp_path / "end.tar", RestoredFiles(files={}), [_END])
    assert read_end_state(tmp_path / "end.tar") == EndState()


def test_packed_archive_is_refused_unread(tmp_path: Path) -> None:
    """Ours are plain: a megabyte that unpacks to a gigabyte is none."""
    write_end_state(tmp_path / "end.tar", RestoredFiles(files={}), [_END])
    with tarfile.open(tmp_path / "packed.tar", "w:gz") as tar:
        tar.add(tmp_path / "end.tar", "end_state.json")
    with pytest.raises(SandboxError, match="no readable end state"):
        read_end_state(tmp_path / "packed.tar")


def test_head_that_is_nested_too_deeply_is_told(tmp_path: Path) -> None:
    (tmp_path / "head").write_text("[" * 100_000)
    with tarfile.open(tmp_path / "end.tar", "w") as tar:
        tar.add(tmp_path / "head", "end_state.json")
    with pytest.raises(SandboxError, match="no readable end state"):
        read_end_state(tmp_path / "end.tar")
