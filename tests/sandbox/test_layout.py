import re
from pathlib import Path

import pytest

from harness.errors import SnapshotError
from harness.sandbox.conformance.provider_fixture import snapshot_entry
from harness.sandbox.layout import Layout
from harness.sandbox.snapshot import Snapshot, SnapshotEntry


def _snapshot(folder: Path, *files: SnapshotEntry) -> Snapshot:
    return Snapshot(name="s", environment="e", files=files, folder=folder)


def _files_in(layout: Layout) -> list[tuple[str, str, int]]:
    return [(entry.path, owner, entry.mode) for owner in ("root", "agent") for entry in layout.of(owner)]


def test_folders_that_nobody_declared_are_the_agents(tmp_path: Path) -> None:
    layout = Layout(_snapshot(tmp_path, snapshot_entry(tmp_path, "/work/a/b/file", b"1")))
    assert _files_in(layout) == [
        ("/work/a", "agent", 0o755),
        ("/work/a/b", "agent", 0o755),
        ("/work/a/b/file", "agent", 0o644),
    ]


def test_every_folder_above_a_file_of_root_is_roots_and_sticky(tmp_path: Path) -> None:
    layout = Layout(
        _snapshot(
            tmp_path,
            snapshot_entry(tmp_path, "/work/a/rules", b"1", owner="root", mode=0o444),
            snapshot_entry(tmp_path, "/work/a/mine", b"2"),
            snapshot_entry(tmp_path, "/work/b/mine", b"3"),
        )
    )
    assert _files_in(layout) == [
        ("/work", "root", 0o1777),
        ("/work/a", "root", 0o1777),
        ("/work/a/rules", "root", 0o444),
        ("/work/a/mine", "agent", 0o644),
        ("/work/b", "agent", 0o755),
        ("/work/b/mine", "agent", 0o644),
    ]
    assert [layout.place_owner(place) for place in ("/work", "/tmp")] == ["root", "agent"]


def test_working_and_temporary_folder_are_always_writable(tmp_path: Path) -> None:
    snapshot = Snapshot(name="s", environment="e", writable=("/srv/data",))
    assert Layout(snapshot).places == ("/srv/data", "/tmp", "/work")


def test_file_of_the_agent_in_a_folder_that_only_root_may_write_is_refused(tmp_path: Path) -> None:
    shut = SnapshotEntry(path="/work/shut", kind="directory", mode=0o755, owner="root")
    with pytest.raises(SnapshotError, match="'/work/shut/mine'"):
        Layout(_snapshot(tmp_path, shut, snapshot_entry(tmp_path, "/work/shut/mine", b"1")))


@pytest.mark.parametrize("path", ["/etc/passwd", "/workshop/file", "/"])
def test_path_outside_of_the_writable_places_is_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match=re.escape(repr(path))):
        Layout(_snapshot(tmp_path, SnapshotEntry(path=path, kind="directory")))


@pytest.mark.parametrize("path", ["/work/../etc/x", "/work//x", "/work/x/", "/work/link/x", "/work/link/deep/x"])
def test_path_that_leads_elsewhere_is_refused(path: str, tmp_path: Path) -> None:
    link = SnapshotEntry(path="/work/link", kind="link", link="/etc")
    with pytest.raises(SnapshotError, match=re.escape(repr(path))):
        Layout(_snapshot(tmp_path, link, SnapshotEntry(path=path, kind="directory")))


def test_files_without_a_folder_are_refused() -> None:
    snapshot = Snapshot(name="s", environment="e", files=(SnapshotEntry(path="/work/a", sha256="0"),))
    with pytest.raises(SnapshotError, match="'s'"):
        Layout(snapshot)
