"""The end state is the one that the case's reference leaves, whatever way led to it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from pydantic import field_validator

from harness.case import StateProbe, Suite, ToolSpec
from harness.score.comparison.state_differences import (
    StateDifference,
    file_differences,
    row_differences,
    table_differences,
    value_differences,
)
from harness.score.evidence import Evidence
from harness.score.probing import probe_problem
from harness.score.reference_state import ReferenceState
from harness.score.unmeasured import BY_AGENT, unmeasurable_state
from harness.score.verifiers.files import matches_any
from harness.trace import Trial
from harness.values import Frozen, JsonObject, JsonValue

_NAMED = 3
_KEPT = 50


class EqualsReferenceState(Frozen):
    """The end state equals the state that the case's reference calls leave from the same snapshot.

    Before the trials of a run, the oracle plays the reference of each case with such a check. What the probes read
    after it, and the files that it changed, are stored with the run. Order and number of the agent's calls, further
    reads and the words of its answer do not matter. Tables are compared by their rows, the rows of a query in any
    order, other probes by JSON value, without the `volatile` and `generated_ids` of a probe's tool. Columns are left
    out by the probe's `sql.ignore`. Needs restored services (`--tools sealed`, `record` or `live`): a replay has no
    state. Without a stored state of the reference, or without an answer of a probe, the check is undecided.
    """

    version: ClassVar[str] = "2"

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
        """In words why this check cannot work in its suite; None where it can."""
        probes = (*suite.probes, *(probe for case in suite.cases for probe in case.probes))
        if self.probes is not None:
            unknown = (problem for name in self.probes if (problem := probe_problem(suite, name)) is not None)
            return next(unknown, None) or self._nothing(self.probes) or self._misplaced(probes)
        return self._nothing(probes) or self._misplaced(probes)

    def _nothing(self, probes: Sequence[object]) -> str | None:
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
        found = list(self._differences(evidence, reference))
        seen: JsonObject = {"differences": [one.words for one in found[:_KEPT]]}
        if found:
            more = f" (and {len(found) - _NAMED} more differences)" if len(found) > _NAMED else ""
            return False, "; ".join(one.words for one in found[:_NAMED]) + more, seen
        missing = self._unknown(evidence.trial, reference)
        if missing is not None:
            return None, *missing
        return True, "the end state is the one that the reference leaves", seen

    def _differences(self, evidence: Evidence, reference: ReferenceState) -> Iterator[StateDifference]:
        trial, tools = evidence.trial, {tool.name: tool for tool in evidence.tools}
        for probe in self.compared(reference.probes):
            got, wanted = trial.states.get(probe.name), reference.states.get(probe.name)
            if got is None or wanted is None or unmeasurable_state(got) is not None:
                continue
            if probe.sql is not None:
                yield from _of_database(probe.name, got, wanted)
            else:
                yield from self._of_values(probe, got, wanted, tools)
        if self.files and trial.end_state is not None and reference.end_state is not None:
            yield from file_differences(trial.end_state, reference.end_state, self._compares_file)

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
    mine, theirs = _members(got), _members(wanted)
    if "error" in mine:
        yield StateDifference(place=f"{name}:", problem=f"the database refused the probe: {mine['error']}")
    elif isinstance(mine.get("tables"), dict):
        yield from table_differences(name, _members(mine.get("tables")), _members(theirs.get("tables")))
    else:
        yield from row_differences(name, _rows(mine), _rows(theirs))


def _members(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _rows(state: JsonObject) -> list[JsonValue]:
    rows = state.get("rows")
    return rows if isinstance(rows, list) else []
