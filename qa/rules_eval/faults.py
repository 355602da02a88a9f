"""Single faults planted into passing trials, as rows of events: each changes calls alone."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from harness.scoring.rules.events import Event, Row
from harness.scoring.rules.features import plain_arguments


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A trial with one fault."""

    fault: str
    row: Row
    step: int
    """Of the changed call, or of the first one after a call that is gone."""
    write: bool
    """Whether it changes a write, or a read that a later write may depend on."""


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


def _made(fault: str, row: Row, events: list[Event], place: int, world: World) -> Planted:
    after = events[min(place, len(events) - 1)] if events else row.events[place]
    tool = row.events[min(place, len(row.events) - 1)].name
    return Planted(fault=fault, row=Row(tuple(events)), step=after.step, write=tool in world.writes)


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
    return _made("skipped_check", row, [one for one in row.events if one.name != gone], place, world)


def _early_stop(row: Row, world: World, chosen: random.Random) -> Planted | None:
    """Ends before the last write."""
    del chosen
    writes = [place for place in row.calls if row.events[place].name in world.writes]
    if not writes:
        return None
    return _made("early_stop", row, list(row.events[: writes[-1]]), writes[-1], world)


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
                return _made(fault, row, events, place, world)
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
    return _made("wrong_tool", row, events, place, world)


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
    return Planted(fault="extra_write", row=Row(tuple(events)), step=events[place].step, write=True)


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
    return Planted(fault="late_check", row=Row(tuple(events)), step=row.events[writes[0]].step, write=True)


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
