"""The values in a text: money, dates, times, percentages, identifiers and numbers, in one form each."""

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from harness.simulate.meaning.words import deciding

_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            ("january", "jan"), ("february", "feb"), ("march", "mar"), ("april", "apr"), ("may",), ("june", "jun"),
            ("july", "jul"), ("august", "aug"), ("september", "sep", "sept"), ("october", "oct"), ("november", "nov"),
            ("december", "dec"),
        ),
        start=1,
    )
    for name in names
}  # fmt: skip
_NUMBERS: Final = {
    name: number
    for number, name in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty",
        ]
    )
} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "hundred": 100, "dozen": 12}
_NEGATIONS: Final = frozenset(
    (
        "not",
        "no",
        "never",
        "without",
        "cannot",
        "can't",
        "unable",
        "neither",
        "nor",
        "none",
        "nothing",
        "non",
        "n't",
        "nobody",
    )
)
_TOKEN: Final = re.compile(
    r"[^\w.!?\n;#$\u20ac\u00a3]{0,50}(?:(?P<word>[a-z]+(?:'[a-z]+)?(?![\w@]|-\d|[.+][\w.+-]{0,64}@))|"
    r"(?P<money>(?:(?:us|usd|eur|gbp)\s?)?[$\u20ac\u00a3]\s?-?\d[\d,]*(?:\.\d+)?|\d[\d,]*(?:\.\d+)?\s?(?:usd|eur|dollars?|euros?|bucks)\b)"
    r"|(?P<iso>\b\d{4}-\d{2}-\d{2}\b)"
    r"|(?P<time>\b\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]\.?m\b\.?)?|\b\d{1,2}\s?[ap]\.?m\b\.?)"
    r"|(?P<percent>\d+(?:\.\d+)?\s?(?:%|percent\b))"
    r"|(?P<email>[\w.+-]{1,64}@[\w-]+\.[\w.]*\w)"
    r"|(?P<slashed>\b\d{1,2}/\d{1,2}(?:/\d{2,4})?\b)"
    r"|(?P<ident>#?\b(?=[\w-]{0,60}\d)(?=[\w-]{0,60}[a-z_])[a-z0-9][\w-]*\w|#\w+)"
    r"|(?P<number>\d[\d,]*(?:\.\d+)?)"
    r"|(?P<other>[^\W\d_]+(?:'[^\W\d_]+)?)"
    r"|(?P<stop>[.!?\n;]))"
)
_UNIT: Final = re.compile(
    r"(\d+(?:\.\d+)?)(gb|mb|kg|g|lb|lbs|oz|ml|l|cm|mm|in|inch|h|hr|hrs|hours?|min|mins?|days?|st|nd|rd|th|x|k)"
)


@dataclass(kw_only=True)
class Read:
    """A text, read: values by kind, deciding words, and what is bound to what."""

    values: Counter[tuple[str, str]] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)
    bound: set[tuple[str, str]] = field(default_factory=set)
    """Number and the deciding word after it; amount and the one before it."""
    negated: list[frozenset[str]] = field(default_factory=list)
    """For each negation, the words of its sentence that follow it."""
    soft: int = 0
    """Words that may differ."""


def read_values(text: str) -> Read:
    """The values and deciding words of a text in lower case."""
    tokens = [(kind, match[kind]) for match in _TOKEN.finditer(text) if (kind := match.lastgroup) is not None]
    reader = _Reader(tokens)
    reader.run()
    return reader.found


@lru_cache(maxsize=65_536)
def _role_of(text: str) -> tuple[str, str]:
    """What a word is to the comparison: `soft`, `deciding`, `negation`, `number`, `month` or `may`; and its value."""
    if text in _MONTHS:
        return ("may", "5") if text == "may" else ("month", str(_MONTHS[text]))
    if text in _NEGATIONS or text.endswith("n't"):
        return "negation", text
    if text in _NUMBERS:
        return ("soft", "") if text in ("one", "zero") else ("number", str(_NUMBERS[text]))
    word = deciding(text)
    return ("soft", "") if word is None else ("deciding", word)


class _Reader:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self.found = Read()
        self._waiting: list[tuple[str, str]] = []
        self._last = ""
        self._negations: list[set[str]] = []

    def run(self) -> None:
        place, tokens, soft = 0, self._tokens, 0
        while place < len(tokens):
            kind, text = tokens[place]
            if kind in {"word", "other"}:
                role, value = _role_of(text)
                if role == "soft":
                    soft += 1
                    place += 1
                else:
                    place += self._word(place, role, value)
            elif kind == "stop":
                self._sentence_ends()
                place += 1
            else:
                place += self._value(place, kind, text)
        self._sentence_ends()
        self.found.soft = soft

    def _sentence_ends(self) -> None:
        if self._negations:
            self.found.negated += [frozenset(words) for words in self._negations]
            self._negations = []
        self._waiting, self._last = [], ""

    def _word(self, place: int, role: str, value: str) -> int:
        match role:
            case "deciding":
                self._take(value)
            case "month":
                return self._date(place, int(value))
            case "may":
                return self._date(place, 5) if self._day_after(place) is not None else 1
            case "negation":
                self._negations.append(set())
            case _:
                self._add("number", value)
        return 1

    def _take(self, word: str) -> None:
        self.found.words[word] += 1
        for value in self._waiting:
            self.found.bound.add((value[1], word))
        self._waiting = []
        self._last = word
        for words in self._negations:
            words.add(word)

    def _value(self, place: int, kind: str, text: str) -> int:
        if kind == "number" and (month := self._month_after(place)) is not None:
            self._add("date", f"{month}-{int(float(text.replace(',', '')))}")
            return 3 if self._tokens[place + 1][1] == "of" else 2
        if kind == "ident" and (unit := _UNIT.fullmatch(text)) is not None:
            if unit[2] in ("st", "nd", "rd", "th") and (month := self._month_after(place)) is not None:
                self._add("date", f"{month}-{unit[1]}")
                return 3 if self._tokens[place + 1][1] == "of" else 2
            self._add("number", _plain_number(unit[1]))
            if unit[2] not in ("st", "nd", "rd", "th", "x"):
                self._take(unit[2].rstrip("s"))
            return 1
        self._add(*_normal(kind, text))
        return 1

    def _add(self, kind: str, value: str) -> None:
        self.found.values[kind, value] += 1
        if kind == "number":
            self._waiting.append((kind, value))
        elif kind == "money" and self._last:
            self.found.bound.add((value, self._last))

    def _date(self, place: int, month: int) -> int:
        day = self._day_after(place)
        if day is None:
            self._take(f"month-{month}")
            return 1
        self._add("date", f"{month}-{day}")
        return 2

    def _day_after(self, place: int) -> int | None:
        if place + 1 >= len(self._tokens):
            return None
        found = re.match(r"(\d{1,2})(?:st|nd|rd|th)?$", self._tokens[place + 1][1])
        return int(found[1]) if found is not None and 1 <= int(found[1]) <= 31 else None

    def _month_after(self, place: int) -> int | None:
        following = [text for _, text in self._tokens[place + 1 : place + 3]]
        if following[:1] == ["of"]:
            following = following[1:]
        return _MONTHS.get(following[0]) if following and following[0] != "may" else None


def _normal(kind: str, text: str) -> tuple[str, str]:
    """The kind of a value and its one form; dates are month and day."""
    digits = re.findall(r"\d+", text)
    match kind:
        case "money" | "percent" | "number":
            return kind, _plain_number(re.sub(r"[^\d.]", "", text).strip("."))
        case "iso":
            return "date", f"{int(digits[1])}-{int(digits[2])}"
        case "slashed":
            return "date", f"{int(digits[0])}-{int(digits[1])}"
        case "time":
            return "time", _time(text)
        case _:
            return "id", text.strip("#-_")


def _time(text: str) -> str:
    digits = [int(part) for part in re.findall(r"\d+", text)]
    hour, minute = digits[0], digits[1] if len(digits) > 1 else 0
    if "p" in text and hour < 12:
        hour += 12
    elif "a" in text and hour == 12:
        hour = 0
    return f"{hour}:{minute:02}"


def _plain_number(text: str) -> str:
    try:
        return f"{float(text):g}" if len(text) < 12 else text
    except ValueError:
        return text
