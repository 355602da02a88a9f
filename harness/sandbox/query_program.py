"""Answers one question about a SQLite file; runs alone in a throw-away sandbox (Python 3.10, its standard library).

It is sent there as text and started as `python3 -I -S -B FILE REQUEST`. The request is a JSON file: `database` (a path;
its `-wal` and `-journal` may be beside it), `query` or `tables` (names, none: all), and the limits `cpu_s`, `memory_mb`
and `answer_bytes`. It prints one JSON object with one of: `rows`; `tables`; `refused`, in the database's words;
`unmeasurable`, why the file cannot be queried within the limits; `unable`, what this Python lacks.

The file is hostile. SQLite opens it read-only and immutable, so that it opens no other file: no journal (which names
files to delete), no write-ahead log, no attached database. A write-ahead log is read here instead.
"""

from __future__ import annotations

import base64
import json
import math
import resource
import struct
import sys
import time
from pathlib import Path
from urllib.parse import quote

TYPE_CHECKING = False  # this starts many times, and does without `typing`


if TYPE_CHECKING:
    import sqlite3
    from typing import Any, BinaryIO


_HEADER = b"SQLite format 3\0"
_JOURNAL = bytes.fromhex("d9d505f920a163d7")
_LOG_ORDERS = {0x377F0682: "<", 0x377F0683: ">"}
"""Maps the log's magic number to the byte order of its checksums."""
_LOG_VERSION = 3007000
_LOG_HEADER, _FRAME_HEADER = 32, 24
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
        _settle(request["database"])
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
    address = f"file:{quote(request['database'])}?mode=ro&immutable=1"
    database = sqlite3.connect(address, uri=True, isolation_level=None)
    database.set_progress_handler(lambda: int(time.process_time() >= deadline), _STEPS_BETWEEN_LOOKS)
    for setting in ("trusted_schema = off", "cell_size_check = on", "mmap_size = 0", "temp_store = memory"):
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


def _settle(database: str) -> None:
    """Applies the write-ahead log; raises LimitExceeded for a database that was left in the middle of a transaction."""
    with Path(database).open("r+b") as file:
        if file.read(len(_HEADER)) != _HEADER:
            return  # SQLite reports the problem
        if _is_hot(Path(database + "-journal")):
            raise LimitExceeded("it was left in the middle of a transaction: a rollback journal exists beside it")
        log = Path(database + "-wal")
        if log.exists():
            with log.open("rb") as stream:
                _bring_in(stream, file)
        file.seek(18)
        file.write(b"\1\1")  # "no write-ahead log": the format versions for writing and reading


def _is_hot(path: Path) -> bool:
    """Whether a rollback journal shows an unfinished transaction."""
    if not path.exists():
        return False
    with path.open("rb") as journal:
        head = journal.read(12)
    return head[:8] == _JOURNAL and head[8:] != bytes(4)


def _bring_in(log: BinaryIO, file: BinaryIO) -> None:
    """Writes the pages of the log's committed transactions to the database, as a checkpoint does."""
    head = log.read(_LOG_HEADER)
    if len(head) < _LOG_HEADER:
        return
    magic, version, page_size, _, *salts = struct.unpack(">6I", head[:24])
    order = _LOG_ORDERS.get(magic)
    known = version == _LOG_VERSION and 512 <= page_size <= 65536 and page_size & (page_size - 1) == 0
    sums = (0, 0) if order is None else _checksum(order, head[:24], (0, 0))
    if order is None or not known or sums != struct.unpack(">2I", head[24:]):
        return  # SQLite ignores such a log too
    pages, size = _committed_pages(log, order, page_size, tuple(salts), sums)
    if size is None:
        return
    if size * page_size > _FILE_BYTES_MAX:
        raise LimitExceeded(f"its write-ahead log makes it larger than {_FILE_BYTES_MAX} bytes")
    for number, place in pages.items():
        if number <= size:
            log.seek(place)
            file.seek((number - 1) * page_size)
            file.write(log.read(page_size))
    file.truncate(size * page_size)


def _committed_pages(
    log: BinaryIO, order: str, page_size: int, salts: tuple[int, ...], sums: tuple[int, int]
) -> tuple[dict[int, int], int | None]:
    """Page -> where in the log its last committed content is, and how many pages the database has then."""
    pages: dict[int, int] = {}
    open_pages: dict[int, int] = {}
    size = None
    while True:
        place = log.tell() + _FRAME_HEADER
        frame = log.read(_FRAME_HEADER + page_size)
        if len(frame) < _FRAME_HEADER + page_size:
            return pages, size
        number, size_after, *rest = struct.unpack(">6I", frame[:_FRAME_HEADER])
        sums = _checksum(order, frame[:8] + frame[_FRAME_HEADER:], sums)
        if number == 0 or (*salts, *sums) != tuple(rest):
            return pages, size
        open_pages[number] = place
        if size_after:
            pages.update(open_pages)
            size, open_pages = size_after, {}


def _checksum(order: str, data: bytes, sums: tuple[int, int]) -> tuple[int, int]:
    first, second = sums
    words = iter(struct.unpack(f"{order}{len(data) // 4}I", data))
    for even, odd in zip(words, words, strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second


if __name__ == "__main__":
    main(sys.argv[1])
