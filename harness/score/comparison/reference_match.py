"""The calls of a trial matched with the reference of its case, whose order is given in part by `after`.

Equal calls are paired first, then calls of one tool by how few arguments differ, then writes of other tools in their
order. What is left of the reference is missing; what is left of the trial is needless: of a call that was repeated, the
later one. A missing call belongs right after the calls that it follows where the trial makes other calls of its tool
so; else beside the calls of its tool: before the next one of the reference, else after the one before.
"""

from collections.abc import Iterator, Sequence

from harness.case import FedCall, Invocation, ReferenceCall, ToolSpec
from harness.score.comparison.alignment import Deviation, call_key, changed_call, equal_pairs, invocations, is_write
from harness.score.comparison.comparing import differing_arguments


def deviations_from_reference(
    made: Sequence[FedCall], reference: Sequence[ReferenceCall] | None, tools: Sequence[ToolSpec]
) -> tuple[Deviation, ...]:
    """Every place where the calls of a trial differ from the reference, in the order of the calls.

    Empty where the case has none; an empty reference says that no call is needed.
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
        """Of a call that was made several times, the one that stands where the reference has it in its given order."""
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
            (len(differing_arguments(self._wanted[number].arguments, self._made[place].arguments)), number, place)
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
        """Where an equal call was made earlier that nothing else is paired with, and after all that the reference puts
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
        dependents = [self._places[other] for other in self._places if self._follows(other, number)]
        return max(min(dependents, default=len(self._made)), least)

    def _follows_at_once(self, numbers: Sequence[int]) -> bool:
        """Whether most of these calls were made right after the last one that they follow; True where none tells."""
        bound = [(self._places[one], self._last_predecessor(one)) for one in numbers]
        known = [place - before == 1 for place, before in bound if before >= 0]
        return 2 * sum(known) >= len(known)

    def _last_predecessor(self, number: int) -> int:
        """The place of the last call that must come before; -1 where there is none."""
        return max((self._places[other] for other in self._places if self._follows(number, other)), default=-1)

    def _follows(self, number: int, other: int) -> bool:
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
