"""Probes of SQLite files: what the agent left in a sandbox of each kind, where it is a database and where it is not."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from harness.runs.trial.end_state import FileProbes
from harness.sandbox.provider import SandboxProvider, SandboxSpec
from harness.sandbox.snapshot import Snapshot
from harness.suite.cases import Limits, SqlProbe, StateProbe
from tests.sandbox.databases.hostile import ENDLESS

WRITES = f"""
import os, sqlite3
kept = sqlite3.connect("kept.db")
kept.execute("create table menu (name text)")
kept.execute("insert into menu values ('soup')")
kept.commit()
kept.execute("create view endless as {ENDLESS} select x from n")
os.mkfifo("fifo.db")
os.mkdir("folder.db")
os.symlink("/etc/hostname", "link.db")
os.symlink("kept.db", "beside.db")
os.truncate(os.open("sparse.db", os.O_CREAT | os.O_WRONLY), 1 << 30)
open("text.db", "w").write("no database at all, but long enough to be one" * 20)
os.link("kept.db", "journal.db")
os.mkfifo("journal.db-journal")
"""
MANY = "import os\nfor n in range(20100): os.close(os.open(f'{n}', os.O_CREAT | os.O_WRONLY))"


@pytest.fixture(scope="module")
def states(
    provider: SandboxProvider, image: str | None, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, JsonValue]:
    names = ("kept", "none", "fifo", "folder", "link", "beside", "sparse", "text", "journal")
    probes = [StateProbe(name=name, sql=SqlProbe(path=f"{name}.db", query="select * from menu")) for name in names]
    probes.append(StateProbe(name="all", sql=SqlProbe(path="kept.db", tables=("*",))))
    endless = SqlProbe(path="kept.db", query="select count(*) from endless", timeout_s=1)
    probes.append(StateProbe(name="endless", sql=endless))
    return left_by(provider, image, WRITES, probes, tmp_path_factory.mktemp("left"))


def left_by(
    provider: SandboxProvider, image: str | None, program: str, probes: list[StateProbe], folder: Path
) -> dict[str, JsonValue]:
    nothing = Snapshot(name="nothing", environment="none", image=image)
    sandbox = provider.start(SandboxSpec(trial_id="left", limits=Limits(disk_mb=256)), nothing)
    try:
        ended = sandbox.exec(["python3", "-c", program], {}, 60)
        assert 0 == ended.code, ended.stderr
        sandbox.end_state(folder / "end.tar")
    finally:
        sandbox.close()
    return FileProbes(provider=provider).states(probes, nothing, folder / "end.tar", "left")


def test_a_database_is_read(states: dict[str, JsonValue]) -> None:
    assert {"rows": [{"name": "soup"}]} == states["kept"]
    assert {"tables": {"menu": states["all"]["tables"]["menu"]}} == states["all"]
    assert [{"name": "soup"}] == states["all"]["tables"]["menu"]["added"]


def test_what_is_no_database_is_refused(states: dict[str, JsonValue]) -> None:
    assert {"error": "there is no database /work/none.db"} == states["none"]
    assert {"error": "file is not a database"} == states["text"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("fifo", "/work/fifo.db is not a regular file (other)"),
        ("folder", "/work/folder.db is not a regular file (directory)"),
        ("link", "/work/link.db is not a regular file (link)"),
        ("beside", "/work/beside.db is not a regular file (link)"),
        ("sparse", "/work/sparse.db is larger than is read back"),
        ("journal", "/work/journal.db-journal is not a regular file (other)"),
        ("endless", "reading it takes more than 1 s of processor time"),
    ],
)
def test_what_cannot_be_read_is_unmeasurable(states: dict[str, JsonValue], name: str, why: str) -> None:
    assert {"unmeasurable": why} == states[name]


@pytest.mark.slow
def test_a_database_that_may_have_changed_unseen_is_unmeasurable(tmp_path: Path) -> None:
    from harness.sandbox.providers import open_provider

    probe = StateProbe(name="late", sql=SqlProbe(path="zebra.db", query="select * from menu"))
    provider = open_provider("local", run="databases")
    try:
        told = left_by(provider, None, MANY, [probe], tmp_path)["late"]
    finally:
        provider.close()

    assert {
        "unmeasurable": "cannot tell whether /work/zebra.db changed: more entries changed than are read back"
    } == told
