"""Answers one question about a SQLite file; runs alone in a throw-away sandbox (Python 3.10, its standard library).

It is sent there as text and started as `python3 -I -S -B FILE REQUEST`. The request is a JSON file: `database` (a path;
its `-wal` and `-journal` may be beside it), `query` or `tables` (names, none: all), and the limits `cpu_s`, `memory_mb`
and `answer_bytes`. It prints one JSON object with one of: `rows`; `tables`; `refused`, in the database's words;
`unmeasurable`, why the file cannot be queried within the limits; `unable`, what this Python lacks.

The file is hostile, and a copy. SQLite opens no other file but its write-ahead log: no journal, no attached database.
"""

from __future__ import annotations

import base64
import json
import math
import resource
import sys
import time
from pathlib import Path
from urllib.parse import quote

TYPE_CHECKING = False  # this starts many times, and does without `typing`


if TYPE_CHECKING:
    import sqlite3
    from typing import Any


_JOURNAL = bytes.fromhex("d9d505f920a163d7")
_FILE_BYTES_MAX = 128 * 1024 * 1024
_STEPS_BETWEEN_LOOKS = 10_000
_READING_PRAGMAS = (
    *("table_info", "table_xinfo", "table_list", "index_list", "index_info", "foreign_key_list"),
    "data_version",  # full-text tables query it themselves
)
_CLOSED_FUNCTIONS = ("load_extension", "fts3_tokenizer")


class LimitExceeded(Exception):
    """The file cannot be queried within the limits."""


def main(path: str) -> None:
    """Answers the request in the file at `path` on standard output."""
    with Path(path).open(encoding="utf-8") as stream:
        request = json.load(stream)
    _limit(request)
    try:
        import sqlite3
    except ImportError as missing:
        answer = json.dumps({"unable": str(missing)})
    else:
        answer = _json_answer(sqlite3, request)
    sys.stdout.write(answer)


def _limit(request: dict[str, Any]) -> None:
    """Sets limits of this process, in addition to those of the sandbox: a sandbox of the kind `local` has none."""
    memory = request["memory_mb"] * 1024 * 1024
    seconds = math.ceil(request["cpu_s"])
    for kind, limit in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds + 1),
        (resource.RLIMIT_FSIZE, _FILE_BYTES_MAX),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        allowed = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (allowed, allowed))


def _json_answer(sqlite3: Any, request: dict[str, Any]) -> str:
    """The answer as JSON: rows are written as they are read, so that no answer is in memory twice."""
    deadline = time.process_time() + request["cpu_s"]
    try:
        _refuse_half_a_transaction(request["database"])
        database = _open_database(sqlite3, request, deadline)
        if request.get("query") is not None:
            return f'{{"rows": {_rows(database, request["query"], RowBudget(request["answer_bytes"]))}}}'
        return f'{{"tables": {_tables(database, request["tables"], RowBudget(request["answer_bytes"]))}}}'
    except LimitExceeded as why:
        answer = {"unmeasurable": str(why)}
    except MemoryError:
        answer = {"unmeasurable": f"reading it takes more than {request['memory_mb']} MB of memory"}
    except sqlite3.Error as error:
        if time.process_time() >= deadline:
            answer = {"unmeasurable": f"reading it takes more than {request['cpu_s']:g} s of processor time"}
        else:
            answer = {"refused": str(error)}
    return json.dumps(answer)


class RowBudget:
    """The number of bytes of JSON that the rows may still take."""

    def __init__(self, size: int) -> None:
        self.size = self.left = size

    def spend(self, row: str) -> None:
        self.left -= len(row) + 1
        if self.left < 0:
            raise LimitExceeded(f"its rows are larger than {self.size} bytes")


def _open_database(sqlite3: Any, request: dict[str, Any], deadline: float) -> Any:
    address = f"file:{quote(request['database'])}?mode=rw"  # a write-ahead log is read only by who may write
    database = sqlite3.connect(address, uri=True, isolation_level=None)
    database.set_progress_handler(lambda: int(time.process_time() >= deadline), _STEPS_BETWEEN_LOOKS)
    for setting in (
        "trusted_schema = off",
        "cell_size_check = on",
        "mmap_size = 0",
        "temp_store = memory",
        "query_only = on",
    ):
        database.execute("pragma " + setting)
    if hasattr(database, "setlimit"):  # Python 3.11
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, request["answer_bytes"])
        database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    database.set_authorizer(_authorizer(sqlite3))
    database.execute("select count(*) from sqlite_master").fetchone()
    return database


def _authorizer(sqlite3: Any) -> Any:
    recursive = 33  # SQLITE_RECURSIVE, which the module does not name
    reading = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, recursive)

    def allowed(action: int, first: str, second: str, *_: str) -> int:
        reads = (
            action in reading
            # declares table functions such as `json_each`
            or (action == sqlite3.SQLITE_UPDATE and first == "sqlite_master")
            or (action == sqlite3.SQLITE_FUNCTION and second not in _CLOSED_FUNCTIONS)
            or (action == sqlite3.SQLITE_PRAGMA and first.lower() in _READING_PRAGMAS)
        )
        return int(sqlite3.SQLITE_OK if reads else sqlite3.SQLITE_DENY)

    return allowed


def _tables(database: sqlite3.Connection, wanted: list[str], budget: RowBudget) -> str:
    listed = "select name from sqlite_master where type = 'table' and name not like 'sqlite\\_%' escape '\\'"
    names = [str(name) for (name,) in database.execute(listed + " order by name")]
    tables = (f"{json.dumps(name)}:{_table(database, name, budget)}" for name in names if not wanted or name in wanted)
    return f"{{{','.join(tables)}}}"


def _table(database: sqlite3.Connection, name: str, budget: RowBudget) -> str:
    columns = database.execute("select name from pragma_table_info(?) where pk > 0 order by pk", (name,)).fetchall()
    quoted = '"' + name.replace('"', '""') + '"'
    key = json.dumps([column for (column,) in columns])
    return f'{{"key": {key}, "rows": {_rows(database, "select * from " + quoted, budget)}}}'


def _rows(database: sqlite3.Connection, query: str, budget: RowBudget) -> str:
    found = []
    cursor = database.execute(query)
    names = [str(column[0]) for column in cursor.description or ()]
    for values in cursor:
        row = json.dumps({name: _json_value(value) for name, value in zip(names, values, strict=True)})
        budget.spend(row)
        found.append(row)
    return f"[{','.join(found)}]"


def _json_value(value: Any) -> Any:
    """Bytes as `{"base64": ...}` and infinities as `{"float": ...}`, since JSON has neither."""
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    return value


def _refuse_half_a_transaction(database: str) -> None:
    """Raises LimitExceeded for a rollback journal of an unfinished transaction, and removes any other: SQLite must read
    none, because a journal names files to delete.
    """
    journal = Path(database + "-journal")
    if not journal.exists():
        return
    with journal.open("rb") as stream:
        head = stream.read(12)
    if head[:8] == _JOURNAL and head[8:] != bytes(4):
        raise LimitExceeded("it was left in the middle of a transaction: a rollback journal exists beside it")
    journal.unlink()


if __name__ == "__main__":
    main(sys.argv[1])
