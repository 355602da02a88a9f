"""The end state is the one that the case's reference leaves, whatever way led to it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from pydantic import JsonValue, field_validator

from harness.scoring.evidence import BY_AGENT, Evidence, ReferenceState, probe_problem, unmeasurable_state
from harness.scoring.json_values import equality_key, json_equal
from harness.scoring.texts import composed
from harness.scoring.verifiers.files import matches_any
from harness.suite.cases import StateProbe
from harness.suite.suites import Suite
from harness.suite.tools import ToolSpec, changed_at, unmatched, without
from harness.text import one_line, shortened
from harness.traces.trajectory import Content
from harness.traces.trial import EndState, FileChange, Trial
from harness.values import Frozen, JsonObject

# In what a state differs from the one that a reference leaves: rows and columns, places in JSON, changed files.
#
# Both states were reached from the same snapshot, so that equal changes mean equal states.

_LONGEST = 160
_LONGEST_PLACE = 400
_LONGEST_PROBLEM = 600
_MOST_PAIRS: Final = 10_000
"""Of rows that are compared with each other to find the columns that differ; the agent decides how many there are."""
_KINDS: Final = {"file": "a regular file", "directory": "a folder", "link": "a link", "other": "a special file"}


@dataclass(frozen=True, kw_only=True)
class StateDifference:
    """One difference."""

    place: str
    """Probe with table, row and column, or with JSON pointer; else the path of a file."""
    problem: str
    """What is there, and what the reference leaves."""
    part: str = ""
    """The place without the content of a row, which differs between two states; empty: the place itself."""

    def lies_in(self, other: "StateDifference") -> bool:
        """Whether what differs here is, holds, or is held by what differs there; a list's items are not told apart."""
        mine, theirs = self.part or self.place, other.part or other.place
        whole, _, last = theirs.rpartition("/")
        theirs = whole if last.isdecimal() else theirs
        return f"{mine}/".startswith(f"{theirs}/") or theirs.startswith(f"{mine}/")

    @property
    def words(self) -> str:
        """In one line of bounded length: names in a state, and paths, may be of any length and have any character."""
        place, half = one_line(self.place), _LONGEST_PLACE // 2
        if len(place) > _LONGEST_PLACE:
            place = f"{place[:half]}...{place[-half:]}"
        return f"{place} {one_line(self.problem)[:_LONGEST_PROBLEM]}"


def value_differences(
    probe: str, got: JsonValue, wanted: JsonValue, ignored: Sequence[str], unordered: Sequence[str]
) -> Iterator[StateDifference]:
    """Of two JSON values, by JSON pointer; also inside of texts that are JSON.

    `ignored` are pointers to parts that are left out, `unordered` pointers to lists whose order does not count.
    """
    yield from _of_values(probe, _comparable(got, ignored, unordered), _comparable(wanted, ignored, unordered))


def row_differences(probe: str, got: Sequence[JsonValue], wanted: Sequence[JsonValue]) -> Iterator[StateDifference]:
    """Of two results of a query, in any order of their rows."""
    yield from _of_rows(f"{probe}: row", *_unmatched_rows(got, wanted))


def table_differences(probe: str, got: JsonObject, wanted: JsonObject) -> Iterator[StateDifference]:
    """Of two readings of whole tables, each given by its changes since the snapshot."""
    for name in sorted({*got, *wanted}):
        place = f"{probe}: table {name!r}"
        mine, theirs = got.get(name), wanted.get(name)
        if not isinstance(mine, dict) or not isinstance(theirs, dict):
            yield StateDifference(place=place, problem=_presence(mine is not None))
        elif mine.get("table") != theirs.get("table") and "removed" in (mine.get("table"), theirs.get("table")):
            yield StateDifference(place=place, problem=_presence(mine.get("table") != "removed"))
        elif mine.get("digest") != theirs.get("digest"):
            found = list(_of_table(place, mine, theirs))
            yield from found or [StateDifference(place=place, problem="holds other rows than the reference leaves")]


def file_differences(got: EndState, wanted: EndState, takes: Callable[[str], bool]) -> Iterator[StateDifference]:
    """Of the files that changed since the snapshot (content, mode, kind, target of a link), if `takes` a path."""
    mine = {composed(change.path): change for change in got.changes if takes(change.path)}
    theirs = {composed(change.path): change for change in wanted.changes if takes(change.path)}
    for path in sorted({*mine, *theirs}):
        problem = _file_problem(mine.get(path), theirs.get(path))
        if problem is not None:
            yield StateDifference(place=path, problem=problem)


def _comparable(value: JsonValue, ignored: Sequence[str], unordered: Sequence[str]) -> JsonValue:
    from harness.cassettes.volatility import unfolded

    value = unfolded(value)
    for pointer in sorted(ignored, key=_in_lists, reverse=True):  # each index is that of the whole list
        value = without(value, pointer)
    for pointer in sorted(unordered, key=lambda one: one.count("/"), reverse=True):  # the deepest first
        value = changed_at(value, pointer, _in_any_order)
    return value


def _in_lists(pointer: str) -> list[tuple[int, str]]:
    """A key that orders pointers by the indices in them, and by name elsewhere."""
    parts = pointer.split("/")
    return [(len(part) if part.isascii() and part.isdigit() else -1, part) for part in parts]


class _Unordered(list[JsonValue]):
    """A list whose order does not count."""


def _in_any_order(value: JsonValue) -> JsonValue:
    return _Unordered(sorted(value, key=equality_key)) if isinstance(value, list) else value


def _of_values(place: str, got: JsonValue, wanted: JsonValue) -> Iterator[StateDifference]:
    match got, wanted:
        case dict(), dict():
            yield from _of_members(place, got, wanted)
        case _Unordered(), _Unordered():
            yield from _of_rows(f"{place}: item", *_unmatched_rows(got, wanted))
        case list(), list():
            for index, (mine, theirs) in enumerate(zip(got, wanted, strict=False)):
                yield from _of_values(f"{place}/{index}", mine, theirs)
            if len(got) != len(wanted):
                counts = f"has {len(got)} items, and the reference leaves {len(wanted)}"
                yield StateDifference(place=place, problem=counts)
        case _:
            if not json_equal(got, wanted):
                yield _changed_value(place, got, wanted)


def _of_members(place: str, got: JsonObject, wanted: JsonObject) -> Iterator[StateDifference]:
    for name in sorted({*got, *wanted}):
        inner = f"{place}/{name.replace('~', '~0').replace('/', '~1')}"
        if name in got and name in wanted:
            yield from _of_values(inner, got[name], wanted[name])
        else:
            yield StateDifference(place=inner, problem=_presence(name in got))


def _changed_value(place: str, got: JsonValue, wanted: JsonValue) -> StateDifference:
    return StateDifference(
        place=place, problem=f"is {_short_json(got)}, and the reference leaves {_short_json(wanted)}"
    )


def _presence(is_there: bool) -> str:
    if is_there:
        return "is there, and the reference does not leave it"
    return "is not there, and the reference leaves it"


def _of_table(place: str, got: JsonObject, wanted: JsonObject) -> Iterator[StateDifference]:
    cut = [kind for kind in ("added", "removed", "changed") if f"more_{kind}" in got or f"more_{kind}" in wanted]
    if cut:
        counts = f"{_count(got, cut[0])} rows were {cut[0]}, and by the reference {_count(wanted, cut[0])}"
        yield StateDifference(place=place, problem=f"holds other rows than the reference leaves: {counts}")
        return
    new, not_added = _unmatched_rows(_rows_of(got, "added"), _rows_of(wanted, "added"))
    gone, not_removed = _unmatched_rows(_rows_of(got, "removed"), _rows_of(wanted, "removed"))
    yield from _of_rows(f"{place}, row", new + not_removed, not_added + gone)
    yield from _of_changes(place, _by_key(got), _by_key(wanted))


def _of_changes(place: str, got: dict[str, JsonObject], wanted: dict[str, JsonObject]) -> Iterator[StateDifference]:
    for key in sorted({*got, *wanted}):
        mine, theirs = got.get(key, {}), wanted.get(key, {})
        before = _object_in(mine, "before") | _object_in(theirs, "before")
        left, expected = before | _object_in(mine, "after"), before | _object_in(theirs, "after")
        for column in sorted(before.keys() | left.keys() | expected.keys()):
            if not json_equal(left.get(column), expected.get(column)):
                at = f"{place}, row {key}, column {column!r}"
                yield _changed_value(at, left.get(column), expected.get(column))


def _of_rows(place: str, surplus: list[JsonValue], missing: list[JsonValue]) -> Iterator[StateDifference]:
    """Rows that are equal in at least half of their columns are taken for one row, whose columns differ."""
    rest = list(missing)
    are_paired = len(surplus) * len(missing) <= _MOST_PAIRS
    for row in surplus:
        like = max(rest, key=lambda one: _common_share(row, one), default=None) if are_paired else None
        if like is None or not isinstance(row, dict) or not isinstance(like, dict) or _common_share(row, like) < _HALF:
            yield StateDifference(place=f"{place} {_short_json(row)}", problem=_presence(True), part=place)
            continue
        rest.remove(like)
        for column in sorted({*row, *like}):
            at = f"{place} {_short_json(row)}, column {column!r}"
            if column not in row or column not in like:  # null is a value, and not the same
                yield StateDifference(place=at, problem=_presence(column in row), part=f"{place}/{column}")
            elif not json_equal(row[column], like[column]):
                yield replace(_changed_value(at, row[column], like[column]), part=f"{place}/{column}")
    for row in rest:
        yield StateDifference(place=f"{place} {_short_json(row)}", problem=_presence(False), part=place)


_HALF: Final = 0.5


def _common_share(one: JsonValue, other: JsonValue) -> float:
    """The share of columns that two rows have in common."""
    if not isinstance(one, dict) or not isinstance(other, dict) or not one:
        return 0.0
    same = [name for name in one if name in other and json_equal(one[name], other[name])]
    return len(same) / len({*one, *other})


def _unmatched_rows(got: Iterable[JsonValue], wanted: Iterable[JsonValue]) -> tuple[list[JsonValue], list[JsonValue]]:
    """The rows that only the first has, and those that only the second has; equal rows count as often as they are."""
    mine, theirs = [*got], [*wanted]
    texts = {equality_key(row): row for row in (*mine, *theirs)}
    first, second = Counter(map(equality_key, mine)), Counter(map(equality_key, theirs))
    surplus, missing = (first - second).elements(), (second - first).elements()
    return [texts[text] for text in sorted(surplus)], [texts[text] for text in sorted(missing)]


def _rows_of(change: JsonObject, kind: str) -> list[JsonValue]:
    rows = change.get(kind)
    return rows if isinstance(rows, list) else []


def _by_key(change: JsonObject) -> dict[str, JsonObject]:
    rows = [row for row in _rows_of(change, "changed") if isinstance(row, dict)]
    return {equality_key(row.get("key")): row for row in rows}


def _object_in(row: JsonObject, name: str) -> JsonObject:
    value = row.get(name)
    return value if isinstance(value, dict) else {}


def _count(change: JsonObject, kind: str) -> int:
    more = change.get(f"more_{kind}")
    return len(_rows_of(change, kind)) + (more if isinstance(more, int) else 0)


def _file_problem(got: FileChange | None, wanted: FileChange | None) -> str | None:
    if wanted is None:
        return None if got is None else f"was {got.change}, and the reference does not change it"
    if got is None:
        return f"was not {wanted.change}, as it is by the reference"
    if "deleted" in (got.change, wanted.change):
        return None if got.change == wanted.change else f"was {got.change}, and by the reference it is {wanted.change}"
    return _content_problem(got, wanted)


def _content_problem(got: FileChange, wanted: FileChange) -> str | None:
    if got.kind != wanted.kind:
        return f"is {_KINDS[got.kind]}, and the reference leaves {_KINDS[wanted.kind]}"
    if got.link != wanted.link:
        return f"leads to {got.link!r}, and the reference's leads to {wanted.link!r}"
    if got.sha256 != wanted.sha256:
        return f"has other content than the reference leaves ({got.size} and {wanted.size} bytes)"
    if got.mode != wanted.mode:
        return f"has mode {got.mode or 0:o}, and the reference leaves {wanted.mode or 0:o}"
    return None


def _short_json(value: JsonValue) -> str:
    return shortened(equality_key(value), _LONGEST)


def _first_words(found: Sequence[StateDifference]) -> str:
    more = f" (and {len(found) - _NAMED} more differences)" if len(found) > _NAMED else ""
    return "; ".join(one.words for one in found[:_NAMED]) + more


_NAMED = 3
_KEPT = 50


class EqualsReferenceState(Frozen):
    """The end state equals the state that the case's reference calls leave from the same snapshot.

    Before the trials of a run, the oracle plays the reference of each case with such a check. What the probes read
    after it, and the files that it changed, are stored with the run. Order and number of the agent's calls, further
    reads and the words of its answer do not matter. Tables are compared by their rows, the rows of a query in any
    order, other probes by JSON value, without the `volatile` and `generated_ids` of a probe's tool. Columns are left
    out by the probe's `sql.ignore`. What differs between two plays of the reference is undecided.
    Needs restored services (`--live sealed` or `tools`): a replay has no
    state. Without a stored state of the reference, or without an answer of a probe, the check is undecided.
    """

    version: ClassVar[str] = "3"
    reads: ClassVar[frozenset[Content]] = frozenset()

    probes: tuple[str, ...] | None = None
    """Names of the probes that are compared; None: all of the suite and the case."""
    files: tuple[str, ...] = ()
    """Patterns of paths, as for `files`, whose files must be as the reference leaves them; empty: none is compared."""
    ignore_files: tuple[str, ...] = ()
    """Patterns of paths that are left out of `files`."""
    ignore: dict[str, tuple[str, ...]] = {}
    """Probe -> JSON pointers into its answer to values that are left out, such as `/items/*/created_at`."""
    unordered: dict[str, tuple[str, ...]] = {}
    """Probe -> JSON pointers into its answer to lists whose order does not count; empty pointer: the whole answer."""

    @field_validator("ignore", "unordered")
    @classmethod
    def _pointers(cls, value: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for pointer in (pointer for pointers in value.values() for pointer in pointers):
            if pointer and not pointer.startswith("/"):
                raise ValueError(f"expected a JSON pointer, which begins with /, found {pointer!r}")
        return value

    def problem_in(self, suite: Suite) -> str | None:
        """Explains why this check cannot work in its suite; None if it can."""
        probes = (*suite.probes, *(probe for case in suite.cases for probe in case.probes))
        if self.probes is not None:
            unknown = (problem for name in self.probes if (problem := probe_problem(suite, name)) is not None)
            return next(unknown, None) or self._why_nothing_to_compare(self.probes) or self._misplaced(probes)
        return self._why_nothing_to_compare(probes) or self._misplaced(probes)

    def _why_nothing_to_compare(self, probes: Sequence[object]) -> str | None:
        if probes or self.files:
            return None
        return "with: there is no state to compare: the suite has no probe, and `files` names no path"

    def _misplaced(self, probes: Sequence[StateProbe]) -> str | None:
        for field, pointers in (("ignore", self.ignore), ("unordered", self.unordered)):
            for name in pointers:
                found = [probe for probe in probes if probe.name == name and self._takes(name)]
                if not found:
                    return f"with.{field}: {name!r} is none of the probes that are compared"
                if any(probe.sql is not None for probe in found):
                    return (
                        f"with.{field}: {name!r} reads a database: leave columns out by its `sql.ignore` or its query"
                    )
        return None

    def compared(self, probes: Sequence[StateProbe]) -> tuple[StateProbe, ...]:
        """Those of the probes whose answers are compared."""
        return tuple(probe for probe in probes if self._takes(probe.name))

    def _takes(self, name: str) -> bool:
        return self.probes is None or name in self.probes

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        reference = evidence.reference_state
        if reference is None:
            return None, "no state that the case's reference leaves is stored with the run: run again", {}
        tools = {tool.name: tool for tool in evidence.tools}
        trial = evidence.trial
        again = list(self._differences(reference.states_again, reference.end_state_again, reference, tools))
        found = [
            one
            for one in self._differences(trial.states, trial.end_state, reference, tools)
            if not any(one.lies_in(other) for other in again)
        ]
        seen: JsonObject = {"differences": [one.words for one in found[:_KEPT]]}
        if found:
            return False, _first_words(found) + self._without_effect(trial.states, reference), seen
        missing = self._unknown(trial, reference)
        if missing is not None:
            return None, *missing
        if again:
            why = (
                "the reference, played twice, does not leave the same: leave out what changes, or declare it unordered"
            )
            return None, f"{why}: {_first_words(again)}", seen
        words = "the end state is the one that the reference leaves"
        return True, words + self._without_effect(trial.states, reference), seen

    def _without_effect(self, states: Mapping[str, JsonValue], reference: ReferenceState) -> str:
        """In words the pointers that match nothing in either state; empty if there are none."""
        from harness.cassettes.volatility import unfolded

        found = [
            f"{name}{pointer}"
            for name, pointers in (*self.ignore.items(), *self.unordered.items())
            for pointer in unmatched(pointers, [unfolded(side.get(name)) for side in (states, reference.states)])
        ]
        return f" (pointers that match nothing: {', '.join(found)})" if found else ""

    def _differences(
        self,
        states: Mapping[str, JsonValue],
        end_state: EndState | None,
        reference: ReferenceState,
        tools: Mapping[str, ToolSpec],
    ) -> Iterator[StateDifference]:
        for probe in self.compared(reference.probes):
            got, wanted = states.get(probe.name), reference.states.get(probe.name)
            if got is None or wanted is None or unmeasurable_state(got) is not None:
                continue
            if probe.sql is not None:
                yield from _of_database(probe.name, got, wanted)
            else:
                yield from self._of_values(probe, got, wanted, tools)
        if self.files and end_state is not None and reference.end_state is not None:
            yield from file_differences(end_state, reference.end_state, self._compares_file)

    def _of_values(
        self, probe: StateProbe, got: JsonValue, wanted: JsonValue, tools: Mapping[str, ToolSpec]
    ) -> Iterator[StateDifference]:
        tool = None if probe.tool is None else tools.get(probe.tool)
        volatile = () if tool is None else (*tool.volatile, *tool.generated_ids)
        ignored = (*self.ignore.get(probe.name, ()), *volatile)
        return value_differences(probe.name, got, wanted, ignored, self.unordered.get(probe.name, ()))

    def _compares_file(self, path: str) -> bool:
        return matches_any(path, self.files) and not matches_any(path, self.ignore_files)

    def _unknown(self, trial: Trial, reference: ReferenceState) -> tuple[str, JsonObject] | None:
        """What could not be compared, and whether that is the agent's doing; None: everything was compared."""
        for probe in self.compared(reference.probes):
            problem = _not_compared(probe.name, trial.states.get(probe.name), reference.states.get(probe.name))
            if problem is not None:
                return problem
        if not self.files:
            return None
        if trial.end_state is None or reference.end_state is None:
            return "no end state was kept", {}
        if not trial.end_state.complete:
            return f"the end state is not complete: {trial.end_state.problem or 'it was too large'}", BY_AGENT
        return None


def _not_compared(name: str, got: JsonValue, wanted: JsonValue) -> tuple[str, JsonObject] | None:
    unmeasurable = unmeasurable_state(got)
    if unmeasurable is not None:
        return f"the probe {name!r} cannot read what the agent left: {unmeasurable}", BY_AGENT
    if got is None:
        return f"the probe {name!r} gave nothing", {}
    if wanted is None:
        return f"the stored state of the reference has no answer of the probe {name!r}: run again", {}
    return None


def _of_database(name: str, got: JsonValue, wanted: JsonValue) -> Iterator[StateDifference]:
    mine, theirs = _object_or_empty(got), _object_or_empty(wanted)
    if "error" in mine:
        yield StateDifference(place=f"{name}:", problem=f"the database refused the probe: {mine['error']}")
    elif isinstance(mine.get("tables"), dict):
        yield from table_differences(name, _object_or_empty(mine.get("tables")), _object_or_empty(theirs.get("tables")))
    else:
        yield from row_differences(name, _rows(mine), _rows(theirs))


def _object_or_empty(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _rows(state: JsonObject) -> list[JsonValue]:
    rows = state.get("rows")
    return rows if isinstance(rows, list) else []
