"""Comparing JSON values and texts: equality, "contains", places that a pointer names, differences after
normalisation.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeVar

from pydantic import JsonValue, field_validator

from harness.scoring.texts import composed, plain_text, plain_value
from harness.suite.expressions import check_expression, finds
from harness.text import shortened
from harness.values import Frozen, JsonObject, canonical_json

# What is there set against what is expected, one to one.

T = TypeVar("T")


def unmatched(got: Sequence[T], expected: Sequence[T], fits: Callable[[T, T], bool]) -> tuple[list[T], list[T]]:
    """The missing expected items and the unexpected items, by a maximum matching.

    `fits` decides whether an actual item (first) matches an expected one (second). A greedy choice of the first match
    would miss valid pairings.
    """
    may = [[place for place, row in enumerate(got) if fits(row, wanted)] for wanted in expected]
    owner: dict[int, int] = {}
    missing = [wanted for index, wanted in enumerate(expected) if not _find_place(index, may, owner, set())]
    return missing, [row for place, row in enumerate(got) if place not in owner]


def _find_place(index: int, may: Sequence[Sequence[int]], owner: dict[int, int], tried: set[int]) -> bool:
    for place in may[index]:
        if place in tried:
            continue
        tried.add(place)
        if place not in owner or _find_place(owner[place], may, owner, tried):
            owner[place] = index
            return True
    return False


# Python's own `==` treats True and 1 as equal; here 1 and 1.0 are one number, and a truth value never equals a number.


class PointerNotFound(LookupError):
    """A pointer leads to nothing."""


MAX_DEPTH = 100


_FENCED: Final = re.compile(r"(`{3,}|~{3,})[ \t]*(?:json[5c]?\b|javascript\b)?(.*?)\1", re.DOTALL | re.IGNORECASE)
_EXACT_FLOAT: Final = 2**53


def answered_json(text: str) -> JsonValue:
    """The value of an answer that is JSON, or has it in its only code fence. Raises ValueError as `parsed_json`."""
    try:
        return parsed_json(text)
    except ValueError:
        fenced = _FENCED.search(text)
        if fenced is None or text.count(fenced[1]) != 2:
            raise
        return parsed_json(fenced[2])


def parsed_json(text: str) -> JsonValue:
    """The value of a text that an agent has written, also behind a byte order mark.

    Raises ValueError, also for more than 100 levels and for a name that an object has twice.
    """
    try:
        value: JsonValue = _READER.decode(text.strip().removeprefix("\ufeff"))
    except RecursionError:
        raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep") from None
    level: list[JsonValue] = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [part for one in level for part in _members_of(one)]
        if not level:
            return value
    raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")


def _each_once(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    made = dict(pairs)
    if len(made) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"an object has the name {twice[:100]!r} more than once")
    return made


def _number(text: str) -> int | float:
    """Whole numbers that a float cannot hold are read exactly."""
    value = float(text)
    if _EXACT_FLOAT <= abs(value) < math.inf and (written := Decimal(text)) == written.to_integral_value():
        return int(written)
    return value


_READER: Final = json.JSONDecoder(object_pairs_hook=_each_once, parse_float=_number)


def _members_of(value: JsonValue) -> Iterable[JsonValue]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def equality_key(value: JsonValue) -> str:
    """Two values are equal exactly when their keys are; never raises, NaN being equal to itself.

    Texts are equal if a reader does not tell their characters apart (`plain_text`).
    """
    try:
        text = canonical_json(value)
        return text if text.isascii() and "\\r" not in text else canonical_json(plain_value(value))
    except ValueError:  # NaN or an infinity: no JSON, yet an agent can send it
        return "not JSON: " + repr(value)


def json_equal(left: JsonValue, right: JsonValue) -> bool:
    return equality_key(left) == equality_key(right)


def json_contains(actual: JsonValue, expected: JsonValue) -> bool:
    """An object holds the expected members, a list a different element for each expected one, a text the part.

    Anything else must be equal. Order in a list does not matter.
    """
    return _contains(plain_value(actual), plain_value(expected))


def _contains(actual: JsonValue, expected: JsonValue) -> bool:
    match actual, expected:
        case dict(), dict():
            return all(key in actual and _contains(actual[key], part) for key, part in expected.items())
        case list(), list():
            return not unmatched(actual, expected, _contains)[0]
        case str(), str():
            return expected in actual
        case _:
            return json_equal(actual, expected)


def at_pointer(value: JsonValue, pointer: str) -> JsonValue:
    """The value at a JSON pointer (`/items/0/id`, RFC 6901; empty for the whole value). Raises Absent."""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        match value:
            case dict() if key in value:
                value = value[key]
            case list() if key.isascii() and key.isdigit() and int(key) < len(value):
                value = value[int(key)]
            case _:
                raise PointerNotFound(f"nothing stands at {pointer!r} (missing: {key!r})")
    return value


# Locates the differences between the arguments of two calls, after normalisation of irrelevant ones.
#
# Normalised are: nested members that only one side has inside an object of a list (tools ignore what they did not
# declare); the order of a list; the order of parallel lists, which are compared as a bag of tuples; nothing in its
# spellings (absent, null, "", [], {}). A difference in encoding alone (JSON written as text, a number as text, a list
# of one) is distinguished from one in substance.
#
# This much is normalised to name an error. To decide that there is none (`same_effect`), less is normalised: a member
# that the reference has must be there; one that the tool's schema declares counts; null is nothing, and "", [] and {}
# are not; the order of a list matters unless its elements are identifiers, which name a set.

_DEPTH: Final = 12
_LONGEST: Final = 64
"""The number of elements of lists that are paired; longer lists are compared without pairing."""


@dataclass(frozen=True, kw_only=True)
class ArgumentDifference:
    """One argument that is not as expected."""

    argument: str
    """Its path, in dots."""
    expected: JsonValue
    found: JsonValue
    encoding: bool
    """Right in substance, wrong in encoding."""

    @property
    def is_target(self) -> bool:
        """Whether the argument identifies the object of the call."""
        name = self.argument.rsplit(".", 1)[-1].casefold()
        return name in ("id", "ids", "name", "path") or name.endswith(("_id", "_ids", "id"))


def differences(expected: JsonObject, found: JsonObject) -> tuple[ArgumentDifference, ...]:
    """Every top-level or nested argument that differs; empty for calls that come to the same."""
    parallel = _parallel(expected, found)
    names = list(dict.fromkeys([*expected, *found]))
    known = [
        one
        for name in names
        if name not in parallel
        for one in _differences_at(name, expected.get(name), found.get(name), 0)
    ]
    if parallel and _tuples(expected, parallel) != _tuples(found, parallel):
        known += [
            one for name in parallel for one in _differences_at(name, expected.get(name), found.get(name), 0)
        ] or [ArgumentDifference(argument="+".join(parallel), expected=None, found=None, encoding=False)]
    return tuple(known)


def null_means_left_out(schema: JsonValue) -> bool:
    """Whether null for an optional parameter says no more than leaving it out: it is the default, or no value of it."""
    if not isinstance(schema, dict):
        return False
    return ("default" in schema and schema["default"] is None) or not _takes_null(schema)


def _takes_null(schema: JsonValue) -> bool:
    if not isinstance(schema, dict):
        return schema is not False
    choices = [choice for union in ("anyOf", "oneOf") if isinstance(choice := schema.get(union), list)]
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    kinds = schema.get("type", "null")
    return (
        "$ref" not in schema
        and (kinds == "null" or (isinstance(kinds, list) and "null" in kinds) or schema.get("nullable") is True)
        and (not isinstance(values, list) or None in values)
        and all(any(map(_takes_null, choice)) for choice in choices)
    )


def same_effect(expected: JsonObject, found: JsonObject, schema: JsonObject) -> bool:
    """Whether a call with the arguments `found` surely does what one with `expected` does. `schema`: the tool's."""
    parallel = _parallel(expected, found)
    if parallel and _tuples(expected, parallel) != _tuples(found, parallel):
        return False
    parts = schema.get("properties")
    declared = parts if isinstance(parts, dict) else {}
    names = {*expected, *found} - set(parallel)
    if any(
        name in declared and not null_means_left_out(declared[name]) and {**expected, **found}[name] is None
        for name in expected.keys() ^ found.keys()
    ):
        return False
    return all(_is_same(expected.get(name), found.get(name), declared.get(name), 0) for name in names)


def _is_same(expected: JsonValue, found: JsonValue, schema: JsonValue, depth: int) -> bool:
    if equality_key(expected) == equality_key(found):
        return True
    parts = schema if isinstance(schema, dict) else {}
    match expected, found:
        case (list(), list()) if depth < _DEPTH:
            return _is_same_list(expected, found, parts.get("items"), depth)
        case (dict(), dict()) if depth < _DEPTH:
            return _is_same_object(expected, found, parts.get("properties"), depth)
        case _:
            return False


def _is_same_list(expected: list[JsonValue], found: list[JsonValue], items: JsonValue, depth: int) -> bool:
    if all(map(_is_id, [*expected, *found])):
        return sorted(map(equality_key, expected)) == sorted(map(equality_key, found))
    same_length = len(expected) == len(found)
    return same_length and all(_is_same(*pair, items, depth + 1) for pair in zip(expected, found, strict=True))


def _is_same_object(expected: JsonObject, found: JsonObject, properties: JsonValue, depth: int) -> bool:
    declared = properties if isinstance(properties, dict) else {}
    if any(name in declared and found[name] is not None for name in found.keys() - expected.keys()):
        return False
    return all(_is_same(value, found.get(name), declared.get(name), depth + 1) for name, value in expected.items())


def _is_id(value: JsonValue) -> bool:
    return isinstance(value, str) and not re.search(r"\s", value) and re.search(r"\d", value) is not None


def _differences_at(path: str, expected: JsonValue, found: JsonValue, depth: int) -> Iterator[ArgumentDifference]:
    if _is_nothing(expected) and _is_nothing(found):
        return
    if equality_key(expected) == equality_key(found):
        return
    if isinstance(expected, dict) and isinstance(found, dict) and depth < _DEPTH:
        shared = [name for name in expected if name in found] if depth else list(dict.fromkeys([*expected, *found]))
        for name in shared or list(expected):
            yield from _differences_at(f"{path}.{name}", expected.get(name), found.get(name), depth + 1)
        return
    if isinstance(expected, list) and isinstance(found, list) and _is_same_bag(expected, found, depth):
        return
    yield ArgumentDifference(argument=path, expected=expected, found=found, encoding=_is_encoding(expected, found))


def _is_same_bag(expected: Sequence[JsonValue], found: Sequence[JsonValue], depth: int) -> bool:
    if len(expected) != len(found) or len(expected) > _LONGEST or depth >= _DEPTH:
        return False
    left = list(found)
    for item in expected:
        place = next((n for n, other in enumerate(left) if not list(_differences_at("", item, other, depth + 1))), None)
        if place is None:
            return False
        del left[place]
    return True


def _is_encoding(expected: JsonValue, found: JsonValue) -> bool:
    """Whether one is the other written as JSON text, as text, or alone in a list."""
    if _is_nothing(found) or _is_nothing(expected):
        return False
    plain, other = _parsed_text(expected), _parsed_text(found)
    if equality_key(plain) == equality_key(other):
        return True
    if isinstance(plain, list) != isinstance(other, list):
        one = plain if isinstance(plain, list) else other
        lone = other if isinstance(plain, list) else plain
        return isinstance(one, list) and len(one) == 1 and equality_key(one[0]) == equality_key(lone)
    return isinstance(plain, list) and isinstance(other, list) and _is_same_bag(plain, other, 0)


def _parsed_text(value: JsonValue) -> JsonValue:
    if not isinstance(value, str):
        return value
    try:
        opened: JsonValue = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return opened


def _is_nothing(value: JsonValue) -> bool:
    return value is None or (isinstance(value, str | list | dict) and not value)


def _parallel(expected: JsonObject, found: JsonObject) -> tuple[str, ...]:
    """Names of lists of scalars that have one length on both sides each, and a common end of their names."""
    lists = [name for name, value in expected.items() if _is_scalars(value) and _is_scalars(found.get(name))]
    alike = tuple(
        name for name in lists if any(name != other and _last_words(name) == _last_words(other) for other in lists)
    )
    for side in (expected, found):
        if len({len(value) for name in alike if isinstance(value := side[name], list)}) > 1:
            return ()
    return alike


def _last_words(name: str) -> str:
    return "_".join(name.casefold().split("_")[-2:])


def _is_scalars(value: JsonValue) -> bool:
    return isinstance(value, list) and bool(value) and not any(isinstance(item, list | dict) for item in value)


def _tuples(side: JsonObject, names: Sequence[str]) -> list[str]:
    columns = [value for name in names if isinstance(value := side[name], list)]
    return sorted(equality_key(list(row)) for row in zip(*columns, strict=True))


# What a text must be: one rule, shared by every check that reads text (answers, files, output).


class TextRule(Frozen):
    """All given rules must hold. Texts are compared in Unicode's composed form (NFC)."""

    equals: str | None = None
    """The whole text, white space at both ends aside."""
    contains: str | tuple[str, ...] = ()
    """A part, or parts all of which must occur."""
    excludes: str | tuple[str, ...] = ()
    """Parts that must not occur."""
    regex: str | None = None
    """Python's syntax; found anywhere in the text."""
    ignore_case: bool = False
    """Whether upper and lower case are the same."""

    @field_validator("regex")
    @classmethod
    def _compiles(cls, value: str | None) -> str | None:
        if value is not None:
            check_expression(value)
        return value

    @property
    def demands(self) -> bool:
        """Whether any rule was given."""
        return self.equals is not None or bool(self.contains) or bool(self.excludes) or self.regex is not None

    def problem(self, text: str) -> str | None:
        """Explains what does not hold of `text`; None if all does. Raises OutOfTime if `regex` takes too long."""
        plain = self._normalised(text)
        if self.equals is not None and plain.strip() != self._normalised(self.equals).strip():
            return f"is not {_quoted_beginning(self.equals)}"
        missing = [part for part in _as_tuple(self.contains) if self._normalised(part) not in plain]
        if missing:
            return f"does not contain {_quoted_beginning(missing[0])}"
        unwanted = [part for part in _as_tuple(self.excludes) if self._normalised(part) in plain]
        if unwanted:
            return f"contains {_quoted_beginning(unwanted[0])}"
        flags = re.IGNORECASE if self.ignore_case else 0
        if self.regex is not None and not finds(self.regex, self._searched(text), field="regex", flags=flags):
            return f"does not match {_quoted_beginning(self.regex)}"
        return None

    def _normalised(self, text: str) -> str:
        return self._folded(composed(text.removeprefix("\ufeff").replace("\r\n", "\n")))

    def _searched(self, text: str) -> str:
        """What the regular expression is applied to."""
        return text

    def _folded(self, text: str) -> str:
        return text.casefold() if self.ignore_case else text


class ProseRule(TextRule):
    """All given rules must hold. Spaces and line ends of any kind and number are one space; characters that a reader
    does not tell apart (curly quotes, digits of full width, what has no width) are the same.
    """

    def _normalised(self, text: str) -> str:
        return self._folded(" ".join(plain_text(text).split()))

    def _searched(self, text: str) -> str:
        rule = self.regex or ""
        return plain_text(text) if rule.isascii() and "\\x" not in rule and "\\u" not in rule else text


def _as_tuple(parts: str | tuple[str, ...]) -> tuple[str, ...]:
    return (parts,) if isinstance(parts, str) else parts


def _quoted_beginning(text: str, most: int = 80) -> str:
    return repr(shortened(text, most))
