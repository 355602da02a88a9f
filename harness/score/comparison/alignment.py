"""The calls of a trial aligned with the calls that would have been right: where they differ, and how.

The right calls are those of a passing trial, in their order: the alignment has the least total cost, found by
dynamic programming over both sequences. A reference, which is ordered in part, is matched in `reference_match`.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

from harness.case import FedCall, Invocation, ToolSpec
from harness.cassette import complete_arguments
from harness.score.comparison.comparing import differing_arguments
from harness.values import Frozen, JsonObject, canonical_json

DeviationKind = Literal[
    "wrong_tool", "wrong_arguments", "missing_call", "needless_write", "needless_read", "wrong_order", "wrong_answer"
]
"""How a step differs from the right one. `needless_read` alone is not a failure. `wrong_answer`: the calls are right,
and the answer is not."""

_MATCH, _TOOL, _READ_TOOL, _MISSING = 0.0, 1.9, 1.4, 1.0
_WRITE_ARGUMENTS, _READ_ARGUMENTS = 1.0, 0.6
_NEEDLESS_WRITE, _NEEDLESS_READ = 1.0, 0.5


class Deviation(Frozen):
    """One place where a trial differs from the right calls."""

    kind: DeviationKind
    at: int
    """Number of the trial's call; for a missing one, of the call before which it is missing."""
    expected: Invocation | None = None
    """The right call; None: no call belongs here."""
    found: Invocation | None = None
    """The call that was made; None: none was."""
    arguments: tuple[str, ...] = ()
    """The arguments that differ, as paths in dots."""
    belongs_at: int | None = None
    """Of `wrong_order`: the number of the call before which it should have been made."""

    @property
    def words(self) -> str:
        """The deviation in a report's words."""
        expected, found = _shown(self.expected), _shown(self.found)
        match self.kind:
            case "wrong_tool":
                return f"wrong tool: {found} instead of {expected}"
            case "wrong_arguments":
                return f"wrong arguments ({', '.join(self.arguments)}): {found} instead of {expected}"
            case "missing_call":
                return f"missing call: {expected}"
            case "wrong_order":
                return f"wrong order: {found} too late or too early"
            case "wrong_answer":
                return "wrong answer after right calls"
            case _:
                return f"{self.kind.replace('_', ' ')}: {found}"


def deviations_from_trial(
    made: Sequence[FedCall], passing: Sequence[FedCall], tools: Sequence[ToolSpec]
) -> tuple[Deviation, ...]:
    """Every place where the calls of a trial differ from those of a passing one, in the order of the calls."""
    specs = {tool.name: tool for tool in tools}
    return tuple(_with_order(list(_traced(invocations(made), invocations(passing), specs)), specs))


def invocations(calls: Sequence[FedCall]) -> list[Invocation]:
    """The calls with their arguments; one that sent no JSON object has none."""
    return [Invocation(tool=one.tool, arguments=one.arguments or {}) for one in calls]


def _traced(left: list[Invocation], right: list[Invocation], specs: dict[str, ToolSpec]) -> Iterator[Deviation]:
    """The differences of the cheapest alignment, front to back."""
    for row, column, is_paired in _walked(left, right, specs):
        if is_paired:
            if _unlike(left[row], right[column], specs):
                yield changed_call(row, left[row], right[column])
        elif column < 0:
            kind: DeviationKind = "needless_write" if is_write(left[row], specs) else "needless_read"
            yield Deviation(kind=kind, at=row, found=left[row])
        else:
            yield Deviation(kind="missing_call", at=row, expected=right[column])


def equal_pairs(made: list[Invocation], wanted: list[Invocation], specs: dict[str, ToolSpec]) -> dict[int, int]:
    """Number of a wanted call -> number of the equal call that the cheapest alignment puts beside it."""
    walk = _walked(made, wanted, specs)
    return {column: row for row, column, pair in walk if pair and not _unlike(made[row], wanted[column], specs)}


def _walked(
    left: list[Invocation], right: list[Invocation], specs: dict[str, ToolSpec]
) -> Iterator[tuple[int, int, bool]]:
    """The cheapest alignment, front to back: row, column, and whether they are paired. A needless call has the column
    -1; a missing one has the row before which it is missing. Of a repeated call the later one is the needless.
    """
    rows, columns = len(left), len(right)
    cost = _costs(left, right, specs)
    row = column = 0
    while row < rows or column < columns:
        best = cost[row][column]
        both = row < rows and column < columns
        if both and best == cost[row + 1][column + 1] + _unlike(left[row], right[column], specs):
            yield row, column, True
            row, column = row + 1, column + 1
        elif row < rows and best == cost[row + 1][column] + _needless(left[row], specs):
            yield row, -1, False
            row += 1
        else:
            yield row, column, False
            column += 1


def _costs(left: list[Invocation], right: list[Invocation], specs: dict[str, ToolSpec]) -> list[list[float]]:
    """[row][column]: the least cost of aligning what follows there."""
    rows, columns = len(left), len(right)
    cost = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for row in range(rows - 1, -1, -1):
        cost[row][columns] = cost[row + 1][columns] + _needless(left[row], specs)
    for column in range(columns - 1, -1, -1):
        cost[rows][column] = cost[rows][column + 1] + _MISSING
    for row in range(rows - 1, -1, -1):
        for column in range(columns - 1, -1, -1):
            cost[row][column] = min(
                cost[row + 1][column + 1] + _unlike(left[row], right[column], specs),
                cost[row + 1][column] + _needless(left[row], specs),
                cost[row][column + 1] + _MISSING,
            )
    return cost


def changed_call(at: int, made: Invocation, wanted: Invocation) -> Deviation:
    """The deviation of a call that was made in place of the right one."""
    if made.tool != wanted.tool:
        return Deviation(kind="wrong_tool", at=at, expected=wanted, found=made)
    names = tuple(dict.fromkeys(differing_arguments(wanted.arguments, made.arguments)))
    return Deviation(kind="wrong_arguments", at=at, expected=wanted, found=made, arguments=names)


def _with_order(found: list[Deviation], specs: dict[str, ToolSpec]) -> Iterator[Deviation]:
    """A call that is missing in one place and needless in another was made in the wrong order."""
    missing = {
        call_key(one.expected, specs): one.at
        for one in found
        if one.kind == "missing_call" and one.expected is not None
    }
    for one in found:
        place = None
        if one.kind in ("needless_write", "needless_read") and one.found is not None:
            place = missing.get(call_key(one.found, specs))
        yield one if place is None else one.model_copy(update={"kind": "wrong_order", "belongs_at": place})


def _unlike(made: Invocation, wanted: Invocation, specs: dict[str, ToolSpec]) -> float:
    if made.tool != wanted.tool:
        # Less than a needless read and a missing one: the agent reads the answer of the call that it made there.
        return _TOOL if is_write(made, specs) or is_write(wanted, specs) else _READ_TOOL
    if call_key(made, specs) == call_key(wanted, specs):
        return _MATCH
    return _WRITE_ARGUMENTS if is_write(made, specs) else _READ_ARGUMENTS


def _needless(made: Invocation, specs: dict[str, ToolSpec]) -> float:
    return _NEEDLESS_WRITE if is_write(made, specs) else _NEEDLESS_READ


def is_write(call: Invocation, specs: dict[str, ToolSpec]) -> bool:
    """Whether the tool declares that it writes."""
    spec = specs.get(call.tool)
    return spec is not None and spec.effect == "write"


def call_key(call: Invocation, specs: dict[str, ToolSpec]) -> str:
    """Equal for calls that are the same once the schema's defaults are filled in."""
    spec = specs.get(call.tool)
    arguments: JsonObject = call.arguments if spec is None else complete_arguments(spec, call.arguments)
    return f"{call.tool}\0{canonical_json(arguments)}"


def _shown(call: Invocation | None) -> str:
    return "nothing" if call is None else f"{call.tool}({canonical_json(call.arguments)[:160]})"
