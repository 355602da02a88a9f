"""SQLite files that harm who opens them: asked as the harness does, and by who trusts them."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from harness.sandbox.provider import SandboxProvider
from harness.sandbox.sqlite import SqliteReader
from harness.sandbox.tables import QueryFailed, Unmeasurable
from tests.sandbox.databases.hostile import ENDLESS, database, journal_naming

Parts = dict[str, bytes]

_QUERY = "select * from menu"
_CPU_S = 3.0
_TRUSTING = """
import resource, sqlite3, sys
resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))  # so that the control harms nobody
for _ in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]): pass
"""
_WAITS_S = 5.0


def _deletes(folder: Path) -> Parts:
    content = database(folder / "made")
    return {"": content, "-journal": journal_naming(content, _victim(folder))}


def _waits(folder: Path) -> Parts:
    content = database(folder / "made")
    return {"": content, "-journal": journal_naming(content, folder / "fifo")}


def _ends_never(folder: Path) -> Parts:
    view = f"create view menu as {ENDLESS} select count(*) as c from n"
    return {"": database(folder / "made", "alter table menu rename to old", view)}


def _takes_all_memory(folder: Path) -> Parts:
    view = f"create view menu as {ENDLESS} select count(*) from (select distinct randomblob(1000000) from n)"
    return {"": database(folder / "made", "alter table menu rename to old", view)}


HARMS: dict[str, Callable[[Path], Parts]] = {
    "deletes a file of the host": _deletes,
    "waits for a pipe": _waits,
    "ends never": _ends_never,
    "takes all memory": _takes_all_memory,
}


def harmed(provider: SandboxProvider, image: str | None, harm: str, folder: Path) -> str | None:
    """What the database did to who asked it as the harness does; None: nothing, and that it cannot be read was told."""
    parts = _made(folder, harm)
    reader = SqliteReader(provider=provider, image=image, name="escape")
    try:
        rows = reader.rows(parts, _QUERY, _CPU_S)
    except (QueryFailed, Unmeasurable):
        return None if _victim(folder).exists() else "a file of the host is gone"
    return f"it gave {len(rows)} rows"


def harmed_trustingly(harm: str, folder: Path) -> str | None:
    """The control: the same database, opened read-write by a process of the host."""
    file = folder / "trusted"
    for part, content in _made(folder, harm).items():
        Path(f"{file}{part}").write_bytes(content)
    try:
        done = subprocess.run(
            [sys.executable, "-c", _TRUSTING, file, _QUERY], timeout=_WAITS_S, stderr=subprocess.PIPE, text=True
        )
    except subprocess.TimeoutExpired:
        return "it did not end"
    if "MemoryError" in done.stderr:
        return "it took all memory"
    return None if _victim(folder).exists() else "a file of the host is gone"


def _made(folder: Path, harm: str) -> Parts:
    _victim(folder).write_text("a file of the host", encoding="utf-8")
    os.mkfifo(folder / "fifo")
    return HARMS[harm](folder)


def _victim(folder: Path) -> Path:
    return folder / "victim"
