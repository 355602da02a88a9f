"""What a write-ahead log holds is read as SQLite itself would read it, which never sees the log."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from harness.sandbox.sqlite import SqliteReader
from tests.sandbox.databases.hostile import opened_trustingly


def logged(folder: Path, chance: random.Random, page_size: int) -> dict[str, bytes]:
    """A database that a program has open: transactions are in its log, the last one perhaps not ended."""
    path = folder / "live"
    with closing(sqlite3.connect(path, isolation_level=None)) as live:
        live.execute(f"pragma page_size = {page_size}")
        live.execute("pragma journal_mode = wal")
        live.execute("pragma wal_autocheckpoint = 0")
        live.execute("pragma cache_size = 2")  # what is not committed is written to the log as well
        live.execute("create table line (id integer primary key, text text)")
        for number in range(chance.randrange(1, 30)):
            live.execute("begin")
            for _ in range(chance.randrange(1, 40)):
                live.execute("insert into line (text) values (?)", (chance.randbytes(chance.randrange(400)).hex(),))
            live.execute("delete from line where id % 7 = ?", (number % 7,))
            live.execute(chance.choice(["commit", "commit", "rollback"]))
            if chance.random() < 0.1:
                live.execute("pragma wal_checkpoint(restart)")  # the log begins anew over what it held
        live.execute("begin")
        live.executemany("insert into line (text) values (?)", [("open" * 300,)] * 50)
        return {part: Path(f"{path}{part}").read_bytes() for part in ("", "-wal")}


@pytest.mark.parametrize("seed", range(8))
def test_committed_transactions_are_seen_and_no_others(local_reader: SqliteReader, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    parts = logged(tmp_path, chance, chance.choice([512, 4096, 65536]))
    query = "select id, text from line order by id"
    expected = opened_trustingly(tmp_path, parts, query)

    assert [{"id": id_, "text": text} for id_, text in expected] == local_reader.rows(parts, query, 20)


@pytest.mark.parametrize("damage", ["cut", "magic", "checksum", "page size", "noise"])
def test_a_damaged_log_counts_up_to_its_damage(local_reader: SqliteReader, tmp_path: Path, damage: str) -> None:
    chance = random.Random(damage)
    parts = logged(tmp_path, chance, 512)
    log = bytearray(parts["-wal"])
    match damage:
        case "cut":
            del log[len(log) * 2 // 3 :]
        case "magic":
            log[0] ^= 1
        case "checksum":
            log[len(log) // 2] ^= 1
        case "page size":
            log[8:12] = (0x7FFFFFFF).to_bytes(4, "big")
        case _:
            log[:] = chance.randbytes(len(log))
    damaged = {**parts, "-wal": bytes(log)}
    query = "select count(*) as n from sqlite_master"

    assert [{"n": opened_trustingly(tmp_path, damaged, query)[0][0]}] == local_reader.rows(damaged, query, 20)
