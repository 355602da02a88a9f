"""Single faults planted into passing trials, as rows of events: each changes calls alone.

The true step of a call that is made otherwise, or too much, is its own. A call that is not made, or made too late, has
none: true is each step from the call that stands in its place to the first write after it, the one that went ahead
without it; or to the end, if there is no such write. At the end it is each step from the last call.

A fault is harmful if it changes what is written, or takes a read away from before a write that has a value of the
read's arguments or answer. In a trial that writes nothing, each is.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from harness.scoring.rules.events import Event, Row
from harness.scoring.rules.features import plain_arguments
from harness.scoring.rules.language import leaves


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A trial with one fault."""

    fault: str
    row: Row
    first: int
    last: int
    """The true steps; see above."""
    harmful: bool = True


@dataclass(frozen=True, kw_only=True)
class World:
    """What a fault may take from: other passing trials of the suite."""

    rows: Sequence[Row]
    writes: frozenset[str]

    def calls(self) -> Iterator[Event]:
        return (event for row in self.rows for event in row.events if event.is_call)


def planted(row: Row, world: World, chosen: random.Random) -> Iterator[Planted]:
    """One of each fault that the trial has a place for."""
    for make in _FAULTS:
        found = make(row, world, chosen)
        if found is not None:
            yield found


def _changed(fault: str, events: list[Event], place: int) -> Planted:
    """A call was made otherwise, or too much."""
    step = events[place].step
    return Planted(fault=fault, row=Row(tuple(events)), first=step, last=step)


def _omitted(fault: str, row: Row, events: list[Event], place: int, writes: frozenset[str]) -> Planted | None:
    """What stood at a place was not made, or made later."""
    if not events:
        return None
    rest = events[place:] or events[max((at for at, one in enumerate(events) if one.is_call), default=-1) :]
    write = next((one for one in rest if one.name in writes), rest[-1])
    gone = [one for one in row.events[place:] if one.name == row.events[place].name]
    told = {value for one in gone for value in _values(one)}
    harmful = gone[0].name in writes or any(told & _values(one) for one in rest if one.name in writes)
    return Planted(fault=fault, row=Row(tuple(events)), first=rest[0].step, last=write.step, harmful=harmful)


def _values(event: Event) -> set[str]:
    """What a call names and is answered; short values are equal by chance."""
    told = [value for _, value in (*leaves(event.arguments), *leaves(event.content))]
    return {value for value in told if len(value) > 2}


def _skipped_check(row: Row, world: World, chosen: random.Random) -> Planted | None:
    """All calls of a read go that stands before a write."""
    writes = [place for place in row.calls if row.events[place].name in world.writes]
    if not writes:
        return None
    reads = sorted({row.events[at].name for at in row.calls if at < writes[-1]} - world.writes)
    if not reads:
        return None
    gone = chosen.choice(reads)
    place = row.places[gone][0]
    return _omitted("skipped_check", row, [one for one in row.events if one.name != gone], place, world.writes)


def _early_stop(row: Row, world: World, chosen: random.Random) -> Planted | None:
    """Ends before the last write."""
    del chosen
    writes = [place for place in row.calls if row.events[place].name in world.writes]
    if not writes:
        return None
    return _omitted("early_stop", row, list(row.events[: writes[-1]]), writes[-1], world.writes)


def _changed_argument(fault: str, value: Callable[[JsonValue, Event, str, World, random.Random], JsonValue]):  # type: ignore[no-untyped-def]
    def make(row: Row, world: World, chosen: random.Random) -> Planted | None:
        places = [
            (place, name, old)
            for place in row.calls
            for name, old in plain_arguments(row.events[place].arguments)
            if "." not in name and not isinstance(old, bool) and old not in (None, "")
        ]
        written = [one for one in places if row.events[one[0]].name in world.writes]
        chosen.shuffle(written)
        for place, name, old in written or chosen.sample(places, len(places)):
            event = row.events[place]
            new = value(old, event, name, world, chosen)
            if new is not None and new != old:
                events = list(row.events)
                events[place] = replace(event, arguments={**(event.arguments or {}), name: new})
                return _changed(fault, events, place)
        return None

    return make


def _invented(old: JsonValue, event: Event, name: str, world: World, chosen: random.Random) -> JsonValue:
    del event, name, world
    if isinstance(old, int | float):
        return old + chosen.choice([1, 7, 13])
    if isinstance(old, str) and " " not in old:
        letters = "abcdefghjkmnpqrstuvwxyz"
        return "".join(
            chosen.choice("123456789") if one.isdigit() else chosen.choice(letters) if one.isalpha() else one
            for one in old
        )
    return None


def _of_another(old: JsonValue, event: Event, name: str, world: World, chosen: random.Random) -> JsonValue:
    del old
    values = [
        value
        for other in world.calls()
        if other.name == event.name
        for at, value in plain_arguments(other.arguments)
        if at == name
    ]
    return chosen.choice(values) if values else None


def _amount(old: JsonValue, event: Event, name: str, world: World, chosen: random.Random) -> JsonValue:
    del event, name, world
    if isinstance(old, bool) or not isinstance(old, int | float):
        return None
    return round(old * chosen.choice([0.5, 1.5, 2, 10]), 2)


def _wrong_tool(row: Row, world: World, chosen: random.Random) -> Planted | None:
    """A write is made by another tool of the suite."""
    places = [place for place in row.calls if row.events[place].name in world.writes] or list(row.calls)
    tools = sorted({event.name for event in world.calls()})
    if not places or len(tools) < 2:
        return None
    place = chosen.choice(places)
    other = chosen.choice([tool for tool in tools if tool != row.events[place].name])
    events = list(row.events)
    events[place] = replace(events[place], name=other)
    return _changed("wrong_tool", events, place)


def _extra_write(row: Row, world: World, chosen: random.Random) -> Planted | None:
    """A write of another trial is made too, after the last call."""
    others = [event for event in world.calls() if event.name in world.writes]
    if not others or not row.calls:
        return None
    extra = chosen.choice(others)
    own = {(event.name, str(event.arguments)) for event in row.events if event.is_call}
    if (extra.name, str(extra.arguments)) in own:
        return None
    place = row.calls[-1] + 1
    events = list(row.events)
    events.insert(place, replace(extra, step=row.events[row.calls[-1]].step))
    return _changed("extra_write", events, place)


def _late_check(row: Row, world: World, chosen: random.Random) -> Planted | None:
    """A read that stood before the first write comes after the last one."""
    writes = [place for place in row.calls if row.events[place].name in world.writes]
    if not writes:
        return None
    reads = sorted({row.events[at].name for at in row.calls if at < writes[0]} - world.writes)
    if not reads:
        return None
    moved = chosen.choice(reads)
    step = row.events[writes[-1]].step
    late = [replace(one, step=step) for one in row.events if one.name == moved]
    before = [one for one in row.events[: writes[-1] + 1] if one.name != moved]
    after = [one for one in row.events[writes[-1] + 1 :] if one.name != moved]
    events = [*before, *late, *after]
    return _omitted("late_check", row, events, row.places[moved][0], world.writes)


_FAULTS = (
    _skipped_check,
    _early_stop,
    _changed_argument("invented_argument", _invented),
    _changed_argument("argument_of_another", _of_another),
    _changed_argument("other_amount", _amount),
    _wrong_tool,
    _extra_write,
    _late_check,
)
