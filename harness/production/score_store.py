"""Where scores of sessions are stored.

A score is stored once: by its identity. Beside each stand its facts, the flat rows that reports are made of, and the
counts of its day, which charts are made of. A score that replaces an older one of its session takes that one's counts
back; counts of scores that retention has removed stay. A score that is to be sent waits in the same transaction, and is
removed after the receiver has taken it: one that is sent twice has the same id, by which receivers tell.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from harness.errors import ResultsError
from harness.processes import ProcessIdentity
from harness.production.scores import JUDGED, UNREADABLE_SESSION, ScoreKind, SessionScore, signals_of
from harness.production.storage import in_pieces, readable_errors, transaction, vacuum
from harness.suite.problems import first_problem

STRATA: Final = ("category", "model", "release", "prompt")
"""Columns of the scores by whose values sessions have charts of their own."""
_SHARES: Final = {UNREADABLE_SESSION: "scorer", JUDGED: "judge"}
"""Signals that every session has, and the column of which only the number of sessions is counted."""
_READ_AT_ONCE: Final = 500
_SENT_AT_ONCE: Final = 100
_COLUMNS: Final = (
    "identity", "session", "digest", "suite", "kind", "rubric", "latest", "skipped",
    "scored_at", "received_ns", "day", "release", "model", "prompt", "judge", "scorer", "category", "steps", "weight",
    "in_base",
)  # fmt: skip
_INSERT: Final = f"INSERT INTO scores ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_CLAIM: Final = "INSERT OR IGNORE INTO claims SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM scores WHERE identity = ?1)"
_COUNT: Final = (
    "INSERT INTO cells VALUES (?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT DO UPDATE SET bad = bad + excluded.bad, sessions = sessions + excluded.sessions"
)
Send = Callable[[Sequence[SessionScore]], int]
"""Sends scores, and returns the number of evaluations in them; raises HarnessError if they were not taken."""
_Cells = dict[tuple[str, str, str, str, str], list[int]]
"""[bad, sessions] by suite, day, signal, rubric and stratum."""


class ScoreStore:
    """The scores of one store. One object for each thread."""

    def __init__(self, file: Path, connection: sqlite3.Connection) -> None:
        self.file = file
        self.connection = connection

    @contextmanager
    def claimed(self, identities: Sequence[str]) -> Iterator[set[str]]:
        """Those of these identities that are not scored, and that no other round is scoring.

        Until the block ends they are this round's; what a process claimed that was killed is free again.
        """
        owner = str(ProcessIdentity.current())
        with readable_errors(self.file), transaction(self.connection):
            for (other,) in self.connection.execute("SELECT DISTINCT owner FROM claims").fetchall():
                process = ProcessIdentity.parse(other)
                if process is None or not process.is_alive():
                    self.connection.execute("DELETE FROM claims WHERE owner = ?", [other])
            mine = {one for one in identities if self.connection.execute(_CLAIM, [one, owner]).rowcount}
        try:
            yield mine
        finally:
            with readable_errors(self.file), transaction(self.connection):
                self.connection.executemany("DELETE FROM claims WHERE identity = ?", [(one,) for one in mine])

    def add(self, scores: Iterable[SessionScore], send_to: str | None = None) -> int:
        """Stores scores; those that are there already are left out. How many it were.

        `send_to`: where `deliver` is to send them.
        """
        given, added, cells = [*scores], 0, _new_cells()
        with readable_errors(self.file), transaction(self.connection):
            for score in given:
                number = self._add(score, cells)
                added += number is not None
                if number is not None and send_to is not None and not score.skipped:
                    self.connection.execute("INSERT OR IGNORE INTO waiting VALUES (?, ?)", [send_to, number])
            self._write_cells(cells)
        return added

    def _add(self, score: SessionScore, cells: _Cells) -> int | None:
        """Its number; None if it is there already."""
        execute = self.connection.execute
        if execute("SELECT 1 FROM scores WHERE identity = ?", [score.identity]).fetchone():
            return None
        place = [score.suite, score.session, score.kind, score.rubric]
        where = "suite = ? AND session = ? AND kind = ? AND rubric = ? AND latest"
        for (number,) in execute(f"SELECT number FROM scores WHERE {where}", place).fetchall():
            self._count(number, -1, cells)
            execute("UPDATE scores SET latest = 0 WHERE number = ?", [number])
        values: dict[str, Any] = {
            **{name: getattr(score, name) for name in _COLUMNS if name in SessionScore.model_fields},
            "identity": score.identity,
            "latest": True,
            "day": score.day,
            "weight": 1 / score.sampling.rate,
            "in_base": score.sampling.in_base,
        }
        number = execute(_INSERT, [_storable(values[name]) for name in _COLUMNS]).lastrowid
        execute("INSERT OR REPLACE INTO documents VALUES (?, ?)", [number, score.model_dump_json()])
        facts = {_storable(signal): value for signal, value in signals_of(score)}
        rows = [(number, signal, value) for signal, value in facts.items()]
        self.connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", rows)
        self._count(number, 1, cells)
        return number

    def _count(self, number: int | None, sign: int, cells: _Cells) -> None:
        """Adds the facts of a score that sampling chose by its base rate to the counts, or takes them back."""
        suite, day, kind, rubric, *strata = self.connection.execute(
            f"SELECT suite, day, kind, rubric, {', '.join((*STRATA, *_SHARES.values()))} FROM scores WHERE number = ?",
            [number],
        ).fetchone()
        by_name = dict(zip((*STRATA, *_SHARES.values()), strata, strict=True))
        facts = self.connection.execute(
            "SELECT signal, value FROM facts WHERE score = ? AND (SELECT in_base FROM scores WHERE number = score)"
            " AND signal NOT GLOB 'metric:*' AND signal NOT IN ('duration_s', 'steps')",
            [number],
        )
        for signal, value in facts.fetchall():
            names = [*STRATA, *([_SHARES[signal]] if signal in _SHARES else [])]
            for stratum in ("", *(f"{name}={by_name[name]}" for name in names)):
                cell = cells[suite, day, signal, rubric if kind == "judge" else "", stratum]
                cell[0] += sign * (value > 0.5)
                cell[1] += sign

    def _write_cells(self, cells: _Cells) -> None:
        rows = [(*place, bad, sessions) for place, (bad, sessions) in cells.items()]
        self.connection.executemany(_COUNT, rows)

    def identities(self) -> set[str]:
        """Of every score: which are not to be made again."""
        return {row[0] for row in self.ask("SELECT identity FROM scores")}

    def read(
        self,
        *,
        since_ns: int = 0,
        latest: bool = False,
        suite: str | None = None,
        kind: ScoreKind | None = None,
        session: str | None = None,
    ) -> Iterator[SessionScore]:
        """Scores of sessions received since then, oldest first. Raises ResultsError that names a damaged one.

        `latest`: of each session, kind, suite and rubric the one that was made last.
        """
        wanted = {"suite": suite, "kind": kind, "session": session}
        named = {name: value for name, value in wanted.items() if value is not None}
        where = " AND ".join(["received_ns >= ?", *(["latest"] if latest else []), *(f"{name} = ?" for name in named)])
        last = 0
        query = (
            f"SELECT number, document FROM scores JOIN documents USING (number) WHERE {where} AND number > ?"
            " ORDER BY number LIMIT ?"
        )
        while rows := self.ask(query, since_ns, *named.values(), last, _READ_AT_ONCE):
            for number, document in rows:
                yield self._parsed(number, document)
            last = rows[-1][0]

    def _parsed(self, number: int, document: str) -> SessionScore:
        try:
            return SessionScore.model_validate_json(document)
        except ValidationError as error:
            place, words = first_problem(SessionScore, error)
            raise ResultsError(
                f"{self.file}: score {number} is not a score of a session: field {'.'.join(map(str, place))!r}:"
                f" {words[:200]}",
                remedy=f"sqlite3 {self.file.name} 'DELETE FROM scores WHERE number = {number}': it is scored again",
            ) from None

    def scored_sessions(self, suite: str) -> set[str]:
        """Sessions that rules of this suite have scored, in whatever version."""
        return {row[0] for row in self.ask(f"{_WITH_FACTS} AND suite = ? AND kind = 'rules'", suite)}

    def last_received(self, suite: str) -> dict[str, int]:
        """By session when its last record was received that rules of this suite have scored."""
        query = "SELECT session, max(received_ns) FROM scores WHERE suite = ? AND kind = 'rules' GROUP BY session"
        return dict(self.ask(query, suite))

    def scored_on(self, day: str) -> int:
        """Sessions that rules scored on a day, in UTC."""
        query = "SELECT count(*) FROM scores WHERE kind = 'rules' AND NOT skipped AND substr(scored_at, 1, 10) = ?"
        return int(self.ask(query, day)[0][0])

    def spent_on(self, day: str) -> tuple[float, int]:
        """US dollars and tokens that judges have cost on a day, in UTC."""
        found = self.ask("SELECT usd, tokens FROM spending WHERE day = ?", day)
        return found[0] if found else (0.0, 0)

    def spend(self, day: str, usd: float, tokens: int) -> None:
        """Adds to the cost of a day."""
        query = "INSERT INTO spending VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET usd = usd + ?2, tokens = tokens + ?3"
        self.ask(query, day, usd, tokens)

    def suites(self) -> tuple[str, ...]:
        """Suites that have scored a session, by name."""
        query = "SELECT DISTINCT suite FROM scores WHERE number IN (SELECT score FROM facts) ORDER BY suite"
        return tuple(row[0] for row in self.ask(query))

    def failed_among(self, sessions: Sequence[str]) -> set[str]:
        """Those of the sessions of which a stored score, perhaps of an older version, says that something failed."""
        found = set[str]()
        for names in in_pieces(sessions):
            query = (
                f"SELECT DISTINCT session FROM scores JOIN facts ON score = number WHERE session IN"
                f" ({', '.join('?' * len(names))}) AND value > 0"
                " AND (signal = 'success' OR signal GLOB 'mode:*' OR signal GLOB 'criterion:*')"
            )
            found.update(row[0] for row in self.ask(query, *names))
        return found

    def sessions_with(self, suite: str, signal: str, day: str) -> set[str]:
        """Sessions that were received on a day and in which a signal, as `DayFacts` names it, was bad."""
        kind, _, name = signal.partition(":")
        rubric, _, criterion = name.rpartition("/") if kind == "criterion" else ("", "", "")
        query = (
            "SELECT session FROM scores JOIN facts ON score = number WHERE suite = ? AND day = ? AND latest"
            " AND value > 0.5 AND (signal = ? OR (signal = ? AND rubric = ?))"
        )
        return {row[0] for row in self.ask(query, suite, day, signal, f"criterion:{criterion}", rubric)}

    def deliver(self, target: str, send: Send) -> int:
        """Sends the scores that wait for a target, oldest first; the number of evaluations in them.

        Raises HarnessError at the first failure: what was not taken still waits.
        """
        sent = 0
        query = (
            "SELECT number, document FROM waiting JOIN scores USING (number) JOIN documents USING (number)"
            " WHERE target = ? ORDER BY number LIMIT ?"
        )
        while rows := self.ask(query, target, _SENT_AT_ONCE):
            sent += send([self._parsed(*row) for row in rows])
            self.ask("DELETE FROM waiting WHERE target = ? AND number <= ?", target, rows[-1][0])
        return sent

    def waiting(self, target: str) -> int:
        """Scores that were not sent there yet."""
        return int(self.ask("SELECT count(*) FROM waiting WHERE target = ?", target)[0][0])

    def forget(self, sessions: Iterable[str]) -> None:
        """Removes the scores of sessions, and takes back what they count."""
        cells = _new_cells()
        with readable_errors(self.file), transaction(self.connection):
            for session in sessions:
                rows = self.connection.execute("SELECT number, latest FROM scores WHERE session = ?", [session])
                for number, latest in rows.fetchall():
                    if latest:
                        self._count(number, -1, cells)
                    remove_score(self.connection, number)
            self._write_cells(cells)
            self.connection.execute("DELETE FROM cells WHERE sessions <= 0")
        with readable_errors(self.file):
            vacuum(self.connection)

    def ask(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a query. Raises ResultsError that names the file if it cannot be read."""
        with readable_errors(self.file):
            return self.connection.execute(query, values).fetchall()


_WITH_FACTS: Final = "SELECT DISTINCT session FROM scores WHERE EXISTS (SELECT 1 FROM facts WHERE score = number)"


def remove_score(connection: sqlite3.Connection, number: int) -> None:
    """Removes one score within a transaction; what it counts stays. Raises sqlite3.Error."""
    connection.execute("DELETE FROM facts WHERE score = ?", [number])
    for table in ("waiting", "documents", "scores"):
        connection.execute(f"DELETE FROM {table} WHERE number = ?", [number])


def _new_cells() -> _Cells:
    return defaultdict(lambda: [0, 0])


def _storable(value: Any) -> Any:
    """A text without lone surrogates, which SQLite does not take."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
