"""Queries untrusted SQLite databases, in a sandbox of their own.

A SQLite file can make SQLite open other files, and run without end. Therefore this process never opens one. Each query
gets a fresh sandbox with limits of its own, which contains only copies of the database's files.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from pydantic import JsonValue, ValidationError

from harness.errors import SandboxError
from harness.sandbox.capture import content_of
from harness.sandbox.endstate import OpenEndState, open_end_state
from harness.sandbox.inside.files import LISTS_ALL_CHANGES
from harness.sandbox.provider import Sandbox, SandboxProvider, SandboxSpec
from harness.sandbox.snapshot import Snapshot
from harness.sandbox.tables import QueryFailed, Table, Unmeasurable
from harness.suite.cases import Limits
from harness.traces.trial import ProgramExit
from harness.values import Frozen, JsonObject

Parts = Mapping[str, bytes]
"""The files of one database by suffix: "" (the database), "-wal", "-journal"."""

PART_BYTES_MAX = 64 * 1024 * 1024
"""The maximum size of all parts together: an end state contains no more."""
ANSWER_BYTES_MAX = 16 * 1024 * 1024
"""The maximum size of the rows of one answer, as JSON."""
MEMORY_MB = 512

_WALL_S_PER_CPU_S = 2.0
_STARTING_S = 15.0
_LIMITS = Limits(
    memory_mb=MEMORY_MB, processes=8, disk_mb=192, output_kb=ANSWER_BYTES_MAX // 1024 + 256, seconds=86_400
)
_PROGRAM = Path(__file__).with_name("query_program.py")


class _TableRead(Frozen):
    key: tuple[str, ...]
    rows: tuple[JsonObject, ...]


class _ProgramAnswer(Frozen):
    """The output of the program in the sandbox: exactly one of these."""

    rows: list[JsonValue] | None = None
    tables: dict[str, _TableRead] | None = None
    refused: str | None = None
    unmeasurable: str | None = None
    unable: str | None = None


@dataclass(frozen=True, kw_only=True)
class SqliteReader:
    """Queries copies of SQLite files. `image` is the image of the sandboxes (local ones have none); it needs
    python3.
    """

    provider: SandboxProvider
    image: str | None
    name: str
    """The name in the labels of the sandboxes."""

    def rows(self, parts: Parts, query: str, timeout_s: float) -> list[JsonValue]:
        """The rows of a query with a limit of `timeout_s` of processor time.

        Raises QueryFailed for a query that the database rejects, also for a file that is not a database; Unmeasurable
        if it cannot be read within the limits; SandboxError if there is no sandbox.
        """
        answer = self._ask(parts, {"query": query}, timeout_s)
        return _unreadable() if answer.rows is None else answer.rows

    def tables(self, parts: Parts, wanted: tuple[str, ...], timeout_s: float) -> dict[str, Table]:
        """The existing ones of the wanted tables (an empty tuple selects all); raises the same errors."""
        answer = self._ask(parts, {"tables": list(wanted)}, timeout_s)
        if answer.tables is None:
            _unreadable()
        return {name: Table(key=one.key, rows=one.rows) for name, one in answer.tables.items()}

    def _ask(self, parts: Parts, question: JsonObject, timeout_s: float) -> _ProgramAnswer:
        if sum(map(len, parts.values())) > PART_BYTES_MAX:
            raise Unmeasurable(f"the database is larger than {PART_BYTES_MAX} bytes")
        spec = SandboxSpec(trial_id=f"{self.name}.database", limits=_LIMITS)
        empty = Snapshot(name="database", environment="", image=self.image)
        sandbox = self.provider.start(spec, empty)
        try:
            answer = _parsed_answer(self._run(sandbox, parts, question, timeout_s))
        finally:
            sandbox.close()
        if answer.unable is not None:
            raise SandboxError(
                f"the database cannot be queried: python3 of image {self.image!r} reports {answer.unable!r}",
                remedy="the image of the environment needs python3 with the module sqlite3",
            )
        if answer.unmeasurable is not None:
            raise Unmeasurable(answer.unmeasurable)
        if answer.refused is not None:
            raise QueryFailed(answer.refused)
        return answer

    def _run(self, sandbox: Sandbox, parts: Parts, question: JsonObject, timeout_s: float) -> ProgramExit:
        for part, content in parts.items():
            sandbox.write_file(f"database{part}", content)
        limits: JsonObject = {"cpu_s": timeout_s, "memory_mb": MEMORY_MB, "answer_bytes": ANSWER_BYTES_MAX}
        request = {**question, **limits, "database": f"{sandbox.places.work}/database"}
        sandbox.write_file("request.json", json.dumps(request).encode())
        sandbox.write_file("query.py", _PROGRAM.read_bytes())
        command = (
            "python3",
            "-I",
            "-S",
            "-B",
            f"{sandbox.places.work}/query.py",
            f"{sandbox.places.work}/request.json",
        )
        ended = sandbox.exec(command, {}, timeout_s * _WALL_S_PER_CPU_S + _STARTING_S)
        if ended.timed_out:
            raise Unmeasurable(f"reading the database does not end within {timeout_s:g} s")
        return ended


def _parsed_answer(ended: ProgramExit) -> _ProgramAnswer:
    if ended.signal is not None:  # a limit of processor time or memory, or a crash of SQLite
        raise Unmeasurable(f"the program that reads the database was ended by signal {ended.signal}")
    if ended.code == _NOT_FOUND:
        raise SandboxError("the database cannot be queried: there is no python3", remedy="the image needs python3")
    try:
        return _ProgramAnswer.model_validate(json.loads(ended.stdout, parse_constant=_refuse_constant))
    except (ValidationError, ValueError, RecursionError):
        _unreadable(ended.stderr)


_NOT_FOUND = 127


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _unreadable(said: str = "") -> NoReturn:
    last = said.strip().rpartition("\n")[2][:200]
    raise Unmeasurable(f"the program that reads the database gave no answer{f': {last}' if last else ''}")


PARTS = ("", "-wal", "-journal")
"""The suffixes of a SQLite database's files while a program has it open."""


def snapshot_parts(snapshot: Snapshot, path: str) -> dict[str, bytes]:
    """The files of the database in the snapshot; empty: the snapshot has none."""
    if snapshot.folder is None:
        return {}
    entries = {entry.path: entry for entry in snapshot.files if entry.kind == "file"}
    found = {part: entries[path + part] for part in PARTS if path + part in entries}
    return {part: content_of(snapshot.folder, entry).read_bytes() for part, entry in found.items()}


def left_parts(snapshot: Snapshot, archive: Path, path: str) -> dict[str, bytes]:
    """The files of the database that the agent left; without the key "" there is none.

    Raises Unmeasurable for a path that is not a regular file, that was too large to be read back, or that is unknown.
    """
    with open_end_state(archive) as end:
        changed = _changed_parts(end, path)
    parts = {part: content for part, content in snapshot_parts(snapshot, path).items() if part not in changed}
    return {**parts, **{part: content for part, content in changed.items() if content is not None}}


def _changed_parts(end: OpenEndState, path: str) -> dict[str, bytes | None]:
    """Part -> its content; None: it was deleted."""
    changes = {change.path: change for change in end.state.changes}
    found: dict[str, bytes | None] = {}
    for part in PARTS:
        change = changes.get(path + part)
        if change is None:
            if not end.state.complete and (end.state.problem or "").encode() not in LISTS_ALL_CHANGES:
                raise Unmeasurable(f"cannot tell whether {path + part} changed: {end.state.problem}")
        elif change.change == "deleted":
            found[part] = None
        elif change.kind != "file":
            raise Unmeasurable(f"{path + part} is not a regular file ({change.kind})")
        else:
            found[part] = end.content(path + part)
            if found[part] is None:
                raise Unmeasurable(f"{path + part} is larger than is read back")
    return found
