"""The notation of process rules, and whether a row of events keeps one.

A rule is one line. `A` and `B` are tools or events, such as `lookup`, `plan_create` or `add{"item": "egg"}`.

```
require A                 A happens               require A 2 times         it happens at least so often
never A, B                none of them happens    only A, B                 no other tool is called
require A or B            one of them happens     require A or B, not both  exactly one of them happens
first A, last A or B      the first, the last call of the trial is one of these
A at most 2 times
A before B                if B happens, A has happened before it
A then B                  after each A, B happens
never A after B           never A before B        no A until the first B
get(id) before cancel(id)                  a call of `get` with the same `id` stands before each call of `cancel`
refund(amount) in [5, 10]                  each call has it, and its value is one of these
refund(amount) is check->max_refund        each call has it, from this path of an earlier answer of `check`
refund(amount) <= check->max_refund        the number is not larger than the one of its latest answer; also `>=`
refund(amount) is check->max_refund of the same order    that answer's call had the same `order` as this one
refund(amount) is check->max_refund or quote->price or the user's     one of these, or the user has named it before
refund(amount) is the user's               the user has named each value before
```
A `*` in a path stands for every item of a list and every member of an object; `check->*` is any value of the answer,
or a text in it.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from pydantic import JsonValue

from harness.scoring.json_values import json_contains
from harness.scoring.rules.events import Event, Row
from harness.values import JsonObject, canonical_json

State = Literal["held", "broken", "no_occasion"]
"""`no_occasion`: nothing happened that the rule speaks of."""


@dataclass(frozen=True, kw_only=True)
class Kept:
    """Whether a row keeps a rule; if it is broken, at which step and why."""

    state: State
    step: int | None = None
    reason: str = ""
    at_end: bool = False
    """Whether it is broken by what did not happen until the end."""


HELD: Final = Kept(state="held")
NO_OCCASION: Final = Kept(state="no_occasion")


@dataclass(frozen=True, kw_only=True)
class Named:
    """An event by name, with arguments that it must at least have."""

    name: str
    arguments: JsonObject
    only_call: bool

    def at(self, row: Row) -> list[int]:
        """Its places in a row."""
        places = row.places.get(self.name, [])
        if not self.arguments and not self.only_call:
            return places
        return [place for place in places if self._fits(row.events[place])]

    def _fits(self, event: Event) -> bool:
        if self.only_call and not event.is_call:
            return False
        return not self.arguments or json_contains(event.arguments, self.arguments)

    def likeness(self, event: Event) -> int:
        """How many of the arguments an event has."""
        own = event.arguments or {}
        return sum(json_contains(own, {name: value}) for name, value in self.arguments.items())


class Source(NamedTuple):
    """Where a value may come from: a path of earlier answers of a tool."""

    tool: str
    path: str
    same: str = ""
    """An argument that both calls have with the same value; empty: any call of the tool."""

    def __str__(self) -> str:
        tail = f" of the same {self.same}" if self.same else ""
        return f"{written_name(self.tool)}->{self.path}{tail}"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule, read. Which fields have a meaning depends on the form."""

    text: str
    form: str
    names: tuple[Named, ...] = ()
    count: int = 1
    argument: str = ""
    """Of the call that is judged: the first of `names`, or the second of a bound `before`."""
    earlier: str = ""
    """Of a bound `before`: the argument of the earlier call."""
    values: tuple[JsonValue, ...] = ()
    sources: tuple["Source", ...] = ()
    or_user: bool = False

    @property
    def reads_values(self) -> bool:
        """Whether it asks for more than the names of what happened."""
        return bool(self.argument) or any(named.arguments for named in self.names)

    def kept(self, row: Row) -> Kept:
        """Whether a row keeps the rule."""
        return _FORMS[self.form](self, row)

    def instead(self, row: Row, known: Collection[int]) -> Kept | None:
        """Of a broken `require A{...}`: the call that was made instead, among those that are not known to be right; the
        one of A that comes nearest, or one of another tool with these very arguments. None if there is none.
        """
        wanted = self.names[0]
        others = [place for place in row.calls if wanted.arguments and place not in known]
        own = [place for place in others if row.events[place].name == wanted.name]
        if own:
            nearest = max(own, key=lambda place: wanted.likeness(row.events[place]))
            return _broken(row, nearest, "has other arguments")
        alike = [place for place in others if wanted.likeness(row.events[place]) == len(wanted.arguments)]
        return _broken(row, alike[0], f"was made instead of {wanted.name}") if alike else None


def _broken(row: Row, place: int | None, reason: str) -> Kept:
    if place is None:
        last = row.events[-1].step if row.events else None
        return Kept(state="broken", step=last, reason=reason, at_end=True)
    event = row.events[place]
    return Kept(state="broken", step=event.step, reason=f"{event.name} (step {event.step}) {reason}")


def _before(rule: Rule, row: Row) -> Kept:
    first, second = (named.at(row) for named in rule.names)
    if not second:
        return NO_OCCASION
    return _broken(row, second[0], "came first") if not first or first[0] > second[0] else HELD


def _never_after(rule: Rule, row: Row) -> Kept:
    first, second = (named.at(row) for named in rule.names)
    if not first or not second:
        return NO_OCCASION
    late = next((place for place in first if place > second[0]), None)
    return HELD if late is None else _broken(row, late, f"came after {rule.names[1].name}")


def _never_before(rule: Rule, row: Row) -> Kept:
    first, second = (named.at(row) for named in rule.names)
    if not first:
        return NO_OCCASION
    early = not second or first[0] < second[0]
    return _broken(row, first[0], "came before") if early else HELD


def _then(rule: Rule, row: Row) -> Kept:
    first, second = (named.at(row) for named in rule.names)
    if not first:
        return NO_OCCASION
    if second and second[-1] > first[-1]:
        return HELD
    event = row.events[first[-1]]
    following = next((place for place in row.calls if place > first[-1]), first[-1])
    reason = f"{event.name} (step {event.step}) was not followed by {rule.names[1].name}"
    return Kept(state="broken", step=row.events[following].step, reason=reason, at_end=True)


def _require(rule: Rule, row: Row) -> Kept:
    named = rule.names[0]
    happened = named.at(row)
    if len(happened) >= rule.count:
        return HELD
    return _broken(row, None, f"{named.name} happened {len(happened)} times")


def _choice(rule: Rule, row: Row) -> Kept:
    happened = [named.name for named in rule.names if named.at(row)]
    return HELD if happened else _broken(row, None, "none of them happened")


def _exclusive(rule: Rule, row: Row) -> Kept:
    happened = [places for named in rule.names if (places := named.at(row))]
    if len(happened) == 1:
        return HELD
    return _broken(row, happened[1][0], "happened too") if happened else _broken(row, None, "none of them happened")


def _forbidden(rule: Rule, row: Row) -> Kept:
    happened = sorted(place for named in rule.names for place in named.at(row))
    return _broken(row, happened[0], "happened") if happened else HELD


def _at_most(rule: Rule, row: Row) -> Kept:
    places = rule.names[0].at(row)
    if not places:
        return NO_OCCASION
    return HELD if len(places) <= rule.count else _broken(row, places[rule.count], f"is call {rule.count + 1}")


def _only(rule: Rule, row: Row) -> Kept:
    known = {named.name for named in rule.names}
    other = next((place for place in row.calls if row.events[place].name not in known), None)
    if not row.calls:
        return NO_OCCASION
    return HELD if other is None else _broken(row, other, "is none of these tools")


def _first(rule: Rule, row: Row) -> Kept:
    return _at_end(rule, row, 0)


def _last(rule: Rule, row: Row) -> Kept:
    return _at_end(rule, row, -1)


def _at_end(rule: Rule, row: Row, end: int) -> Kept:
    if not row.calls:
        return NO_OCCASION
    place = row.calls[end]
    fits = any(place in named.at(row) for named in rule.names)
    return HELD if fits else _broken(row, place, f"is the {rule.form} call")


def _bound_before(rule: Rule, row: Row) -> Kept:
    earlier, later = rule.names
    seen = [(place, value) for place in earlier.at(row) if (value := argument_at(row, place, rule.earlier)) is not None]
    return _each(rule, row, later, lambda place, value: any(at < place and one == value for at, one in seen))


def _in(rule: Rule, row: Row) -> Kept:
    known = {value_key(value) for value in rule.values}
    return _each(rule, row, rule.names[0], lambda _, value: value in known)


def _is(rule: Rule, row: Row) -> Kept:
    def fits(place: int, value: str) -> bool:
        if rule.or_user and named_by_user(row, place, value):
            return True
        return any(
            _stands_in(row, at, source.path, value) for source in rule.sources for at in _answers(source, row, place)
        )

    return _each(rule, row, rule.names[0], fits)


def _at_most_value(rule: Rule, row: Row) -> Kept:
    (source,) = rule.sources

    def fits(place: int, value: str) -> bool:
        number = as_number(value)
        at = next(_answers(source, row, place), None)
        limits = [] if at is None else [as_number(one) for one in values_of(row, at).get(source.path, ())]
        known = [one for one in limits if one is not None]
        if number is None or not known:
            return False
        return number <= max(known) if rule.form == "<=" else number >= min(known)

    return _each(rule, row, rule.names[0], fits)


def _each(rule: Rule, row: Row, named: Named, fits: Callable[[int, str], bool]) -> Kept:
    """Whether each value of the argument fits; a call without it breaks `in` and `is`, and is no occasion of others."""
    state = NO_OCCASION
    for place in named.at(row):
        value = argument_at(row, place, rule.argument)
        if value is None:
            if rule.form in ("in", "is"):
                return _broken(row, place, f"has no {rule.argument}")
            continue
        if not fits(place, value):
            return _broken(row, place, f"has {rule.argument} = {value[:80]}")
        state = HELD
    return state


def _answers(source: Source, row: Row, place: int) -> Iterator[int]:
    """The places of earlier calls of the source, the latest first."""
    own = argument_at(row, place, source.same) if source.same else None
    for at in reversed(row.places.get(source.tool, ())):
        if at < place and (not source.same or (own is not None and argument_at(row, at, source.same) == own)):
            yield at


_FORMS: Final[dict[str, Callable[[Rule, Row], Kept]]] = {
    "before": _before,
    "never_after": _never_after,
    "never_before": _never_before,
    "then": _then,
    "require": _require,
    "choice": _choice,
    "exclusive": _exclusive,
    "never": _forbidden,
    "at_most": _at_most,
    "only": _only,
    "first": _first,
    "last": _last,
    "bound_before": _bound_before,
    "in": _in,
    "is": _is,
    "<=": _at_most_value,
    ">=": _at_most_value,
}

OF_THE_WHOLE: Final = frozenset({"require", "choice", "exclusive", "last", "then"})
"""Forms that are broken by what does not happen until the trial's end."""

# Values as rules compare them: a number and its text are one, and spaces around a text have no meaning.

_LONGEST_VALUE: Final = 300
_SHORT: Final = 3
"""Characters below which a value is found in a text by chance."""
ANYWHERE: Final = "*"
"""The path that means any value of an answer, or a text in it."""
_MOST_VALUES: Final = 2_000
"""Values of one answer that are looked at."""


def value_key(value: JsonValue) -> str | None:
    """A value by which others are found: equal for equal numbers, however they are written. None for truth values,
    null, empty and long texts, objects and lists.
    """
    if isinstance(value, bool) or value is None or isinstance(value, list | dict):
        return None
    text = value.strip() if isinstance(value, str) else str(value)
    if not text or len(text) > _LONGEST_VALUE:
        return None
    if as_number(text) is None:
        return text
    digits = f"{Decimal(text):f}"  # exact: a float has no room for long numbers
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?")


def as_number(text: str) -> float | None:
    """The number that a text is; None for any other text, and for digits with leading zeros, which are a name."""
    return float(text) if _NUMBER.fullmatch(text) else None


def argument_at(row: Row, place: int, path: str) -> str | None:
    """The value of a call's argument, as it is compared; None if it has none."""
    found: JsonValue = row.events[place].arguments
    for part in path.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return value_key(found)


def leaves(content: JsonValue) -> Iterator[tuple[str, str]]:
    """(path, value) of every plain value in an answer; a text that is JSON is read. Lists give `*`."""
    waiting: list[tuple[str, JsonValue]] = [("", parsed(content))]
    for _ in range(_MOST_VALUES):
        if not waiting:
            return
        path, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(f"{path}.{name}" if path else name, one) for name, one in value.items() if "." not in name]
        elif isinstance(value, list):
            waiting += [(f"{path}.*" if path else "*", one) for one in value[:_MOST_VALUES]]
        elif (key := value_key(value)) is not None:
            yield path, key


def parsed(content: JsonValue) -> JsonValue:
    """An answer as data: the JSON in a text, and the texts of an MCP answer as one."""
    if isinstance(content, str) and content[:1] in "{[":
        try:
            return json.loads(content)  # type: ignore[no-any-return]
        except (ValueError, RecursionError):
            return content
    if isinstance(content, list) and content and all(_is_text_part(one) for one in content):
        return parsed("\n".join(str(one["text"]) for one in content if isinstance(one, dict)))
    return content


def _is_text_part(value: JsonValue) -> bool:
    return isinstance(value, dict) and value.get("type") == "text" and isinstance(value.get("text"), str)


def values_of(row: Row, place: int) -> dict[str, set[str]]:
    """The values of a call's answer by path, read once."""
    known = row.read.get(place)
    if known is None:
        known = row.read[place] = {}
        for path, value in leaves(row.events[place].content):
            known.setdefault(path, set()).add(value)
    return known


def _stands_in(row: Row, place: int, path: str, value: str) -> bool:
    """Whether a value is at a path of a call's answer; with `*` also as words of a text."""
    known = values_of(row, place)
    if path != ANYWHERE:
        return value in known.get(path, ())
    if any(value in values for values in known.values()):
        return True
    return any(has_words(one, value) for one in texts_in(row.events[place].content))


def texts_in(content: JsonValue) -> Iterator[str]:
    """The texts of an answer, of any length."""
    waiting: list[JsonValue] = [parsed(content)]
    for _ in range(_MOST_VALUES):
        if not waiting:
            return
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value[:_MOST_VALUES]


def has_words(text: str, value: str) -> bool:
    """Whether a value stands in a text by itself, in any case of letters; never for one that is found by chance."""
    if len(value) < _SHORT:
        return False
    low, sought = text.casefold(), value.casefold()
    at = low.find(sought)
    while at >= 0:
        end = at + len(sought)
        if not (low[at - 1 : at].isalnum() or low[end : end + 1].isalnum()):
            return True
        at = low.find(sought, at + 1)
    return False


def named_by_user(row: Row, place: int, value: str) -> bool:
    """Whether the user has written a value before a place of the row."""
    return any(at < place and has_words(row.events[at].text, value) for at in row.places.get("user", ()))


# The notation.

_NAME: Final = r'(?:tool:)?(?:[A-Za-z_][\w.:/]*(?:-[\w.:/]+)*|"[^"\n]+")'
_EVENT: Final = rf"({_NAME}(?:\s*\{{.*\}})?)"
_ARGUMENT: Final = rf"({_NAME})\(([^()\s]+)\)"
_SOURCE: Final = rf"({_NAME})->(\S+)(?:\s+of\s+the\s+same\s+(\S+))?"
_NOTATION: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (form, re.compile(pattern))
    for form, pattern in (
        ("bound_before", rf"{_ARGUMENT}\s+before\s+{_ARGUMENT}"),
        ("in", rf"{_ARGUMENT}\s+in\s+(\[.*\])"),
        ("is", rf"{_ARGUMENT}\s+is\s+(.*?)((?:\s+or\s+)?the\s+user's)?"),
        ("<=", rf"{_ARGUMENT}\s+<=\s+(.+)"),
        (">=", rf"{_ARGUMENT}\s+>=\s+(.+)"),
        ("never_after", rf"never\s+{_EVENT}\s+after\s+{_EVENT}"),
        ("never_before", rf"never\s+{_EVENT}\s+before\s+{_EVENT}"),
        ("exclusive", r"require\s+(.+?),\s+not\s+both"),
        ("choice", r"require\s+(.+\sor\s.+)"),
        ("require", rf"require\s+{_EVENT}(?:\s+(\d+)\s+times?)?"),
        ("at_most", rf"{_EVENT}\s+at\s+most\s+(\d+)\s+times?"),
        ("before", rf"{_EVENT}\s+before\s+{_EVENT}"),
        ("then", rf"{_EVENT}\s+then\s+{_EVENT}"),
        ("never", r"(?:never|forbid)\s+(.+)"),
        ("only", r"only\s+(.+)"),
        ("first", r"first\s+(.+)"),
        ("last", r"last\s+(.+)"),
    )
)
_SEPARATOR: Final = re.compile(rf"\s*(?:,|\sor\s)\s*(?={_NAME})")
HELP: Final = (
    "a rule is one of: A before B; A then B; never A after B; never A before B; require A; require A 2 times; "
    "require A or B; A at most 2 times; never A; only A, B; first A; last A; get(id) before cancel(id); "
    "pay(amount) in [5, 10]; pay(amount) is quote->price. A and B are tools or events, such as lookup, plan_create or "
    'add{"item": "egg"}'
)


@lru_cache(maxsize=4096)
def parsed_rule(text: str) -> Rule:
    """A rule from its line. Raises ValueError, with the forms that exist, for a line that is none."""
    for form, pattern in _NOTATION:
        found = pattern.fullmatch(text.strip())
        if found is not None:
            return _rule(text.strip(), form, found.groups())
    raise ValueError(f"{text!r} is not a rule; {HELP}")


def _rule(text: str, form: str, found: Sequence[str | None]) -> Rule:
    words = [one or "" for one in found]
    match form:
        case "bound_before":
            names = (_named(text, words[0]), _named(text, words[2]))
            return Rule(text=text, form=form, names=names, earlier=words[1], argument=words[3])
        case "in":
            values = _listed(text, words[2])
            return Rule(text=text, form=form, names=(_named(text, words[0]),), argument=words[1], values=values)
        case "is" | "<=" | ">=":
            sources = tuple(_source(text, one) for one in re.split(r"\s+or\s+", words[2]) if one or not words[3:])
            if form != "is" and len(sources) > 1:
                raise ValueError(f"{text!r}: one number is compared with one source")
            named = tuple(_named(text, one) for one in (words[0], *(written_name(source.tool) for source in sources)))
            user = form == "is" and bool(words[3])
            return Rule(text=text, form=form, names=named, argument=words[1], sources=sources, or_user=user)
        case "choice" | "exclusive" | "never" | "only" | "first" | "last":
            return Rule(text=text, form=form, names=tuple(_named(text, one) for one in _SEPARATOR.split(words[0])))
        case "require" | "at_most":
            return Rule(text=text, form=form, names=(_named(text, words[0]),), count=int(words[1] or 1))
        case _:
            return Rule(text=text, form=form, names=tuple(_named(text, one) for one in words))


def _named(text: str, event: str) -> Named:
    name, brace, rest = event.partition("{")
    try:
        arguments = json.loads(brace + rest) if brace else {}
    except (ValueError, RecursionError):
        raise ValueError(f"{text!r}: {brace + rest!r} is not a JSON object") from None
    plain = name.strip()
    if not re.fullmatch(_NAME, plain):
        raise ValueError(f"{text!r}: {plain!r} is not the name of a tool or an event; {HELP}")
    only_call = plain.startswith("tool:")
    return Named(name=plain.removeprefix("tool:").strip('"'), arguments=arguments, only_call=only_call)


def _source(text: str, words: str) -> Source:
    found = re.fullmatch(_SOURCE, words.strip())
    if found is None:
        raise ValueError(f"{text!r}: {words!r} is not a source such as check->max_refund of the same order; {HELP}")
    tool, path, same = found.groups()
    return Source(tool.removeprefix("tool:").strip('"'), path, same or "")


def _listed(text: str, values: str) -> tuple[JsonValue, ...]:
    try:
        return tuple(json.loads(values))
    except (ValueError, RecursionError):
        raise ValueError(f"{text!r}: {values!r} is not a JSON list") from None


_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][\w.:/]*(?:-[\w.:/]+)*")


def written_name(name: str, arguments: JsonObject | None = None) -> str:
    """A tool as it is written in a rule."""
    plain = name if _PLAIN_NAME.fullmatch(name) else f'"{name}"'
    return plain + (json.dumps(arguments, ensure_ascii=False, sort_keys=True) if arguments else "")


def written_values(values: Sequence[JsonValue]) -> str:
    """A JSON list in a fixed order."""
    return json.dumps(sorted(values, key=canonical_json), ensure_ascii=False)
