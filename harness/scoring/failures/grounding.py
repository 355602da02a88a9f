"""Where a value can have come from: the atoms of every text, by when the agent could first have read them.

A value is *grounded* at a moment when each of its atoms (runs of letters and digits, case ignored) stood in something
that the agent was given before: the task, a user's message, an observation, a tool's description. Only *identifiers*
are asked about: words, dates and amounts are rightly inferred or computed, identifiers are not.
"""

import json
import re
from array import array
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import chain
from typing import Final

from pydantic import JsonValue

# What looks like an identifier and is none, because it is computed, inferred or known: no system gave it out.
#
# Amounts, dates, years, quarters, clock times, durations, ranges, units, sizes, coordinates, versions, ordinals,
# exponents, character codes, names of standards and of files.

_MONTH: Final = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
_YEAR: Final = r"(?:19|20)\d\d"
_NO_NAME: Final = re.compile(
    "|".join(
        (
            r"\d{1,4}[-.:]\d{1,2}([-.:]\d{1,4})?(T[\d:.+Z-]*)?|[NSEW]?\d+\.\d+[NSEW]?",  # dates, times, amounts, places
            rf"{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[T_-]?\d{{4,6}}Z?)?",  # dates without marks
            rf"(?:(?:\d\d?|{_YEAR})[-_.]?)?{_MONTH}[-_.]?(?:\d\d?|{_YEAR})(?:[-_.]?(?:\d\d|{_YEAR}))?",
            r"[+-]?\d+(?:\.\d+)?[eE][+-]?\d+|\d+(?:-|\.\.|:)\d+",  # exponents, ranges
            r"v?\d+(?:\.\d+)+[a-z0-9.+-]*|\d+(?:st|nd|rd|th|s)",  # versions, ordinals
            r"(?:pre|post|mid|early|late)-\d{4}s?|#?\d+[a-zA-Z]{1,4}",  # years, units
            r"P(?:\d+[YMWD])*(?:T(?:\d+[HMS])+)?|(?:\d+(?:d|h|hrs?|m|min|s|secs?|ms))+",  # durations
            r"\d+x\d+(?:x\d+)?|\d{3,4}[pi]\d{2,3}|(?-i:\d+-[a-z]{3,})",  # sizes, counted things
            r"(?:U\+|\\?x|0x)[0-9a-fA-F]{2,8}|\d{1,2}:\d\d(?:am|pm)?",  # characters, clock times
            rf"{_YEAR}(?:[-/](?:19|20)?\d\d)?|[1-9]\d{{0,5}}0{{3,9}}",  # years, round numbers
            rf"(?:[FC]Y|[QH][1-4][-/]?)(?:19|20)?\d\d|{_YEAR}[-/]?(?:W\d\d?|[QH][1-4])",  # business years, quarters
            r"(?:USD|EUR|GBP|JPY|CHF|CAD|AUD|NZD|CNY|INR)\d+(?:[.,]\d+)*",  # amounts behind their currency
            r"(?:iso|iec|ieee|rfc)[-_]?\d{1,5}(?:[-_:.]\d{1,4})*|(?:utf|base|aes|rsa|cp)[-_]?\d{1,4}",  # standards
            r"(?:sha|md)[-_]?(?:[1-6]|224|256|384|512)|windows-125\d|python\d(?:\.\d+)*",
            r"[\w.+-]+\.(?:csv|tsv|txt|json|jsonl|ya?ml|xml|html?|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|mp[34]|wav"
            r"|py|js|ts|java|cpp|rs|go|sh|md|log|zip|gz|tar|sql|db|ipynb)",  # files
        )
    ),
    re.I,
)


def is_nameless(value: str) -> bool:
    """Whether no system gave it out as a name."""
    return _NO_NAME.fullmatch(value) is not None


# Identifiers that were given in another spelling: `KX-998-124`, `K X 9 9 8 1 2 4` and `kx998124` are one.
#
# So are numbers with and without separators of thousands, and a code behind an escape (`%2FKX998124`, `\nKX998124`).
# Texts are searched only for values that are not known as they stand, which are few.

_SEPARATOR: Final = "(?:[ \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}_.,'\N{RIGHT SINGLE QUOTATION MARK}/-]|\\) )?"
_BEFORE: Final = r"(?:(?<![^\W_])|(?<=%[0-9a-f]{2})|(?<=\\[nrtbf]))"
_AFTER: Final = r"(?![^\W_])"
_SHORTEST_SPELLING: Final = 5
"""Characters; a shorter value is met by chance."""
_LONGEST_SPELLING: Final = 64
_WORD: Final = re.compile(r"[^\W_]+")


class GivenTexts:
    """Texts in the order in which they were given."""

    def __init__(self) -> None:
        self._texts: list[_Text] = []
        self._searched: dict[str, tuple[int, int | None]] = {}

    def add(self, text: str, moment: int) -> None:
        self._texts.append(_Text(text, moment))

    def since(self, value: str) -> int | None:
        """The moment of the first text that has the value in any spelling; None: no text has."""
        letters = _bare(value)
        if not _SHORTEST_SPELLING <= len(letters) <= _LONGEST_SPELLING or not any(map(str.isdigit, letters)):
            return None
        searched, found = self._searched.get(letters, (0, None))
        if found is None:
            holding = [text for text in self._texts[searched:] if letters in text.letters]
            if holding:  # few values have their letters anywhere, and an expression takes time to compile
                spelled = re.compile(_BEFORE + _SEPARATOR.join(letters) + _AFTER)
                found = next((text.moment for text in holding if text.has(letters, spelled)), None)
            self._searched[letters] = (len(self._texts), found)
        return found


class _Text:
    """A text, and where its letters and digits stand. A value is compared only where its letters follow each other,
    so that neither a long text nor one of a single repeated character takes long.
    """

    def __init__(self, text: str, moment: int) -> None:
        self.moment = moment
        self._text = text

    @cached_property
    def _folded(self) -> str:
        return self._text.casefold()

    @cached_property
    def letters(self) -> str:
        """The folded text without all else."""
        return "".join(_WORD.findall(self._folded))

    @cached_property
    def _places(self) -> "array[int]":
        """For each of the letters, its place in the folded text."""
        return array("L", chain.from_iterable(range(*word.span()) for word in _WORD.finditer(self._folded)))

    def has(self, letters: str, spelled: re.Pattern[str]) -> bool:
        at = self.letters.find(letters)
        while at >= 0:
            if spelled.match(self._folded, self._places[at]):
                return True
            at = self.letters.find(letters, at + 1)
        return False


def _bare(text: str) -> str:
    return "".join(_WORD.findall(text.casefold()))


_ATOM = re.compile(r"[^\W_]+")
_SPACED = "".join(char.lower() if char.isalnum() else " " for char in map(chr, range(128)))
"""ASCII with a space for whatever is not part of an atom, which is found three times quicker that way."""
_IDENTIFIER = re.compile(r"#?[A-Za-z0-9][A-Za-z0-9_.@:+-]{3,63}")
_PREFIXED = re.compile(r"[a-z]{1,3}(\d{4,})")
_SHORTEST_ATOM = 4
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
        shortest = _SHORTEST_ATOM if len(parts) == 1 else _SHORTEST_PART
        if not unknown or len(unknown) > _MOST_WRONG or any(len(atom) < shortest for atom in unknown):
            return None
        if len(unknown) == len(parts) > 1:
            return None  # nothing of it is known
        found = [self._alike_to(atom, len(parts), len(unknown), moment) for atom in unknown]
        return " ".join(one for one in found if one is not None) if all(found) else None

    def _alike_to(self, wrong: str, parts: int, unknown: int, moment: int) -> str | None:
        sure = len(wrong) >= _SHORTEST_ATOM and (parts > 1 or len(wrong) >= _LONG)
        most = _MOST_WRONG if sure and unknown == 1 else 1
        bare = _PREFIXED.fullmatch(wrong)
        readings = (wrong,) if bare is None else (wrong, bare.group(1))
        for known in chain(self._stated, self._observed):
            for reading in readings:
                near = -1 <= len(known) - len(reading) <= 1  # most are not, and to ask takes longer
                if near and _alike(known, reading, most) and self._since(known) < moment:
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
    if abs(len(known) - len(wrong)) != 1 or len(wrong) <= _SHORTEST_ATOM:
        return False
    longer, shorter = sorted((known, wrong), key=len, reverse=True)
    same = next((n for n, (a, b) in enumerate(zip(longer, shorter, strict=False)) if a != b), len(shorter))
    return longer[same + 1 :] == shorter[same:]


# What a message says in its own words: without code, quotations and the braces of JSON; and whether it is a page.

_CODE: Final = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]{1,300}`|~~~.*?(?:~~~|\Z)|<(code|pre)\b[^>\n]{0,80}>.*?(?:</\1>|\Z)"
    r"|(?:\A|\n)[ \t]*(?:\n(?: {4}|\t)(?![ \t]*(?:[-*+]|\d{1,2}[.)]) )[^\n]+)+",
    re.S,
)
"""Fenced, between backticks, between tags, or a paragraph that is indented by four and no list."""
_MARKS_CODE: Final = ("`", "~~~", "<code", "<pre", "\n    ", "\n\t")
_PAIRS: Final = (
    ('"', "", '"'),
    ("\N{LEFT DOUBLE QUOTATION MARK}", "", "\N{RIGHT DOUBLE QUOTATION MARK}"),
    ("\N{DOUBLE LOW-9 QUOTATION MARK}", "", "[\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}]"),
    ("\N{LEFT-POINTING DOUBLE ANGLE QUOTATION MARK}", "", "\N{RIGHT-POINTING DOUBLE ANGLE QUOTATION MARK}"),
    ("\N{LEFT SINGLE QUOTATION MARK}", r"(?<!\w.)", r"\N{RIGHT SINGLE QUOTATION MARK}(?!\w)"),
    ("'", r"(?<!\w.)", r"'(?!\w)"),
)
"""The mark that begins a quotation, what must not stand before it (the mark itself is the point), and what ends it."""
_MARKS: Final = frozenset(mark for mark, _, _ in _PAIRS)
_QUOTED: Final = re.compile(
    f"[{''.join(mark for mark, _, _ in _PAIRS)}](?:"  # a set, so that other characters are passed over quickly
    + "|".join(rf"(?<={mark}){before}[^\n]{{1,300}}?{end}" for mark, before, end in _PAIRS)
    + ")"
)
_PAGE: Final = re.compile(
    r"Address: \S.{0,500}?Viewport position: |(?:I|Web\w{1,12}) \w{1,12} .{0,2000}?Here is a screenshot of ", re.S
)
_QUOTE_LINE: Final = re.compile(r"(?m)^\s{0,8}>[^\n]*$")


def plain_words(message: str) -> str:
    """A message that is JSON as its texts, one a line; else without what it quotes or writes as code."""
    opened = _from_json(message)
    if opened is not None:
        return "\n".join(texts(opened))
    if any(map(message.__contains__, _MARKS_CODE)):
        message = _CODE.sub(" ", message)
    if ">" in message:
        message = _QUOTE_LINE.sub(" ", message)
    return message if _MARKS.isdisjoint(message) else _QUOTED.sub(" ", message)


def is_page(message: str) -> bool:
    """Whether it is what a text browser shows, which agents of some frameworks send as their message: no word of it is
    the agent's own.
    """
    return _PAGE.match(message) is not None


def _from_json(message: str) -> JsonValue:
    if message[:1] not in "{[" or message.rstrip()[-1:] not in ("}", "]"):
        return None
    try:
        found: JsonValue = json.loads(message)
    except (ValueError, RecursionError):
        return None
    return found
