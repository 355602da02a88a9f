"""Where a value can have come from: the atoms of every text, by when the agent could first have read them.

A value is *grounded* at a moment when each of its atoms (runs of letters and digits, case ignored) stood in something
that the agent was given before: the task, a user's message, an observation, a tool's description. Only *identifiers*
are asked about: words, dates and amounts are rightly inferred or computed, identifiers are not.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from harness.score.failures.signals.nameless import is_nameless
from harness.score.failures.signals.other_spellings import GivenTexts
from harness.values import JsonValue

_ATOM = re.compile(r"[^\W_]+")
_SPACED = "".join(char.lower() if char.isalnum() else " " for char in map(chr, range(128)))
"""ASCII with a space for whatever is not part of an atom, which is found three times quicker that way."""
_IDENTIFIER = re.compile(r"#?[A-Za-z0-9][A-Za-z0-9_.@:+-]{3,63}")
_PREFIXED = re.compile(r"[a-z]{1,3}(\d{4,})")
_SHORTEST = 4
"""A shorter atom has look-alikes by chance."""
_SHORTEST_PART = 3
"""Of a value of several parts, another of which is known."""
_MOST_WRONG = 2
"""Characters, and parts of a value."""
_LONG = 5
"""From here on, or where the rest of the value is known, two wrong characters still make a look-alike."""
_NESTED = 3
"""Times that JSON may stand as text inside of JSON."""
_DEPTH = 16
"""Arguments nested deeper are not looked into."""

NEVER = 1 << 60


def atoms(text: str) -> list[str]:
    """Runs of letters and digits, case folded."""
    return text.translate(_SPACED).split() if text.isascii() else _ATOM.findall(text.casefold())


def is_identifier(value: str) -> bool:
    """Looks like a name that some system gave out: `W2378156`, `mia_li_3668`, `ZFA04Y`; no date, amount or word."""
    return _IDENTIFIER.fullmatch(value) is not None and _is_given_out(value)


@lru_cache(maxsize=4096)
def _is_given_out(word: str) -> bool:
    """Of a short word. A trial's calls and messages name the same things again and again."""
    return not is_nameless(word) and any(map(_is_code, _ATOM.findall(word)))


def texts(value: JsonValue, depth: int = 0) -> Iterator[str]:
    """Every string and number of a JSON value as text, keys left out."""
    match value:
        case str():
            yield value
        case bool() | None:
            return
        case int() | float():
            yield str(value)
        case dict() if depth < _DEPTH:
            for item in value.values():
                yield from texts(item, depth + 1)
        case list() if depth < _DEPTH:
            for item in value:
                yield from texts(item, depth + 1)
        case _:
            return


def identifiers(value: JsonValue) -> tuple[str, ...]:
    """The identifiers among a value's strings, each once, in order; a number in JSON is a number."""
    return tuple(dict.fromkeys(text for text in _strings(value) if is_identifier(text)))


def _strings(value: JsonValue, depth: int = 0) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict() if depth < _DEPTH:
            for item in value.values():
                yield from _strings(item, depth + 1)
        case list() if depth < _DEPTH:
            for item in value:
                yield from _strings(item, depth + 1)
        case _:
            return


class Sources:
    """When each atom was first given to the agent, in words addressed to it or as an observation."""

    def __init__(self) -> None:
        self._stated: dict[str, int] = {}
        self._observed: dict[str, int] = {}
        self._texts = GivenTexts()

    def tell(self, text: str, moment: int) -> None:
        """The task, the system prompt, a user's message, a tool's description."""
        _note(text, moment, self._stated)
        self._texts.add(text, moment)

    def observe(self, content: JsonValue, moment: int) -> None:
        """What a tool gave back; keys count too, because results are often keyed by id."""
        contents = _all_text(content)
        escaped = [text for text in contents if "\\" in text and text[:1] in ("{", "[")]
        for text in escaped:
            self._read(text, moment)
        whole = "\n".join(contents)
        _note(whole, moment, self._observed)
        self._texts.add(whole, moment)

    def _read(self, text: str, moment: int, depth: int = 0) -> None:
        """Text that is JSON as JSON: an escaped line end is not a letter of the word behind it."""
        try:
            opened = json.loads(text)
        except (ValueError, RecursionError):
            return
        inner = _all_text(opened)
        _note("\n".join(inner), moment, self._observed)
        for one in inner if depth < _NESTED else ():
            if "\\" in one and one[:1] in ("{", "["):
                self._read(one, moment, depth + 1)

    def tell_once(self, given: Mapping[str, int]) -> None:
        """As `tell`, for atoms that were taken from texts before: nothing may have been told at an earlier moment."""
        self._stated.update(given)

    def observed(self, value: str, moment: int) -> bool:
        """Whether it had stood in observations before `moment`."""
        return all(_first(self._observed, atom) < moment for atom in atoms(value))

    def grounded(self, value: str, moment: int) -> bool:
        """Whether it had stood in anything that the agent was given before `moment`."""
        return self.since(value) < moment

    def since(self, value: str) -> int:
        """The moment from which on the value was grounded; NEVER where it is not."""
        known = max((self._since(atom) for atom in atoms(value)), default=-1)
        if known < NEVER:
            return known
        spelled = self._texts.since(value)
        return NEVER if spelled is None else spelled

    def lookalike(self, value: str, moment: int) -> str | None:
        """What was given before `moment` and differs from the value in one or two characters, as atoms."""
        parts = atoms(value)
        unknown = [atom for atom in parts if self._since(atom) >= moment]
        shortest = _SHORTEST if len(parts) == 1 else _SHORTEST_PART
        if not unknown or len(unknown) > _MOST_WRONG or any(len(atom) < shortest for atom in unknown):
            return None
        if len(unknown) == len(parts) > 1:
            return None  # nothing of it is known
        found = [self._alike_to(atom, len(parts), len(unknown), moment) for atom in unknown]
        return " ".join(one for one in found if one is not None) if all(found) else None

    def _alike_to(self, wrong: str, parts: int, unknown: int, moment: int) -> str | None:
        sure = len(wrong) >= _SHORTEST and (parts > 1 or len(wrong) >= _LONG)
        most = _MOST_WRONG if sure and unknown == 1 else 1
        bare = _PREFIXED.fullmatch(wrong)
        readings = (wrong,) if bare is None else (wrong, bare.group(1))
        for known in (*self._stated, *self._observed):
            if any(_alike(known, reading, most) for reading in readings) and self._since(known) < moment:
                return known
        return None

    def _since(self, atom: str) -> int:
        return min(_first(self._stated, atom), _first(self._observed, atom))


@lru_cache(maxsize=16)
def atoms_of(text: str, moment: int) -> Mapping[str, int]:
    """The atoms of a text that is given at one moment, as `Sources` keeps them; for texts that many trials share."""
    found: dict[str, int] = {}
    _note(text, moment, found)
    return found


def _note(text: str, moment: int, given: dict[str, int]) -> None:
    for atom in [one for one in dict.fromkeys(atoms(text)) if one not in given]:
        given[atom] = moment
        if atom[-1].isdigit():
            bare = _PREFIXED.fullmatch(atom)
            if bare is not None:
                given.setdefault(bare.group(1), moment)


def _first(given: dict[str, int], atom: str) -> int:
    found = given.get(atom)
    if found is not None:
        return found
    bare = _PREFIXED.fullmatch(atom)  # people leave the letters of `W2378156` out
    return NEVER if bare is None else given.get(bare.group(1), NEVER)


def _all_text(value: JsonValue) -> list[str]:
    """Keys and values as text."""
    found: list[str] = []
    _collect(value, 0, found)
    return found


def _collect(value: JsonValue, depth: int, found: list[str]) -> None:
    """Written for speed, texts first and without a call: answers are by far the longest part of a trajectory."""
    if isinstance(value, dict | list):
        if depth < _DEPTH:
            if isinstance(value, dict):
                found.extend(value)
            for item in value.values() if isinstance(value, dict) else value:
                if type(item) is str:
                    found.append(item)
                elif item is not None:
                    _collect(item, depth + 1, found)
    elif value is not None and not isinstance(value, bool):
        found.append(str(value))


def _is_code(atom: str) -> bool:
    digits = sum(map(str.isdigit, atom))
    if not digits:
        return len(atom) == 6 and atom.isupper()  # a booking reference has six capitals
    if digits == len(atom):
        return digits >= 4
    return len(atom) >= 4 and (digits >= 3 or (len(atom) >= 5 and atom.upper() == atom))


def _shape(atom: str) -> str:
    return "".join("0" if char.isdigit() else "a" for char in atom)


def _alike(known: str, wrong: str, most: int) -> bool:
    if len(known) == len(wrong):
        return sum(a != b for a, b in zip(known, wrong, strict=True)) <= most and _shape(known) == _shape(wrong)
    if abs(len(known) - len(wrong)) != 1 or len(wrong) <= _SHORTEST:
        return False
    longer, shorter = sorted((known, wrong), key=len, reverse=True)
    same = next((n for n, (a, b) in enumerate(zip(longer, shorter, strict=False)) if a != b), len(shorter))
    return longer[same + 1 :] == shorter[same:]
