"""The calls of a trial aligned with the calls that would have been right: where they differ, and how.

The right calls are those of a passing trial, in their order: the alignment has the least total cost, found by dynamic
programming over both sequences. A reference, which is ordered in part, is matched separately below.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

from harness.cassettes.keys import complete_arguments
from harness.scoring.json_values import differences
from harness.suite.cases import ReferenceCall
from harness.suite.interventions import FedCall, Invocation
from harness.suite.tools import ToolSpec
from harness.values import Frozen, JsonObject, canonical_json

DeviationKind = Literal[
    "wrong_tool", "wrong_arguments", "missing_call", "needless_write", "needless_read", "wrong_order", "answer_itself"
]
"""How a step differs from the right one. `needless_read` alone is not a failure. `answer_itself`: the
answer to the user is replaced, whatever calls led to it."""

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
        expected, found = _call_text(self.expected), _call_text(self.found)
        match self.kind:
            case "wrong_tool":
                return f"wrong tool: {found} instead of {expected}"
            case "wrong_arguments":
                return f"wrong arguments ({', '.join(self.arguments)}): {found} instead of {expected}"
            case "missing_call":
                return f"missing call: {expected}"
            case "wrong_order":
                return f"wrong order: {found} too late or too early"
            case "answer_itself":
                return "the answer itself"
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
            if _difference_weight(left[row], right[column], specs):
                yield changed_call(row, left[row], right[column])
        elif column < 0:
            kind: DeviationKind = "needless_write" if is_write(left[row], specs) else "needless_read"
            yield Deviation(kind=kind, at=row, found=left[row])
        else:
            yield Deviation(kind="missing_call", at=row, expected=right[column])


def equal_pairs(made: list[Invocation], wanted: list[Invocation], specs: dict[str, ToolSpec]) -> dict[int, int]:
    """Number of a wanted call -> number of the equal call that the cheapest alignment puts beside it."""
    walk = _walked(made, wanted, specs)
    return {
        column: row for row, column, pair in walk if pair and not _difference_weight(made[row], wanted[column], specs)
    }


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
        if both and best == cost[row + 1][column + 1] + _difference_weight(left[row], right[column], specs):
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
                cost[row + 1][column + 1] + _difference_weight(left[row], right[column], specs),
                cost[row + 1][column] + _needless(left[row], specs),
                cost[row][column + 1] + _MISSING,
            )
    return cost


def changed_call(at: int, made: Invocation, wanted: Invocation) -> Deviation:
    """The deviation of a call that was made in place of the right one."""
    if made.tool != wanted.tool:
        return Deviation(kind="wrong_tool", at=at, expected=wanted, found=made)
    names = tuple(dict.fromkeys(one.argument for one in differences(wanted.arguments, made.arguments)))
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


def _difference_weight(made: Invocation, wanted: Invocation, specs: dict[str, ToolSpec]) -> float:
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


def _call_text(call: Invocation | None) -> str:
    return "nothing" if call is None else f"{call.tool}({canonical_json(call.arguments)[:160]})"


# Other changes at a wrong write: if a trial's calls could be paired with the right ones in another way.


def alternative_deviations(
    made: Sequence[FedCall], found: Sequence[Deviation], right: Sequence[Invocation], tools: Sequence[ToolSpec]
) -> Iterator[Deviation]:
    """For each write that differs: that it was needless, and that the next right write belongs in its place, or before
    it. The next one is the first in the given order that no call before it made; if the write itself is that one,
    neither is tried.
    """
    specs = {tool.name: tool for tool in tools}
    calls = invocations(made)
    writes = [one for one in right if is_write(one, specs)]
    for one in found:
        here = one.found
        if here is None or one.kind == "wrong_order" or not is_write(here, specs):
            continue
        if one.expected is not None:
            yield Deviation(kind="needless_write", at=one.at, found=here)
        before = [call_key(call, specs) for call in calls[: one.at]]
        following = _first_unmade(writes, before, specs)
        if following is None or call_key(following, specs) == call_key(here, specs):
            continue
        if following != one.expected:
            yield changed_call(one.at, here, following)
        yield Deviation(kind="missing_call", at=one.at, expected=following)


def _first_unmade(writes: Sequence[Invocation], before: list[str], specs: dict[str, ToolSpec]) -> Invocation | None:
    left = list(before)
    for one in writes:
        key = call_key(one, specs)
        if key not in left:
            return one
        left.remove(key)
    return None


# The calls of a trial matched with the reference of its case, whose order is given in part by `after`.
#
# Equal calls are paired first, then calls of one tool by how few arguments differ, then writes of other tools in their
# order. What is left of the reference is missing; what is left of the trial is needless: of a call that was repeated,
# the later one. A missing call belongs right after the calls that it follows if the trial makes other calls of its tool
# so; else beside the calls of its tool: before the next one of the reference, else after the one before.


def deviations_from_reference(
    made: Sequence[FedCall], reference: Sequence[ReferenceCall] | None, tools: Sequence[ToolSpec]
) -> tuple[Deviation, ...]:
    """Every place where the calls of a trial differ from the reference, in the order of the calls.

    Empty if the case has none; an empty reference says that no call is needed.
    """
    if reference is None:
        return ()
    specs = {tool.name: tool for tool in tools}
    match = _Match(invocations(made), reference, specs)
    return tuple(sorted(match.deviations(), key=lambda one: one.at))


class _Match:
    def __init__(self, made: list[Invocation], reference: Sequence[ReferenceCall], specs: dict[str, ToolSpec]) -> None:
        self._made = made
        self._reference = reference
        self._specs = specs
        self._wanted = [Invocation(tool=one.tool, arguments=one.arguments) for one in reference]
        self._places: dict[int, int] = {}
        """Number of the reference's call -> number of the trial's."""
        self._pair_equal()
        self._pair_alike()
        self._pair_writes()
        self._pair_first_of_equal()

    def deviations(self) -> Iterator[Deviation]:
        """In any order."""
        for number, place in self._places.items():
            made, wanted = self._made[place], self._wanted[number]
            if call_key(made, self._specs) != call_key(wanted, self._specs):
                yield changed_call(place, made, wanted)
            elif (later := self._last_predecessor(number)) > place:
                yield Deviation(kind="wrong_order", at=place, found=made, belongs_at=later + 1)
        for number, wanted in enumerate(self._wanted):
            if number not in self._places:
                yield Deviation(kind="missing_call", at=self._gap(number), expected=wanted)
        for place in self._free_places():
            writes = is_write(self._made[place], self._specs)
            kind = "needless_write" if writes else "needless_read"
            yield Deviation.model_validate({"kind": kind, "at": place, "found": self._made[place]})

    def _pair_equal(self) -> None:
        """Of a call that was made several times, the one that is where the reference has it in its given order."""
        self._places |= equal_pairs(self._made, self._wanted, self._specs)
        free: dict[str, list[int]] = {}
        for place in self._free_places():
            free.setdefault(call_key(self._made[place], self._specs), []).append(place)
        for number in self._free_numbers():
            wanted = self._wanted[number]
            places = free.get(call_key(wanted, self._specs))
            if places:
                self._places[number] = places.pop(0)

    def _pair_alike(self) -> None:
        """Calls of one tool, those with the fewest differing arguments first."""
        candidates = [
            (len(differences(self._wanted[number].arguments, self._made[place].arguments)), number, place)
            for number in self._free_numbers()
            for place in self._free_places()
            if self._wanted[number].tool == self._made[place].tool
        ]
        taken: set[int] = set()
        for _, number, place in sorted(candidates):
            if number not in self._places and place not in taken:
                self._places[number] = place
                taken.add(place)

    def _pair_writes(self) -> None:
        """A write of another tool stands for the first write that is missing there."""
        for number in self._free_numbers():
            if not is_write(self._wanted[number], self._specs):
                continue
            writes = [one for one in self._free_places() if is_write(self._made[one], self._specs)]
            if writes:
                self._places[number] = writes[0]

    def _pair_first_of_equal(self) -> None:
        """If an equal call was made earlier that nothing else is paired with, and after all that the reference puts
        before it, that one is the right one, and the later one is the repetition.
        """
        for number, place in sorted(self._places.items(), key=lambda pair: pair[1]):
            key, begin = call_key(self._made[place], self._specs), self._last_predecessor(number) + 1
            earlier = (one for one in self._free_places() if begin <= one < place)
            equal = (one for one in earlier if call_key(self._made[one], self._specs) == key)
            self._places[number] = next(equal, place)

    def _gap(self, number: int) -> int:
        """The number of the call before which a missing one belongs."""
        tool = self._wanted[number].tool
        own = [other for other in self._places if self._wanted[other].tool == tool]
        after = [self._places[other] for other in own if other > number]
        before = [self._places[other] for other in own if other < number]
        least = self._last_predecessor(number) + 1
        if least and self._follows_at_once(own):
            return least
        if after:
            return max(min(after), least)
        if before:
            return max(max(before) + 1, least)
        dependents = [self._places[other] for other in self._places if self._must_follow(other, number)]
        return max(min(dependents, default=len(self._made)), least)

    def _follows_at_once(self, numbers: Sequence[int]) -> bool:
        """Whether most of these calls were made right after the last one that they follow; True if none tells."""
        bound = [(self._places[one], self._last_predecessor(one)) for one in numbers]
        known = [place - before == 1 for place, before in bound if before >= 0]
        return 2 * sum(known) >= len(known)

    def _last_predecessor(self, number: int) -> int:
        """The place of the last call that must come before; -1 if there is none."""
        return max((self._places[other] for other in self._places if self._must_follow(number, other)), default=-1)

    def _must_follow(self, number: int, other: int) -> bool:
        """Whether the reference puts `other` before `number`, directly or not."""
        ids = {one.id: place for place, one in enumerate(self._reference)}
        left, seen = [number], set[int]()
        while left:
            for name in self._reference[left.pop()].after:
                place = ids[name]
                if place == other:
                    return True
                if place not in seen:
                    seen.add(place)
                    left.append(place)
        return False

    def _free_numbers(self) -> list[int]:
        return [number for number in range(len(self._wanted)) if number not in self._places]

    def _free_places(self) -> list[int]:
        taken = set(self._places.values())
        return [place for place in range(len(self._made)) if place not in taken]
