"""Reading what an agent wrote: characters that look alike made one, and the numbers of a text."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from pydantic import JsonValue

# Characters that a reader does not tell apart are one character: composed and decomposed letters (NFC), spaces of any
# kind, letters and digits of full width, straight and curly quotes, hyphens and minus signs, ligatures. What has no
# width is left out.

_SPACES: Final = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_NO_WIDTH: Final = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
_LIGATURES: Final = ("ff", "fi", "fl", "ffi", "ffl", "st", "st")
_ALIKE: Final[dict[int, str | None]] = {
    **{0xFF01 + place: chr(0x21 + place) for place in range(0x5E)},
    **dict.fromkeys(map(ord, _SPACES), " "),
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f"), '"'),
    **dict.fromkeys(map(ord, "\r\u0085\u2028\u2029"), "\n"),
    **dict.fromkeys(map(ord, "\u2010\u2011"), "-"),
    0x2026: "...",
    **{0xFB00 + place: letters for place, letters in enumerate(_LIGATURES)},
    **dict.fromkeys(map(ord, _NO_WIDTH)),
}


def composed(text: str) -> str:
    """The text in Unicode's composed form (NFC): for names of files and their content."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def plain_text(text: str) -> str:
    """The text with one spelling for characters that a reader does not tell apart; each line end is `\\n`."""
    return _with_minus_signs(text).replace("\u2212", "-")


def _with_minus_signs(text: str) -> str:
    if text.isascii() and "\r" not in text:
        return text
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").translate(_ALIKE))


def plain_value(value: JsonValue) -> JsonValue:
    """A JSON value with `plain_text` for its texts and names."""
    match value:
        case str():
            return plain_text(value)
        case list():
            return [plain_value(item) for item in value]
        case dict():
            named = {plain_text(name): plain_value(item) for name, item in value.items()}
            return named if len(named) == len(value) else value
        case _:
            return value


# The numbers of a text, as a careful reader takes them.
#
# Dates, times, versions and `24/7` are no numbers. A range has no single value: it equals no number, yet it is one of
# the text's. A comma or a point before three last digits can group thousands or begin decimals: the other numbers of
# the text decide. Where they say nothing, a comma groups and a point begins decimals; where they disagree, both
# readings must fit.

Readings = frozenset[Fraction]
"""The values that one number of a text can have; empty: it has no single value."""

_MONTH: Final = (
    r"(?:Jan(?:uary|uar)?|Feb(?:ruary|ruar)?|Mar(?:ch)?|M\u00e4rz|Apr(?:il)?|May|Mai|June?|Juni|July?|Juli|Aug(?:ust)?|"
    r"Sept?(?:ember)?|O[ck]t(?:ober)?|Nov(?:ember)?|De[cz](?:ember)?)\b\.?"
)
_NO_NUMBER: Final = re.compile(
    r"https?://[^\s<>)\]]+|(?<![\d./:-])(?:"
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|(?:19|20)\d\d-(?:0[1-9]|1[0-2])|\d{1,4}([/.-])\d{1,2}\1\d{1,4}|24/7(?:/365)?"
    r"|\d{1,5}:\d{1,5}(?::\d{1,5}(?:\.\d{1,9})?)?"
    rf"|\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH}(?:,? \d{{4}})?|\d{{1,2}}\. {_MONTH} \d{{4}})(?![\w/]|[.,:-]\d)"
    rf"|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? (?:19|20)\d\d)?(?![\w/]|[.,:-]\d)"
    rf"|\b{_MONTH} (?:19|20)\d\d(?![\w/])"
)
_ASIDE: Final = re.compile(
    r"(?:\b(?i:section|chapter|page|table|figure|step|footnote|appendix|version)|\d (?:out )?of) $"
)
"""What a number that is no answer stands behind, if the text has another one."""
_IN_YEAR: Final = re.compile(r"\b(?:[Ii]n|[Ss]ince|[Dd]uring|FY|Q[1-4]) ?$")
_NO_CENTS: Final = re.compile(r"(?<=\d),[-\u2013\u2014](?!\w)")
_RANGE_IN_WORDS: Final = re.compile(r"(?i:\bbetween )(\d[\d.,]*) and (?=\d)|(?<!from )(?<![\w.,])(\d[\d.,]*) to (?=\d)")
_ORDINAL: Final = re.compile(r"(?:st|nd|rd|th)(?![^\W_])")
_DIGITS: Final = re.compile(
    r"[1-9]\d{0,2}(?: \d{3}){1,30}(?:[.,]\d{1,300})?(?![\d/]| \d|[.,]\d)|\d(?:\d|[.,'_](?=\d))*|(?<![\d.])\.\d+"
)
_MONEY: Final = "[$\u20ac\u00a3\u00a5]?"
_SIGN: Final = re.compile(
    r"(?P<before>.?)(?P<space>\s*)(?:\b(?i:minus|negative) |(?P<sign>[-+\u00b1\u2010-\u2014\u2212]))"
    rf"(?P<gap> ?){_MONEY}$",
    re.DOTALL,
)
_FRACTION: Final = re.compile(r" ?/ ?(\d{1,9})(?![\d/]|[.,]\d)")
_MIXED: Final = re.compile(r" (\d{1,9})/(\d{1,9})(?![\d/]|[.,]\d)")
_POWER: Final = re.compile(
    r"(?P<e>[eE])([-+\u2212]?\d+)|(?P<ten> ?[\u00d7x*\u00b7] ?10)?(?:\^|\*\*)[{(]?([-+\u2212]?\d+)[)}]?"
)
_RANGE: Final = re.compile(rf"(?:[-\u2010-\u2014\u2212]| \u2013 ){_MONEY}\d[\d.,]*")
_DEVIATION: Final = re.compile(r" ?(?:\u00b1|\+/-) ?\d[\d.,]*")
_SCALES: Final = {
    **dict.fromkeys(("k", "thousand", "tausend", "tsd"), 10**3),
    **dict.fromkeys(("m", "mn", "mio", "million", "millions", "millionen"), 10**6),
    **dict.fromkeys(("bn", "billion", "billions", "mrd", "milliarde", "milliarden"), 10**9),
    **dict.fromkeys(("trillion", "trillions"), 10**12),
}
_SCALE: Final = re.compile(
    r"[kKM](?![^\W_])|[ -]?(?i:thousand|tausend|tsd|mn|mio|millions?|millionen|bn|billions?|mrd|milliarden?|trillions?)"
    r"(?![^\W_])"
)
_UNIT: Final = re.compile(
    r"(?:[kmc]?m|[km]?g|[mk]?l|m?s|min|hr?s?|[kMGT]?B|[KMGT]iB|[kMG]?bps|fps|rpm|dpi|px|pt|EUR|USD|GBP|CHF|k?W|kWh|V|A|[kMG]?Hz|C|F)(?![^\W_])"
)
_GROUPED: Final = {
    ",": re.compile(r"\d{1,3}(?:,\d{2,3})*,\d{3}"),
    ".": re.compile(r"\d{1,3}(?:\.\d{3})+"),
    "'": re.compile(r"\d{1,3}(?:'\d{3})+"),
    "_": re.compile(r"\d{1,3}(?:_\d{3})+"),
    " ": re.compile(r"\d{1,3}(?: \d{3})+"),
}
_RAISED: Final = re.compile("(?<=[0-9])\u207b?[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]+")
_VULGAR: Final = re.compile("([0-9] ?)?([\u00bc-\u00be\u2150-\u215e])")
_LONGEST: Final = 300
_MOST_POWER: Final = 300
_AHEAD: Final = 400


@dataclass(frozen=True, kw_only=True)
class _Token:
    readings: Readings
    end: int
    certain: bool = True
    """False: it is part of a name or a mark of a source, and counts if the text has no other number."""


def numbers_in(text: str) -> list[Readings]:
    """The numbers of the text, in order, each with the values that it can have."""
    prepared = _prepared(text)
    mark = _decimal_mark(prepared)
    found: list[_Token] = []
    position = 0
    while (digits := _DIGITS.search(prepared, position)) is not None:
        tokens = list(_tokens(prepared, digits, mark))
        found += tokens
        position = max([digits.end(), *(token.end for token in tokens)])
    certain = [token.readings for token in found if token.certain]
    return certain or [token.readings for token in found]


def number_fits(readings: Readings, number: float, tolerance: float) -> bool:
    """Whether each reading is the number, within the tolerance."""
    wanted, allowed = exact(number), exact(tolerance)
    noise = min(abs(wanted) / 10**12, Fraction(1, 10**6))  # 0.1 + 0.2 must equal 0.3
    return bool(readings) and all(
        abs(one - wanted) <= allowed + (noise if {one.denominator, wanted.denominator} != {1} else 0)
        for one in readings
    )


def exact(number: float) -> Fraction:
    """The number as it is written, not as it is stored in binary."""
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


def _prepared(text: str) -> str:
    text = _RAISED.sub(lambda raised: "^" + unicodedata.normalize("NFKC", raised[0]), text)
    text = _VULGAR.sub(_written_out, _with_minus_signs(text).replace("\u2044", "/").replace("\uff0d", "-"))
    text = text.replace("\u066b", ".").replace("\u066c", ",")
    if not text.isascii():
        text = "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in text)
    text = _RANGE_IN_WORDS.sub(lambda found: f"{found[1] or found[2]}-", text)
    return _NO_NUMBER.sub("\0", _NO_CENTS.sub(",00", text))


def _written_out(vulgar: re.Match[str]) -> str:
    fraction = unicodedata.normalize("NFKC", vulgar[2]).replace("\u2044", "/")
    return fraction if vulgar[1] is None else f"{vulgar[1][0]} {fraction}"


DecimalMark = Literal[",", ".", "both"]


def _decimal_mark(text: str) -> DecimalMark | None:
    """What begins decimals, by the numbers that can be read in one way only; None where there is none."""
    marks = {mark for digits in _DIGITS.finditer(text) if (mark := _shown_mark(digits[0])) is not None}
    return "both" if len(marks) > 1 else next(iter(marks), None)


def _shown_mark(digits: str) -> Literal[",", "."] | None:
    points, commas = digits.count("."), digits.count(",")
    if len(digits) > _LONGEST:
        return None
    if points and commas:
        return "." if digits.rfind(".") > digits.rfind(",") else ","
    if points + commas > 1:
        grouped = _GROUPED["." if points else ","].fullmatch(digits) is not None
        return ("," if points else ".") if grouped else None
    if not points + commas or _can_group(digits):
        return None
    return "." if points else ","


def _can_group(digits: str) -> bool:
    return re.fullmatch(r"[1-9]\d{0,2}[.,]\d{3}", digits) is not None


def _tokens(text: str, digits: re.Match[str], mark: DecimalMark | None) -> Iterator[_Token]:
    start, end = digits.span()
    head, tail = text[max(0, start - 24) : start], text[end : end + _AHEAD]
    listed = "," in digits[0] and (head.endswith("[") or tail.startswith("]"))
    values = _values(digits[0], mark, listed=listed)
    if values is None or _is_part_of_name(head):
        return
    if len(values) > 1:
        yield from (_Token(readings=value, end=end) for value in values)
        return
    sign, certain = _sign(head)
    value, used = _with_tail(values[0], digits[0], tail)
    ordinal = _ORDINAL.match(tail, used)
    if ordinal is None and re.match(r"[^\W_]", tail[used:]) is not None:
        return
    if re.match(r"[-\u2212](?![\w\s(])", f"{tail[used:]}.") is not None:
        sign = 0  # a sign behind the number, as accountants write it, or half of a word
    is_source = head.endswith("[") and tail.startswith("]")
    is_year = re.fullmatch(r"(?:19|20)\d\d", digits[0]) is not None and _IN_YEAR.search(head) is not None
    is_aside = is_source or is_year or ordinal is not None or _ASIDE.search(head) is not None
    signed = frozenset(sign * one for one in value) if sign else frozenset[Fraction]()
    yield _Token(readings=signed, end=end + used, certain=certain and not is_aside)


def _is_part_of_name(head: str) -> bool:
    return re.search(r"(?:[^\W_]|\d\.|[^\W_]\.)$", head) is not None


def _values(digits: str, mark: DecimalMark | None, *, listed: bool) -> list[Readings] | None:
    """One number, or several that commas separate; None for what is no number, such as a version."""
    if len(digits) > _LONGEST:
        return [frozenset()]
    points, commas = digits.count("."), digits.count(",")
    if listed or (commas > 1 and not points and _GROUPED[","].fullmatch(digits) is None):
        return [frozenset({Fraction(part)}) if part.isdecimal() else frozenset() for part in digits.split(",")]
    if points + commas == 1 and _can_group(digits):
        grouped, decimal = Fraction(re.sub("[.,]", "", digits)), Fraction(digits.replace(",", "."))
        if mark == "both":
            return [frozenset({grouped, decimal})]
        is_decimal = digits[-4] == (mark or ".")
        return [frozenset({decimal if is_decimal else grouped})]
    return _by_form(digits)


def _by_form(digits: str) -> list[Readings] | None:
    last = max(digits.rfind(","), digits.rfind("."))
    has_decimals = last >= 0 and digits.count(digits[last]) == 1
    whole, decimals = (digits[:last], digits[last + 1 :]) if has_decimals else (digits, "0")
    mark = next((char for char in _GROUPED if char in whole), None)
    if mark is not None and _GROUPED[mark].fullmatch(whole) is None:
        return None if set(whole) <= set("0123456789.") else [frozenset()]
    if not decimals.isdecimal():
        return [frozenset()]
    return [frozenset({Fraction(f"{re.sub(r'[^0-9]', '', whole) or '0'}.{decimals}")})]


def _sign(head: str) -> tuple[int, bool]:
    """1, -1, or 0 for a number without a single value; and whether the number is none of a name such as `B-12`."""
    found = _SIGN.search(head)
    if found is None:
        return 1, True
    before, gap = found["before"], found["gap"] != ""
    in_word = before.isalpha() and not found["space"]
    after_number = before.isdecimal() or before in (")", "%", "]", "\0")
    certain = True
    match found["sign"]:
        case None | "\u2212":
            sign = 1 if after_number else -1
        case "\u00b1":
            sign = 0
        case "\u2014":
            sign = 1 if gap or in_word else 0
        case "+":
            sign = 1
        case dash if gap:
            sign = -1 if before in ("=", ":", "(") and dash != "\u2013" else 1
        case dash:
            is_joined = in_word or (after_number and not found["space"])
            sign, certain = (1 if is_joined else -1), not in_word or dash == "\u2013"
    return sign, certain


def _with_tail(value: Readings, digits: str, tail: str) -> tuple[Readings, int]:
    """The value with what follows its digits, and the length of that."""
    used = 0
    if digits.isdecimal():
        value, used = _with_fraction(value, tail)
    power = _POWER.match(tail, used)
    if power is not None:
        value, used = _raised(value, power), power.end()
    between = _RANGE.match(tail, used)
    if between is not None:
        return frozenset(), between.end()
    for form in (_DEVIATION, _SCALE, _UNIT):
        found = form.match(tail, used)
        if found is not None:
            used = found.end()
            if form is _SCALE:
                value = frozenset(one * _SCALES[found[0].strip(" -").casefold()] for one in value)
    return value, used


def _with_fraction(value: Readings, tail: str) -> tuple[Readings, int]:
    fraction = _FRACTION.match(tail)
    if fraction is not None:
        below = int(fraction[1])
        return frozenset(one / below for one in value) if below else frozenset(), fraction.end()
    mixed = _MIXED.match(tail)
    if mixed is not None and int(mixed[1]) < int(mixed[2]):
        return frozenset(one + Fraction(int(mixed[1]), int(mixed[2])) for one in value), mixed.end()
    return value, 0


def _raised(value: Readings, power: re.Match[str]) -> Readings:
    written = (power[2] or power[4]).replace("\u2212", "-")
    if len(written) > len(str(_MOST_POWER)) + 1 or abs(int(written)) > _MOST_POWER:
        return frozenset()
    exponent = int(written)
    if power["e"] or power["ten"]:
        return frozenset(one * Fraction(10) ** exponent for one in value)
    if any(not one or abs(one) > _MOST_POWER for one in value):
        return frozenset()
    return frozenset(one**exponent for one in value)
