"""What is sealed, and that it is the same everywhere."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import InvalidDocument, SnapshotError, UsageError
from harness.sandbox.snapshot import SnapshotEntry
from harness.sandbox.snapshots import SnapshotStore

Declare = Callable[..., SnapshotStore]


def sealed(store: SnapshotStore, name: str = "tidy") -> dict[str, SnapshotEntry]:
    return {entry.path: entry for entry in store.build("desk", name).files}


def test_files_folders_links_and_modes_are_sealed_and_load_as_they_were_built(declare: Declare, work: Path) -> None:
    (work / "deep" / "er").mkdir(parents=True)
    (work / "deep" / "er" / "run.sh").write_text("#!/bin/sh\n")
    (work / "deep" / "er" / "run.sh").chmod(0o755)
    (work / "policy").write_text("rules")
    (work / "link").symlink_to("./deep//er/")
    (work / "odd\nname é").write_text("")
    store = declare(tidy={"files": "files"})

    found = sealed(store)

    described = {path: (entry.kind, f"{entry.mode:o}", entry.owner) for path, entry in found.items()}
    assert {
        "/work/deep": ("directory", "755", "agent"),
        "/work/deep/er": ("directory", "755", "agent"),
        "/work/deep/er/run.sh": ("file", "755", "agent"),
        "/work/link": ("link", "777", "agent"),
        "/work/odd\nname é": ("file", "644", "agent"),
        "/work/policy": ("file", "644", "agent"),
    } == described
    assert "./deep//er/" == found["/work/link"].link
    assert tuple(found.values()) == store.load("desk", "tidy").files


def test_the_digest_does_not_depend_on_times_umask_or_where_the_project_lies(
    declare: Declare, work: Path, tmp_path: Path
) -> None:
    store = declare(tidy={"files": "files", "env": {"A": "1"}})
    (work / "a").write_text("a")
    (work / "empty").mkdir()
    before = store.build("desk", "tidy").digest
    (work / "a").chmod(0o600)
    (work / "empty").chmod(0o700)
    os.utime(work / "a", (0, 0))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "images").rename(elsewhere / "images")

    assert before == SnapshotStore(elsewhere).build("desk", "tidy").digest
    assert "dc3ec168d66f" == before[:12]


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (lambda work: (work / "a").write_text("b"), False),
        (lambda work: (work / "a").chmod(0o755), False),
        (lambda work: (work / "empty").rmdir(), False),
        (lambda work: (work / "link").unlink(), False),
        (lambda work: (work / "a").chmod(0o444), True),
    ],
)
def test_only_what_is_sealed_changes_the_digest(
    declare: Declare, work: Path, change: Callable[[Path], object], same: bool
) -> None:
    store = declare(tidy={"files": "files"})
    (work / "a").write_text("a")
    (work / "empty").mkdir()
    (work / "link").symlink_to("a")
    before = store.build("desk", "tidy").digest
    change(work)

    assert same == (before == store.build("desk", "tidy").digest)


def test_a_file_outside_the_writable_places_is_refused_with_what_to_do(declare: Declare, work: Path) -> None:
    store = declare(tidy={"files": "files"})
    (work.parent / "etc").mkdir()
    (work.parent / "etc" / "motd").write_text("hello")

    with pytest.raises(SnapshotError, match=r"/etc.*/work, /tmp.*\n.*`writable`"):
        store.build("desk", "tidy")
    assert () == store.list()


def test_a_place_below_other_folders_can_hold_files(declare: Declare, work: Path) -> None:
    (work.parent / "srv" / "data").mkdir(parents=True)
    (work.parent / "srv" / "data" / "a").write_text("a")
    store = declare(tidy={"files": "files", "writable": ["/srv/data", "/work"]})

    assert ["/srv/data/a"] == list(sealed(store))


def test_what_cannot_be_sealed_is_refused_by_name(declare: Declare, work: Path) -> None:
    store = declare(tidy={"files": "files"})
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(work)  # a socket's path is short
        listener.bind("door")
        os.chdir(here)
    with pytest.raises(SnapshotError, match="door"):
        store.build("desk", "tidy")
    (work / "door").unlink()
    (work / os.fsdecode(b"caf\xe9")).write_text("")
    with pytest.raises(SnapshotError, match="not UTF-8"):
        store.build("desk", "tidy")


def test_unknown_states_and_environments_list_what_there_is(declare: Declare) -> None:
    store = declare(tidy={})
    with pytest.raises(UsageError, match=r"'messy'(.|\n)*tidy"):
        store.build("desk", "messy")
    with pytest.raises(UsageError, match=r"'chair'(.|\n)*desk"):
        store.build("chair", "messy")
    with pytest.raises(SnapshotError, match=r"desk/tidy(.|\n)*harness snapshot build desk tidy"):
        store.load("desk", "tidy")


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        ({"writable": ["/"]}, "not an absolute path below /"),
        ({"writable": ["/agent/x"]}, "harness's own"),
        ({"files": "../../secrets"}, "inside the environment's folder"),
        ({"services": {"till": "a"}}, "not declared: 'till'"),
        ({"file": "files"}, "unknown field"),
    ],
)
def test_a_declaration_that_cannot_be_is_refused_with_its_file(
    declare: Declare, state: dict[str, object], problem: str
) -> None:
    store = declare(tidy=state)
    with pytest.raises(InvalidDocument, match=problem):
        store.build("desk", "tidy")
