"""A snapshot that was tampered with, cut short or half-written is never restored from."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import SnapshotError
from harness.sandbox.snapshot import Snapshot
from harness.sandbox.snapshots import SnapshotStore

Declare = Callable[..., SnapshotStore]


@pytest.fixture
def store(declare: Declare, work: Path) -> SnapshotStore:
    (work / "a").write_text("alpha")
    (work / "link").symlink_to("a")
    (work / "empty").mkdir()
    store = declare(tidy={"files": "files"})
    store.build("desk", "tidy")
    return store


@pytest.fixture
def seal(store: SnapshotStore, tmp_path: Path) -> Path:
    return tmp_path / "snapshots" / "desk" / "tidy"


def edited(path: Path, change: Callable[[dict[str, object]], object]) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def resealed(path: Path, change: Callable[[dict[str, object]], object]) -> None:
    """A forger who also corrects the digest."""
    edited(path, change)
    document = json.loads(path.read_text())
    document["digest"] = Snapshot.model_validate(document["snapshot"]).digest
    path.write_text(json.dumps(document))


TAMPERINGS: dict[str, tuple[Callable[[Path], object], str]] = {
    "content of the same size": (lambda seal: (seal / "files/work/a").write_text("alphb"), "files/work/a "),
    "truncated content": (lambda seal: (seal / "files/work/a").write_text("alp"), "files/work/a .*5 bytes.*3"),
    "missing content": (lambda seal: (seal / "files/work/a").unlink(), "files/work/a "),
    "additional file": (lambda seal: (seal / "files/work/b").write_text(""), "files/work/b "),
    "additional file beside": (
        lambda seal: (seal / "notes.txt").write_text(""),
        "notes.txt ",
    ),
    "link in place of a file": (
        lambda seal: ((seal / "files/work/a").rename(seal.parent / "a"), (seal / "files/work/a").symlink_to("../../a")),
        "files/work/a ",
    ),
    "link to a folder": (lambda seal: (seal / "files/x").symlink_to("/etc"), "files/x "),
    "mode": (
        lambda seal: edited(seal / "snapshot.json", lambda d: d["snapshot"]["files"][0].update(mode=0o777)),
        "snapshot.json ",
    ),
    "env": (
        lambda seal: edited(seal / "snapshot.json", lambda d: d["snapshot"].update(env={"X": "1"})),
        "snapshot.json ",
    ),
    "truncated snapshot": (lambda seal: os.truncate(seal / "snapshot.json", 100), "snapshot.json:1?.*is not JSON"),
    "missing snapshot": (lambda seal: (seal / "snapshot.json").unlink(), "snapshot.json is missing"),
    "another state's seal": (
        lambda seal: resealed(seal / "snapshot.json", lambda d: d["snapshot"].update(name="other")),
        "desk/other",
    ),
    "forged path": (
        lambda seal: resealed(seal / "snapshot.json", lambda d: d["snapshot"]["files"][0].update(path="/work/../x")),
        r"snapshot.json holds the path '/work/\.\./x'",
    ),
    "forged place": (
        lambda seal: resealed(seal / "snapshot.json", lambda d: d["snapshot"]["files"][0].update(path="/etc/passwd")),
        "holds /etc/passwd, outside",
    ),
    "file below a link": (
        lambda seal: resealed(
            seal / "snapshot.json", lambda d: d["snapshot"]["files"][1].update(path="/work/link/etc")
        ),
        "below /work/link",
    ),
    "dump outside": (
        lambda seal: resealed(
            seal / "snapshot.json",
            lambda d: d["snapshot"].update(dumps=[{"service": "a", "file": "../x", "sha256": "0"}]),
        ),
        "names a dump '../x'",
    ),
    "dump of an endless name": (
        lambda seal: resealed(
            seal / "snapshot.json",
            lambda d: d["snapshot"].update(dumps=[{"service": "a", "file": "0" * 5000, "sha256": "0"}]),
        ),
        "cannot be read: File name too long",
    ),
}


@pytest.mark.parametrize("tampering", TAMPERINGS)
def test_a_tampered_seal_is_refused_with_the_file_named(store: SnapshotStore, seal: Path, tampering: str) -> None:
    tamper, problem = TAMPERINGS[tampering]
    tamper(seal)

    with pytest.raises(SnapshotError, match=problem):
        store.load("desk", "tidy")


def test_modes_and_empty_folders_come_from_the_seal_not_from_the_checkout(store: SnapshotStore, seal: Path) -> None:
    before = store.load("desk", "tidy")
    (seal / "files" / "work" / "a").chmod(0o777)
    assert not (seal / "files" / "work" / "empty").exists()

    assert before == store.load("desk", "tidy")


def test_a_sealing_that_fails_keeps_the_old_state_and_leaves_nothing_half_made(
    store: SnapshotStore, seal: Path, work: Path
) -> None:
    before = store.load("desk", "tidy")
    os.mkfifo(work / "pipe")
    with pytest.raises(SnapshotError, match="pipe"):
        store.build("desk", "tidy")

    assert before == store.load("desk", "tidy")
    assert ["tidy"] == [path.name for path in seal.parent.iterdir()]


def test_what_a_killed_sealing_left_is_put_right_by_the_next(store: SnapshotStore, seal: Path, work: Path) -> None:
    before = store.load("desk", "tidy")
    seal.rename(seal.parent / ".sealing-old-tidy")
    (seal.parent / ".sealing-tidy-x1y2").mkdir()
    os.mkfifo(work / "pipe")
    with pytest.raises(SnapshotError, match="pipe"):
        store.build("desk", "tidy")

    assert before == store.load("desk", "tidy")
    assert ["tidy"] == [path.name for path in seal.parent.iterdir()]


def test_a_state_that_a_killed_sealing_moved_aside_is_put_back_by_whoever_needs_it(
    store: SnapshotStore, seal: Path
) -> None:
    before = store.load("desk", "tidy")
    seal.rename(seal.parent / ".sealing-old-tidy")

    assert before == store.load("desk", "tidy")
    assert ["tidy"] == [path.name for path in seal.parent.iterdir()]


def test_all_sealed_states_are_listed(store: SnapshotStore, declare: Declare) -> None:
    declare(tidy={"files": "files"}, bare={})
    store.build("desk", "bare")

    assert [("desk", "bare"), ("desk", "tidy")] == [(found.environment, found.name) for found in store.list()]
