"""The calls of a trial aligned with the calls that would have been right: where they differ, and how.

The right calls are those of the case's reference, or those of a passing trial. The alignment has the least total cost
(dynamic programming over both sequences); a partially ordered reference is first put into an order that the trial
follows as far as its `after` allows.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

from harness.case import Case, FedCall, Invocation, ReferenceCall, ToolSpec
from harness.cassette import complete_arguments
from harness.score import differing_arguments
from harness.values import Frozen, JsonObject, canonical_json

DeviationKind = Literal[
    "wrong_tool", "wrong_arguments", "missing_call", "needless_write", "needless_read", "wrong_order", "wrong_answer"
]
"""How a step differs from the right one. `needless_read` is no failure by itself. `wrong_answer`: the calls are right,
and the answer is not."""

_MATCH, _TOOL, _MISSING = 0.0, 1.9, 1.0
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


def wanted_of_reference(case: Case) -> tuple[ReferenceCall, ...]:
    """The reference of a case; empty where it has none."""
    return case.reference or ()


def wanted_of_trial(calls: Sequence[FedCall]) -> tuple[ReferenceCall, ...]:
    """The calls of a passing trial as a chain."""
    chain: list[ReferenceCall] = []
    for number, call in enumerate(calls):
        if call.arguments is not None:
            after = (chain[-1].id,) if chain else ()
            chain.append(ReferenceCall(id=f"call-{number}", tool=call.tool, arguments=call.arguments, after=after))
    return tuple(chain)


def deviations(
    made: Sequence[FedCall], wanted: Sequence[ReferenceCall], tools: Sequence[ToolSpec]
) -> tuple[Deviation, ...]:
    """Every place where the calls `made` differ from `wanted`, in the order of the calls."""
    specs = {tool.name: tool for tool in tools}
    left = [Invocation(tool=one.tool, arguments=one.arguments or {}) for one in made]
    right = [Invocation(tool=one.tool, arguments=one.arguments) for one in _ordered(left, wanted, specs)]
    found = list(_traced(left, right, specs))
    return tuple(_with_order(found, specs))


def _ordered(
    made: Sequence[Invocation], wanted: Sequence[ReferenceCall], specs: dict[str, ToolSpec]
) -> list[ReferenceCall]:
    """The reference in an order that `after` allows and that follows the trial where it can.

    A call that the trial never makes keeps its place in the reference as written.
    """
    places: dict[str, list[int]] = {}
    for number, call in enumerate(made):
        places.setdefault(_key(call, specs), []).append(number)
    done: set[str] = set()
    left, order, reached = list(wanted), list[ReferenceCall](), -1
    while left:
        free = [one for one in left if set(one.after) <= done]
        met = {one.id: _next_place(places.get(_key_of(one, specs), []), reached) for one in free}
        made_next = [(place, left.index(one), one) for one in free if (place := met[one.id]) is not None]
        chosen = min(made_next)[2] if made_next and met[free[0].id] is not None else free[0]
        reached = max(reached, met[chosen.id] or reached)
        order.append(chosen)
        done.add(chosen.id)
        left.remove(chosen)
    return order


def _next_place(places: Sequence[int], reached: int) -> int | None:
    return next((place for place in places if place > reached), None)


def _key_of(call: ReferenceCall, specs: dict[str, ToolSpec]) -> str:
    return _key(Invocation(tool=call.tool, arguments=call.arguments), specs)


def _traced(left: list[Invocation], right: list[Invocation], specs: dict[str, ToolSpec]) -> Iterator[Deviation]:
    """The differences of the cheapest alignment, front to back; of a repeated call the later one is the needless."""
    rows, columns = len(left), len(right)
    cost = _costs(left, right, specs)
    row = column = 0
    while row < rows or column < columns:
        best = cost[row][column]
        both = row < rows and column < columns
        unlike = _unlike(left[row], right[column], specs) if both else 0.0
        if both and best == cost[row + 1][column + 1] + unlike:
            if unlike:
                yield _changed(row, left[row], right[column])
            row, column = row + 1, column + 1
        elif row < rows and best == cost[row + 1][column] + _needless(left[row], specs):
            kind: DeviationKind = "needless_write" if _writes(left[row], specs) else "needless_read"
            yield Deviation(kind=kind, at=row, found=left[row])
            row += 1
        else:
            yield Deviation(kind="missing_call", at=row, expected=right[column])
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


def _changed(at: int, made: Invocation, wanted: Invocation) -> Deviation:
    if made.tool != wanted.tool:
        return Deviation(kind="wrong_tool", at=at, expected=wanted, found=made)
    names = tuple(dict.fromkeys(differing_arguments(wanted.arguments, made.arguments)))
    return Deviation(kind="wrong_arguments", at=at, expected=wanted, found=made, arguments=names)


def _with_order(found: list[Deviation], specs: dict[str, ToolSpec]) -> Iterator[Deviation]:
    """A call that is missing in one place and needless in another was made in the wrong order."""
    missing = {_key(one.expected, specs) for one in found if one.kind == "missing_call" and one.expected is not None}
    for one in found:
        moved = one.kind in ("needless_write", "needless_read") and one.found is not None
        if moved and one.found is not None and _key(one.found, specs) in missing:
            yield one.model_copy(update={"kind": "wrong_order"})
        else:
            yield one


def _unlike(made: Invocation, wanted: Invocation, specs: dict[str, ToolSpec]) -> float:
    if made.tool != wanted.tool:
        return _TOOL
    if _key(made, specs) == _key(wanted, specs):
        return _MATCH
    return _WRITE_ARGUMENTS if _writes(made, specs) else _READ_ARGUMENTS


def _needless(made: Invocation, specs: dict[str, ToolSpec]) -> float:
    return _NEEDLESS_WRITE if _writes(made, specs) else _NEEDLESS_READ


def _writes(call: Invocation, specs: dict[str, ToolSpec]) -> bool:
    spec = specs.get(call.tool)
    return spec is not None and spec.effect == "write"


def _key(call: Invocation, specs: dict[str, ToolSpec]) -> str:
    """Equal for calls that are the same once the schema's defaults are filled in."""
    spec = specs.get(call.tool)
    arguments: JsonObject = call.arguments if spec is None else complete_arguments(spec, call.arguments)
    return f"{call.tool}\0{canonical_json(arguments)}"


def _shown(call: Invocation | None) -> str:
    return "nothing" if call is None else f"{call.tool}({canonical_json(call.arguments)[:160]})"
