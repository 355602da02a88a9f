"""Checks of what probes read at the end: an API's answer, rows of a database, a state."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field, JsonValue, field_validator, model_validator

from harness.scoring.evidence import BY_AGENT, Evidence, probe_problem, unmeasurable_state
from harness.scoring.json_values import PointerNotFound, at_pointer, json_contains, json_equal, unmatched
from harness.suite.cases import StateProbe
from harness.suite.paths import found_at, strict_path
from harness.suite.suites import Suite
from harness.text import shortened
from harness.traces.trajectory import Content
from harness.values import Frozen, JsonObject, canonical_json, objects_of


def sql_problem(suite: Suite, name: str, *, tables: bool) -> str | None:
    """As `probe_problem`, for a probe that reads whole tables (else: that makes a query)."""
    problem = probe_problem(suite, name, "sql")
    if problem is not None:
        return problem
    if any(_reads_tables(probe) != tables for probe in (*suite.probes, *_of_cases(suite)) if probe.name == name):
        needed = "tables" if tables else "query"
        return f"with.probe: the probe {name!r} has no `{needed}`, which this check is about"
    return None


def _reads_tables(probe: StateProbe) -> bool:
    return probe.sql is not None and probe.sql.tables is not None


def _of_cases(suite: Suite) -> list[StateProbe]:
    return [probe for case in suite.cases for probe in case.probes]


class PathRule(Frozen):
    """A rule about the values at a JSONPath (RFC 9535). All given parts must hold; with only `path`, there must be a
    value.

    A path can select many values. `equals` and `contains` apply to the only selected value, or with `all: true` to the
    list of all.
    """

    path: str
    """JSONPath (RFC 9535) into the body."""
    all: bool = False
    """Whether `equals` and `contains` are about the list of all values."""
    equals: JsonValue = None
    """The JSON value that must be there."""
    contains: JsonValue = None
    """Members of an object, elements of a list in any order, a part of a text."""
    count: int | None = Field(default=None, ge=0)
    """How many values the path leads to."""
    exists: bool = True
    """False requires that no value is there."""

    @field_validator("path")
    @classmethod
    def _compiles(cls, value: str) -> str:
        strict_path(value)
        return value

    @model_validator(mode="after")
    def _agrees(self) -> "PathRule":
        if not self.exists and {"equals", "contains", "count"} & self.model_fields_set:
            raise ValueError("what does not exist equals and contains nothing, and is not counted")
        return self

    def problem(self, body: JsonValue) -> str | None:
        """Explains what does not hold; None if all does."""
        found = _values_at(self.path, body)
        if not self.exists:
            return f"{self.path} leads to something" if found else None
        if self.count is not None and len(found) != self.count:
            return f"{self.path} leads to {len(found)} values, not {self.count}"
        if not found and self.count is None and not self.all:
            return f"{self.path} leads to nothing"
        return self._problem_with(found)

    def _problem_with(self, found: list[JsonValue]) -> str | None:
        given = {"equals", "contains"} & self.model_fields_set
        if given and not self.all and len(found) != 1:
            return f"{self.path} leads to {len(found)} values: `all: true` compares the list of them"
        actual: JsonValue = found if self.all else next(iter(found), None)
        if "equals" in given and not json_equal(actual, self.equals):
            return f"{self.path} is {_short_json(actual)}, not {_short_json(self.equals)}"
        if "contains" in given and not json_contains(actual, self.contains):
            return f"{self.path} is {_short_json(actual)}, which does not contain {_short_json(self.contains)}"
        return None


class Api(Frozen):
    """What a probe with `api` was answered."""

    version: ClassVar[str] = "2"
    reads: ClassVar[frozenset[Content]] = frozenset()

    probe: str
    """Name of a probe with `api`."""
    status: int | Literal["any"] = Field(default=200)
    """HTTP status that the answer must have; `any`: every status is right."""
    body: tuple[PathRule, ...] = ()
    """Parts of the JSON body, each of which must hold."""

    def problem_in(self, suite: Suite) -> str | None:
        """Explains why this check cannot work in its suite; None if it can."""
        return probe_problem(suite, self.probe, "api")

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        got = evidence.trial.states.get(self.probe)
        unmeasurable = unmeasurable_state(got)
        if unmeasurable is not None:
            return None, f"the probe {self.probe!r} cannot read what the agent left: {unmeasurable}", BY_AGENT
        if not isinstance(got, dict) or "status" not in got:
            return None, f"the probe {self.probe!r} gave no answer", {}
        if self.status not in ("any", got["status"]):
            return False, f"{self.probe}: the status is {got['status']}, not {self.status}", got
        problems = [problem for rule in self.body if (problem := rule.problem(got.get("body"))) is not None]
        return not problems, f"{self.probe}: {problems[0] if problems else 'the answer is as expected'}", got


def _values_at(path: str, body: JsonValue) -> list[JsonValue]:
    """A text, a number and null have no parts."""
    return found_at(path, body, field="with.body.path") if isinstance(body, dict | list) else []


def _short_json(value: JsonValue, most: int = 160) -> str:
    return shortened(canonical_json(value), most)


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

    version: ClassVar[str] = "2"
    reads: ClassVar[frozenset[Content]] = frozenset()

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
        """Explains why this check cannot work in its suite; None if it can."""
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
        seen: JsonObject = {name: changes for name, changes in tables.items() if _has_changes(changes)}
        problems = [f"there is no table {name!r}" for name in expected if name not in tables]
        for name, changes in tables.items():
            problem = _problem_with_table(changes, expected.get(name, TableChange()))
            problems += [] if problem is None else [f"table {name!r}: {problem}"]
        if not problems:
            return True, f"{self.probe}: the expected rows changed, and nothing else", seen
        more = f" (and {len(problems) - 1} more tables)" if len(problems) > 1 else ""
        return False, f"{self.probe}: {problems[0]}{more}", seen


def _has_changes(change: JsonValue) -> bool:
    return isinstance(change, dict) and bool(change.keys() - {"rows", "digest"})


def _problem_with_table(change: JsonValue, expected: TableChange) -> str | None:
    if not isinstance(change, dict):
        return "nothing was told of it"
    if "table" in change:
        return f"it was {change['table']}"
    for kind, rows in (("added", expected.added), ("removed", expected.removed)):
        if f"more_{kind}" in change:
            return f"more rows were {kind} than are listed"
        problem = _problem_with_rows(kind, objects_of(change.get(kind)), rows)
        if problem is not None:
            return problem
    return _problem_with_changes(change, expected.changed)


def _problem_with_rows(kind: str, got: list[JsonObject], expected: Sequence[JsonObject]) -> str | None:
    missing, surplus = unmatched(got, expected, json_contains)
    if surplus and missing:
        return f"{_short_json(surplus[0])} was {kind}, where {_short_json(missing[0])} is expected"
    if surplus:
        return f"{_short_json(surplus[0])} was {kind}, which is not expected"
    return f"{_short_json(missing[0])} was not {kind}" if missing else None


def _problem_with_changes(change: JsonObject, expected: Sequence[RowChange]) -> str | None:
    if "more_changed" in change:
        return "more rows changed than are listed"
    got = [{"key": one["key"], "set": one["after"]} for one in objects_of(change.get("changed"))]
    missing, surplus = unmatched(got, [one.model_dump() for one in expected], json_equal)
    if surplus and missing:
        return f"row {_short_json(surplus[0])} changed, where {_short_json(missing[0])} is expected"
    if surplus:
        return f"row {_short_json(surplus[0])} changed, which is not expected"
    return f"row {_short_json(missing[0])} did not change" if missing else None


class State(Frozen):
    """The probe's answer, or the value in it at `path`, equals or contains a value.

    Without `equals` and `contains` it must equal the case's `expected`. Without an answer of the probe the check is
    undecided.
    """

    version: ClassVar[str] = "2"
    reads: ClassVar[frozenset[Content]] = frozenset()

    probe: str
    """Name of a probe."""
    path: str = Field(default="", pattern=r"^(/.*)?$")
    """JSON pointer into the probe's answer, such as `/items/0/id`; empty: the whole."""
    equals: JsonValue = None
    """The JSON value that must be there."""
    contains: JsonValue = None
    """Members of an object, elements of a list in any order, a part of a text."""

    def problem_in(self, suite: Suite) -> str | None:
        """Explains why this check cannot work in its suite; None if it can."""
        return probe_problem(suite, self.probe)

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        whole = evidence.trial.states.get(self.probe)
        if whole is None:
            return None, f"the probe {self.probe!r} gave nothing", {}
        unmeasurable = unmeasurable_state(whole)
        if unmeasurable is not None:
            return None, f"the probe {self.probe!r} cannot read what the agent left: {unmeasurable}", BY_AGENT
        given = {"equals", "contains"} & self.model_fields_set
        if not given and evidence.case.expected is None:
            return None, "neither the check nor the case says what the state should be", {}
        try:
            actual = at_pointer(whole, self.path)
        except PointerNotFound as absent:
            return False, f"{self.probe}: {absent}", {"state": whole}
        problem = self._problem_with(actual, given, evidence.case.expected)
        place = f"{self.probe}{self.path}"
        return problem is None, f"{place} {problem or 'is as expected'}", {"state": actual}

    def _problem_with(self, actual: JsonValue, given: set[str], expected: JsonValue) -> str | None:
        wanted = self.equals if "equals" in given else expected
        if given != {"contains"} and not json_equal(actual, wanted):
            return "is another value than expected"
        if "contains" in given and not json_contains(actual, self.contains):
            return "does not contain what is expected"
        return None
