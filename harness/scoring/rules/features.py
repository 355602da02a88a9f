"""What one passing trial gives to learn rules from: which candidates it keeps, and where its values come from."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from pydantic import JsonValue

from harness.scoring.rules.events import Row
from harness.scoring.rules.language import (
    ANYWHERE,
    Source,
    argument_at,
    as_number,
    named_by_user,
    texts_in,
    value_key,
    values_of,
)

Key = tuple[str, ...]
"""A template and its parts: `("before", "lookup", "add")`."""

_TOKEN: Final = re.compile(r"\w+(?:[-.:/]\w+)*")
_MOST_SOURCES: Final = 200
"""Paths of earlier answers that one value is looked for at."""


class Sourced(NamedTuple):
    """The value of one call's argument, and where it stood before."""

    value: str
    sources: frozenset[Source]
    named: bool
    """Whether the user had named it."""


@dataclass(kw_only=True)
class Trial:
    """What one passing trial gives to learn from. The row itself is not kept."""

    case: str
    category: str
    occasions: set[Key] = field(default_factory=set)
    held: set[Key] = field(default_factory=set)
    writes: frozenset[str] = frozenset()
    """The tools of the suite that write."""
    counts: Counter[str] = field(default_factory=Counter)
    """Calls by tool."""
    values: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    """Tool and argument -> the values."""
    calls: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    distinct: dict[Key, set[str]] = field(default_factory=dict)
    """Candidates about values -> the values that support them, without those that the user named."""
    sourced: dict[tuple[str, str], list[Sourced]] = field(default_factory=lambda: defaultdict(list))
    """Tool and argument -> where the value of each call may come from."""


def trial_of(row: Row, case: str, category: str, writes: frozenset[str] = frozenset()) -> Trial:
    """Reads a passing trial. Linear in its calls, for answers of bounded size."""
    found = Trial(case=case, category=category, writes=writes)
    tools = [row.events[place].name for place in row.calls]
    found.counts.update(tools)
    _order(row, found)
    _Values(row, found).read()
    return found


def _order(row: Row, found: Trial) -> None:
    tools = list(found.counts)
    first = {tool: row.places[tool][0] for tool in tools}
    last = {tool: row.places[tool][-1] for tool in tools}
    earlier = first | ({"reply": row.places["reply"][0]} if "reply" in row.places else {})
    found.occasions |= {("trial",)}
    found.held |= {("require", tool) for tool in tools}
    if row.calls:
        found.occasions |= {("calls",)}
        found.held |= {("first", row.events[row.calls[0]].name), ("last", row.events[row.calls[-1]].name)}
    for tool in tools:
        found.occasions.add(("used", tool))
        found.held |= {("before", other, tool) for other, place in earlier.items() if place < first[tool]}
        found.held |= {("then", tool, other) for other in tools if last[other] > last[tool]}


class _Values:
    """Where the values of a trial's arguments come from."""

    def __init__(self, row: Row, found: Trial) -> None:
        self._row, self._found = row, found
        self._answered: dict[str, dict[tuple[str, str], list[int]]] = defaultdict(dict)
        """Value -> (tool, path of its answer) -> the places."""
        self._asked: dict[str, set[tuple[str, str]]] = defaultdict(set)
        """Value -> (tool, argument) of earlier calls."""
        self._numbers: dict[str, dict[str, tuple[float, float]]] = {}
        """Tool -> path -> least and greatest number of its latest answer."""
        self._candidates: dict[Key, list[set[Key]]] = defaultdict(list)

    def read(self) -> None:
        for place in self._row.calls:
            self._take_call(place)
            self._take_answer(place)
        for occasion, sets in self._candidates.items():
            self._found.occasions.add(occasion)
            self._found.held |= set.intersection(*sets)

    def _take_call(self, place: int) -> None:
        event, found = self._row.events[place], self._found
        own = {
            name: value
            for name, one in plain_arguments(event.arguments)
            if (value := value_key(one)) is not None and "(" not in name and " " not in name
        }
        amounts = {name for name, one in plain_arguments(event.arguments) if isinstance(one, int | float)}
        found.calls.append((event.name, own))
        for name, value in own.items():
            found.values.setdefault((event.name, name), set()).add(value)
            named = named_by_user(self._row, place, value)
            found.sourced[event.name, name].append(Sourced(value, frozenset(self._sources(name, value, own)), named))
            keys = set(self._relations(event.name, name, value, numbers=name in amounts))
            for key in keys if not named else ():
                found.distinct.setdefault(key, set()).add(value)
            self._candidates["argument", event.name, name].append(keys)
        for name, value in own.items():
            self._asked[value].add((event.name, name))

    def _sources(self, name: str, value: str, own: Mapping[str, str]) -> Iterator[Source]:
        for (tool, path), places in self._answered.get(value, {}).items():
            yield Source(tool, path)
            for same in own:
                if same != name and any(argument_at(self._row, at, same) == own[same] for at in places):
                    yield Source(tool, path, same)

    def _relations(self, tool: str, name: str, value: str, *, numbers: bool) -> Iterator[Key]:
        for other, argument in self._asked.get(value, ()):
            if other != tool:
                yield "bound_before", other, argument, tool, name
        number = as_number(value) if numbers else None
        if number is None:
            return
        for other, paths in self._numbers.items():
            for path, (least, most) in paths.items():
                if number <= most:
                    yield "<=", tool, name, other, path
                if number >= least:
                    yield ">=", tool, name, other, path
                if number in (least, most):
                    yield "=", tool, name, other, path

    def _take_answer(self, place: int) -> None:
        tool, known = self._row.events[place].name, values_of(self._row, place)
        numbers: dict[str, tuple[float, float]] = {}
        for path, values in known.items():
            for value in values:
                where = self._answered[value]
                for source in {(tool, path or ANYWHERE), (tool, ANYWHERE)}:
                    if source in where or len(where) < _MOST_SOURCES:
                        where.setdefault(source, []).append(place)
            found = [one for value in values if (one := as_number(value)) is not None]
            if found and "*" not in path and path:
                numbers[path] = (min(found), max(found))
        self._numbers[tool] = numbers
        for text in texts_in(self._row.events[place].content):
            for token in {*_TOKEN.findall(text[:20_000])} if " " in text else ():
                if len(token) >= 3 and (key := value_key(token)) is not None:
                    self._answered[key].setdefault((tool, ANYWHERE), []).append(place)


def plain_arguments(arguments: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """(path, value) of the arguments that are no lists, those inside of objects too."""
    waiting = [("", arguments)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict) and len(waiting) < 200:
            waiting += [(f"{path}.{name}" if path else name, one) for name, one in value.items() if "." not in name]
        elif path and not isinstance(value, dict | list):
            yield path, value
