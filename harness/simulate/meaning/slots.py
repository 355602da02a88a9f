"""The values in a text: money, dates, times, percentages, identifiers and numbers, in one form each."""

import re
from collections import Counter
from collections.abc import Set
from dataclasses import dataclass, field
from typing import Final

from harness.simulate.meaning.forms import normal_form, plain_number
from harness.simulate.meaning.tokens import Token, tokens_of
from harness.simulate.meaning.words import listed

_UNIT: Final = re.compile(
    r"(\d+(?:\.\d+)?)(gb|mb|kg|g|lb|lbs|oz|ml|l|cm|mm|in|inch|h|hr|hrs|hours?|min|mins?|days?|st|nd|rd|th|x|k)"
)


_VALUES: Final = listed("money iso time percent email slashed dotted ident number")
_ACTS: Final = listed(
    "i you we they please kindly can could will would shall should may might must let's i'll you'll we'll "
    "they'll i'd you'd we'd i've we've you've don't doesn't didn't can't won't wouldn't couldn't do does "
    "did let me us"
)
"""Words after which an unknown word is a verb."""
_IS_DOING: Final = listed("am i'm we're you're by before after while when keep start")
"""Words after which an unknown word in -ing is a verb."""
_JOINS: Final = listed("to and or then")
_OBJECTS: Final = listed("the a an your my our their it them me us any all each these those")
"""Words before which an unknown word is a verb, where it begins a sentence or follows one of `_JOINS`."""
_BEFORE_A_MONTH: Final = ("of", "de", ".")
"""What may stand between a day and its month: `5 of May`, `5 de mayo`, `5. Mai`."""
_WORDS: Final = ("deciding", "open", "open-ing")
"""Roles of words that count; the open ones are not known."""


@dataclass(kw_only=True)
class Read:
    """A text, read: values by kind, deciding words, and what is bound to what."""

    values: Counter[tuple[str, str]] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)
    manner: set[str] = field(default_factory=set)
    """Of the words, those that stand only where they say how somebody speaks or acts: what one wording has in place of
    another.
    """
    bound: set[tuple[str, str]] = field(default_factory=set)
    """Number and the deciding word after it; amount and the one before it."""
    negated: list[frozenset[str]] = field(default_factory=list)
    """For each negation, the words of its sentence that follow it."""

    def without(self, other: "Read") -> "Read":
        """What is left without a part of the text that holds no value."""
        words = self.words - other.words
        left = list(self.negated)
        for negated in other.negated:
            if negated in left:
                left.remove(negated)
        return Read(values=self.values, words=words, manner=self.manner & words.keys(), bound=self.bound, negated=left)

    @property
    def things(self) -> Set[str]:
        """The words that another wording has to have too."""
        return self.words.keys() - self.manner


def read_values(text: str) -> Read:
    """The values and deciding words of a text in lower case."""
    return _Reader(tokens_of(text)).read()


def sequence_of(text: str) -> list[Token]:
    """The values and words of one clause in lower case, in their order: `soft`, `word`, or the kind of a value."""
    return _Sequencer(tokens_of(text)).sequence()


class _Reader:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._values: list[tuple[str, str]] = []
        self._bound: set[tuple[str, str]] = set()
        self._negated: list[frozenset[str]] = []
        self._things: list[str] = []
        self._manner: list[str] = []
        self._waiting: list[str] = []
        self._last = ""
        self._negations: list[set[str]] = []

    def read(self) -> Read:
        place, tokens, many = 0, self._tokens, len(self._tokens)
        while place < many:
            role, value = tokens[place]
            if role == "soft":
                place += 1
            elif role in _WORDS:
                if role != "deciding" and self._is_manner(place, role):
                    self._manner.append(value)
                elif self._waiting or self._negations:
                    self._take(value)
                else:  # as `_take`, where nothing waits for a word
                    self._things.append(value)
                    self._last = value
                place += 1
            elif role in _VALUES:
                place += self._value(place, role, value)
            else:
                place += self._other(place, role, value)
        self._sentence_ends()
        return Read(
            values=Counter(self._values),
            words=Counter(self._things + self._manner),
            manner=set(self._manner).difference(self._things),
            bound=self._bound,
            negated=self._negated,
        )

    def _sentence_ends(self) -> None:
        if self._negations:
            self._negated += map(frozenset, self._negations)
            self._negations = []
        if self._waiting:
            self._waiting = []
        self._last = ""

    def _other(self, place: int, role: str, value: str) -> int:
        match role:
            case "stop":
                self._sentence_ends()
            case "month":
                return self._date(place, int(value))
            case "may":
                return self._date(place, 5) if self._day_after(place) is not None else 1
            case "negation":
                self._negations.append(set())
            case _:
                self._add("number", value)  # one that is spelt
        return 1

    def _is_manner(self, place: int, role: str) -> bool:
        """Whether a word that is not known stands where a verb does: after who acts, or before what is acted on."""
        role_before, before = self._tokens[place - 1] if place else ("stop", "")
        if before in _ACTS or (role == "open-ing" and before in _IS_DOING):
            return True
        return (before in _JOINS or role_before == "stop") and self._following(place) in _OBJECTS

    def _following(self, place: int) -> str:
        role, text = self._tokens[place + 1] if place + 1 < len(self._tokens) else ("", "")
        return text if role == "soft" else ""

    def _take(self, word: str) -> None:
        self._things.append(word)
        if self._waiting:
            self._bound.update((value, word) for value in self._waiting)
            self._waiting = []
        self._last = word
        for words in self._negations:
            words.add(word)

    def _value(self, place: int, kind: str, text: str) -> int:
        if kind == "number" and (month := self._month_after(place)) is not None:
            self._add("date", f"{month}-{int(float(text.replace(',', '')))}")
            return self._past_date(place)
        if kind == "ident" and (unit := _UNIT.fullmatch(text)) is not None:
            if unit[2] in ("st", "nd", "rd", "th") and (month := self._month_after(place)) is not None:
                self._add("date", f"{month}-{unit[1]}")
                return self._past_date(place)
            self._add("number", plain_number(unit[1]))
            if unit[2] not in ("st", "nd", "rd", "th", "x"):
                self._take(unit[2].rstrip("s"))
            return 1
        self._add(*normal_form(kind, text))
        return 1

    def _add(self, kind: str, value: str) -> None:
        self._values.append((kind, value))
        if kind == "number":
            self._waiting.append(value)
        elif kind == "money" and self._last:
            self._bound.add((value, self._last))

    def _date(self, place: int, month: int) -> int:
        day = self._day_after(place)
        if day is None:
            self._take(f"month-{month}")
            return 1
        self._add("date", f"{month}-{day}")
        return 3 if self._is_year(place + 2) else 2

    def _past_date(self, place: int) -> int:
        """How many tokens a date takes that begins with its day."""
        taken = 3 if self._tokens[place + 1][1] in _BEFORE_A_MONTH else 2
        return taken + self._is_year(place + taken)

    def _is_year(self, place: int) -> bool:
        """Whether a year follows a day: dates are compared by month and day, as those without a year are."""
        if place >= len(self._tokens):
            return False
        kind, text = self._tokens[place]
        return kind == "number" and len(text) == 4 and text[:2] in ("19", "20")

    def _day_after(self, place: int) -> int | None:
        if place + 1 >= len(self._tokens):
            return None
        found = re.match(r"(\d{1,2})(?:st|nd|rd|th)?$", self._tokens[place + 1][1])
        return int(found[1]) if found is not None and 1 <= int(found[1]) <= 31 else None

    def _month_after(self, place: int) -> int | None:
        between = self._tokens[place + 1 : place + 2]
        at = place + 2 if between and between[0][1] in _BEFORE_A_MONTH else place + 1
        role, value = self._tokens[at] if at < len(self._tokens) else ("", "")
        is_month = role == "month" or (role == "may" and (at > place + 1 or self._is_year(at + 1)))
        return int(value) if is_month else None


class _Sequencer(_Reader):
    """Keeps the order instead of what stands for what."""

    def __init__(self, tokens: list[Token]) -> None:
        super().__init__(tokens)
        self._sequence: list[Token] = []

    def sequence(self) -> list[Token]:
        place = 0
        while place < len(self._tokens):
            role, value = self._tokens[place]
            taken = 1
            if role in _WORDS:
                self._take(value)
            elif role in _VALUES:
                taken = self._value(place, role, value)
            elif role == "negation":
                self._sequence.append(("soft", "not"))
            elif role != "soft":
                taken = self._other(place, role, value)
            elif value:
                self._sequence.append((role, value))
            place += taken
        return self._sequence

    def _add(self, kind: str, value: str) -> None:
        self._sequence.append((kind, value))

    def _take(self, word: str) -> None:
        self._sequence.append(("word", word))
