"""A database holds what it should at the end: the rows of a query, or the changes of whole tables and nothing else."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field, model_validator

from harness.case import Suite
from harness.score.comparison.jsonvalue import json_contains, json_equal
from harness.score.comparison.pairing import unmatched
from harness.score.evidence import Evidence
from harness.score.probing import sql_problem
from harness.score.unmeasured import BY_AGENT, unmeasurable_state
from harness.values import Frozen, JsonObject, JsonValue, canonical_json


class RowChange(Frozen):
    """One row, identified by its key, that changed in exactly the columns of `set`, to these values."""

    key: JsonObject
    """The columns that identify the row, with their values."""
    set: JsonObject = Field(min_length=1)
    """Columns that changed, with their new values."""


class TableChange(Frozen):
    """All that may change in one table. A row is described by some of its columns; each description matches one row."""

    added: tuple[JsonObject, ...] = ()
    """Rows that must be new."""
    removed: tuple[JsonObject, ...] = ()
    """Rows that must be deleted."""
    changed: tuple[RowChange, ...] = ()
    """Rows that must have changed, with their values before and after."""


class Sql(Frozen):
    """For a probe with a `query`: `equals`, `contains` and `count`. For one with `tables`: `changes` alone.

    Without an `ordered: true` rows are equal in any order. Without a result of the probe the check is undecided; an
    error of the database (such as a missing table) is a failure.
    """

    version: ClassVar[str] = "1"

    probe: str
    """Name of a probe with `sql`."""
    equals: tuple[JsonObject, ...] | None = None
    """All rows, with all of their columns."""
    ordered: bool = False
    """Whether the order of the rows counts."""
    contains: tuple[JsonObject, ...] = ()
    """For each a row of its own that has at least these columns."""
    count: int | None = Field(default=None, ge=0)
    """Number of rows; None: any."""
    changes: dict[str, TableChange] | None = None
    """Table -> its changes; `{}`: nothing may have changed."""

    @model_validator(mode="after")
    def _says_something(self) -> "Sql":
        rows = self.equals is not None or bool(self.contains) or self.count is not None
        if rows == (self.changes is not None):
            raise ValueError("give either `changes`, or some of `equals`, `contains` and `count`")
        return self

    def problem_in(self, suite: Suite) -> str | None:
        """In words why this check cannot work in its suite; None where it can."""
        return sql_problem(suite, self.probe, tables=self.changes is not None)

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        got = evidence.trial.states.get(self.probe)
        if not isinstance(got, dict):
            return None, f"the probe {self.probe!r} gave nothing", {}
        unmeasurable = unmeasurable_state(got)
        if unmeasurable is not None:
            return None, f"the probe {self.probe!r} cannot read what the agent left: {unmeasurable}", BY_AGENT
        if "error" in got:
            return False, f"the database refused the probe {self.probe!r}: {got['error']}", {}
        if self.changes is not None:
            return self._changes(got.get("tables"), self.changes)
        rows = got.get("rows")
        if not isinstance(rows, list):
            return None, f"the probe {self.probe!r} made no query when the trial ran: run again", {}
        problem = self._problem_with(rows)
        return problem is None, f"{self.probe}: {problem or 'the rows are as expected'}", {"rows": rows[:50]}

    def _problem_with(self, rows: Sequence[JsonValue]) -> str | None:
        if self.count is not None and len(rows) != self.count:
            return f"there are {len(rows)} rows, not {self.count}"
        if self.equals is not None:
            wanted: list[JsonValue] = [*self.equals]
            given = list(rows) if self.ordered else sorted(rows, key=canonical_json)
            if not json_equal(given, wanted if self.ordered else sorted(wanted, key=canonical_json)):
                return f"the {len(rows)} rows are not those that are expected"
        if not json_contains(list(rows), [*self.contains]):
            return "a row that is expected is not there"
        return None

    def _changes(self, tables: JsonValue, expected: dict[str, TableChange]) -> tuple[bool | None, str, JsonObject]:
        if not isinstance(tables, dict):
            return None, f"the probe {self.probe!r} compared no tables when the trial ran: run again", {}
        seen: JsonObject = {name: changes for name, changes in tables.items() if _changed(changes)}
        problems = [f"there is no table {name!r}" for name in expected if name not in tables]
        for name, changes in tables.items():
            problem = _problem_with_table(changes, expected.get(name, TableChange()))
            problems += [] if problem is None else [f"table {name!r}: {problem}"]
        if not problems:
            return True, f"{self.probe}: the expected rows changed, and nothing else", seen
        more = f" (and {len(problems) - 1} more tables)" if len(problems) > 1 else ""
        return False, f"{self.probe}: {problems[0]}{more}", seen


def _changed(change: JsonValue) -> bool:
    return isinstance(change, dict) and bool(change.keys() - {"rows", "digest"})


def _problem_with_table(change: JsonValue, expected: TableChange) -> str | None:
    if not isinstance(change, dict):
        return "nothing was told of it"
    if "table" in change:
        return f"it was {change['table']}"
    for kind, rows in (("added", expected.added), ("removed", expected.removed)):
        if f"more_{kind}" in change:
            return f"more rows were {kind} than are listed"
        problem = _problem_with_rows(kind, _objects(change.get(kind)), rows)
        if problem is not None:
            return problem
    return _problem_with_changes(change, expected.changed)


def _problem_with_rows(kind: str, got: list[JsonObject], expected: Sequence[JsonObject]) -> str | None:
    missing, surplus = unmatched(got, expected, json_contains)
    if surplus and missing:
        return f"{_short(surplus[0])} was {kind}, where {_short(missing[0])} is expected"
    if surplus:
        return f"{_short(surplus[0])} was {kind}, which is not expected"
    return f"{_short(missing[0])} was not {kind}" if missing else None


def _problem_with_changes(change: JsonObject, expected: Sequence[RowChange]) -> str | None:
    if "more_changed" in change:
        return "more rows changed than are listed"
    got = [{"key": one["key"], "set": one["after"]} for one in _objects(change.get("changed"))]
    missing, surplus = unmatched(got, [one.model_dump() for one in expected], json_equal)
    if surplus and missing:
        return f"row {_short(surplus[0])} changed, where {_short(missing[0])} is expected"
    if surplus:
        return f"row {_short(surplus[0])} changed, which is not expected"
    return f"row {_short(missing[0])} did not change" if missing else None


def _objects(value: JsonValue) -> list[JsonObject]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _short(value: JsonValue, most: int = 160) -> str:
    text = canonical_json(value)
    return text if len(text) <= most else f"{text[: most - 3]}..."
