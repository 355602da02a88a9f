"""Joins the gateway's spans of calls with the calls that model replies name.

An agent decides how many there are of both, so no text is parsed twice, and calls are found by their arguments.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from harness.values import JsonObject, canonical_json

_SEPARATORS = "_-./:"


class NamedCall(Protocol):
    """A call as a model's reply has it."""

    name: str

    @property
    def arguments(self) -> JsonObject | None: ...


class _Calls:
    """The calls that may be the call of one tool; of several that fit, the latest reply's first one counts."""

    def __init__(self, calls: Sequence[tuple[int, NamedCall]]) -> None:
        """`calls`: each with the start of its reply, in the order in which they count, the last one first."""
        self.starts = [start for start, _ in calls]
        self.calls = [call for _, call in calls]
        self.arguments = [call.arguments or {} for call in self.calls]
        self.all = list(range(len(calls)))
        self.equal: defaultdict[str, list[int]] = defaultdict(list)
        for place, arguments in enumerate(self.arguments):
            self.equal[canonical_json(arguments)].append(place)
        self._items: list[frozenset[tuple[str, str]]] | None = None

    @property
    def items(self) -> list[frozenset[tuple[str, str]]]:
        """The arguments of each call that have a value."""
        if self._items is None:
            self._items = [
                _items_of({name: value for name, value in one.items() if value is not None}) for one in self.arguments
            ]
        return self._items


class JoinedCalls:
    """Which call each span belongs to: one with equal arguments, else one whose arguments a framework has completed,
    else one whose arguments it has rewritten; each over all spans before the next.
    """

    def __init__(self, replies: Sequence[tuple[int, Sequence[NamedCall]]]) -> None:
        """`replies`: the start of each reply, and its calls."""
        ordered = sorted(replies, key=lambda reply: reply[0])
        self._calls = [(start, call) for start, calls in ordered for call in reversed(calls)]
        self._by_name: dict[str, _Calls] = {}
        self._claimed: set[int] = set()

    def join(self, spans: Sequence[tuple[int, str, JsonObject]]) -> Mapping[int, NamedCall]:
        """`spans`: start, name and arguments of each. The place of a span -> its call."""
        found: dict[int, NamedCall] = {}
        for alike in (self._equal, self._completed, self._any):
            for place, (start, name, arguments) in enumerate(spans):
                if place not in found:
                    call = self._first(alike, start, name, arguments)
                    if call is not None:
                        found[place] = call
        return found

    def _first(
        self, alike: Callable[[_Calls, JsonObject, int], int | None], start: int, name: str, arguments: JsonObject
    ) -> NamedCall | None:
        if name not in self._by_name:
            self._by_name[name] = _Calls([one for one in self._calls if same_name(one[1].name, name)])
        calls = self._by_name[name]
        place = alike(calls, arguments, bisect_right(calls.starts, start))
        if place is None:
            return None
        self._claimed.add(id(calls.calls[place]))
        return calls.calls[place]

    def _equal(self, calls: _Calls, arguments: JsonObject, before: int) -> int | None:
        return self._taken(calls, calls.equal.get(canonical_json(arguments), []), before)

    def _any(self, calls: _Calls, arguments: JsonObject, before: int) -> int | None:
        del arguments
        return self._taken(calls, calls.all, before)

    def _completed(self, calls: _Calls, arguments: JsonObject, before: int) -> int | None:
        made = _items_of(arguments)
        for place in range(before - 1, -1, -1):
            if calls.items[place] <= made and id(calls.calls[place]) not in self._claimed:
                return place
        return None

    def _taken(self, calls: _Calls, places: list[int], before: int) -> int | None:
        """The last of the places before `before` that is free; those that are not are removed."""
        at = bisect_left(places, before) - 1
        while at >= 0:
            place = places.pop(at)
            if id(calls.calls[place]) not in self._claimed:
                return place
            at -= 1
        return None


def same_name(given: str, name: str) -> bool:
    """Whether the names are equal up to a server prefix of frameworks: `mcp__harness__look` is `look`."""
    return given == name or (given.endswith(name) and given[-len(name) - 1] in _SEPARATORS)


def _items_of(arguments: JsonObject) -> frozenset[tuple[str, str]]:
    return frozenset((name, canonical_json(value)) for name, value in arguments.items())
