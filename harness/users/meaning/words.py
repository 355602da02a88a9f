"""The words of a text that decide what it means: without those that may differ, and with one word for several."""

import re
from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Final

_DOMAIN: Final = "same_words.txt"
_SCOPE: Final = "scope_words.txt"
_ENDINGS: Final = ("ies", "ing", "ed", "es", "s", "ly")


def listed(words: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(words.split())


_NO_ADVERB: Final = listed(
    "daily weekly monthly yearly hourly nightly quarterly early family supply reply assembly jelly july "
    "italy elderly friendly belly bully butterfly fly rally tally lily only solely exclusively merely partially partly "
    "fully permanently temporarily"
)
"""Words in -ly that say what something is, not how something is done."""


_DENYING: Final = listed("un in im il ir dis non mis")


@lru_cache(maxsize=65_536)
def deciding(word: str) -> str | None:
    """The form in which a lower-case word is compared; None for a word that may differ."""
    plain = word.removesuffix("'s").strip("'")
    if len(plain) < 2 or plain in _soft() or (plain.endswith("ly") and plain not in _NO_ADVERB):
        return None
    same = _same()
    if plain in same:
        return same[plain]
    root = stem(plain)
    if root in _soft_roots() or plain in _soft_roots():
        return None
    return same.get(root, root)


def is_of_domain(form: str) -> bool:
    """Whether a form of `deciding` is a known thing or action, which counts wherever it stands."""
    return form in _forms()


def is_weighty(word: str) -> bool:
    """Whether a lower-case word without weight of its own may still not be replaced by one that is not known."""
    return word.removesuffix("'s") in _weighty()


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A word without its ending, as far as two forms of one word have to agree."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            root = word.removesuffix(ending)
            if ending == "ies":
                return f"{root}y"
            if ending in ("ing", "ed") and len(root) > 3 and root[-1] == root[-2] and root[-1] not in "sl":
                return root[:-1]
            return root.removesuffix("e")
    return word.removesuffix("e") if len(word) > 4 else word


@cache
def _soft() -> frozenset[str]:
    return frozenset(word for line in lines_of("soft_words.txt") for word in line.split())


@cache
def _weighty() -> frozenset[str]:
    return frozenset(word for line in lines_of("weighty_words.txt") for word in line.split())


@cache
def _soft_roots() -> frozenset[str]:
    # An adverb has no weight where its adjective may have some: `largely`, `large`.
    return frozenset(stem(word) for word in _soft() if not word.endswith("ly"))


@cache
def _same() -> Mapping[str, str]:
    found: dict[str, str] = {}
    for line in (*lines_of(_DOMAIN), *lines_of(_SCOPE), *lines_of("synonyms.txt")):
        first, _, others = line.partition(":")
        for word in (first, *others.split()):
            found.setdefault(word, first)
            found.setdefault(stem(word), first)
    return found


def opposed(gone: Set[str], new: Set[str]) -> tuple[str, str] | None:
    """A stem that a text has lost and the opposite that it has instead; None where there is none."""
    sides = _opposite_sides()
    said_now = {side: word for word in sorted(new) for side in sides.get(word, ())}
    for word in sorted(gone):
        for pair, side in sides.get(word, ()):
            if (pair, not side) in said_now:
                return word, said_now[pair, not side]
    return next(((one, other) for one in sorted(gone) for other in sorted(new) if _is_negated(one, other)), None)


def _is_negated(one: str, other: str) -> bool:
    """Whether one of two words is the other one with a prefix that denies it: `valid`, `invalid`."""
    short, long = sorted((one, other), key=len)
    return len(short) > 3 and long.endswith(short) and long.removesuffix(short) in _DENYING


@cache
def _opposite_sides() -> Mapping[str, frozenset[tuple[int, bool]]]:
    """Stem -> the pairs of opposites that it belongs to, and on which side."""
    found: dict[str, set[tuple[int, bool]]] = {}
    for pair, line in enumerate(lines_of("opposite_words.txt")):
        for side, words in enumerate(line.split(":")):
            for word in words.split():
                found.setdefault(stem(word), set()).add((pair, bool(side)))
    return {word: frozenset(sides) for word, sides in found.items()}


@cache
def _forms() -> frozenset[str]:
    return frozenset(line.partition(":")[0] for line in (*lines_of(_DOMAIN), *lines_of(_SCOPE)))


@cache
def scope_words() -> frozenset[str]:
    """The forms of words that say how much, how sure, when or which."""
    return frozenset(line.partition(":")[0] for line in lines_of(_SCOPE))


def lines_of(name: str) -> list[str]:
    """The lines of a word list, comments apart."""
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


# The tokens of a text: each word with its role in the comparison, and each value with its kind.

_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            ("january", "jan", "januar", "enero"), ("february", "feb", "februar", "febrero"),
            ("march", "mar", "märz", "marzo"), ("april", "apr", "abril"), ("may", "mai", "mayo"),
            ("june", "jun", "juni", "junio"), ("july", "jul", "juli", "julio"), ("august", "aug", "agosto"),
            ("september", "sep", "sept", "septiembre"), ("october", "oct", "oktober", "okt", "octubre"),
            ("november", "nov", "noviembre"), ("december", "dec", "dezember", "dez", "diciembre"),
        ),
        start=1,
    )
    for name in names
}  # fmt: skip
_NUMBERS: Final = {
    name: number
    for number, name in enumerate(
        (
            *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
            *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
        )
    )
} | {"both": 2, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "hundred": 100, "dozen": 12}
_NEGATIONS: Final = listed("not no never without cannot can't unable neither nor none nothing non n't nobody")
_JOINED: Final = re.compile(
    r"\s(?:(?<=\d\s)(?=[ap]\.?m\b|usd\b|eur\b|dollars?\b|euros?\b|bucks\b|percent\b|%|\u20ac)|"
    r"(?<=[$\u20ac\u00a3]\s)(?=\d))"
)
"""The space between a number and the unit that belongs to its value."""
_TOKEN: Final = re.compile(
    r"[^\w.!?\n;#$\u20ac\u00a3]{0,50}(?:(?P<word>[a-z]+(?:'[a-z]+)?(?![\w@]|-\d|[.+][\w.+-]{0,64}@))|"
    r"(?P<money>(?:(?:us|usd|eur|gbp)\s?)?[$\u20ac\u00a3]\s?-?\d[\d,]{0,40}(?:\.\d+)?|\d[\d,]{0,40}(?:\.\d+)?\s?(?:"
    r"(?:usd|eur|dollars?|euros?|bucks)\b|\u20ac))"
    r"|(?P<iso>\b\d{4}-\d{2}-\d{2}\b)"
    r"|(?P<time>\b\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]\.?m\b\.?)?|\b\d{1,2}\s?[ap]\.?m\b\.?)"
    r"|(?P<percent>\d+(?:\.\d+)?\s?(?:%|percent\b))"
    r"|(?P<email>[\w.+-]{1,64}@[\w-]+\.[\w.]*\w)"
    r"|(?P<slashed>\b\d{1,2}/\d{1,2}(?:/\d{2,4})?\b)"
    r"|(?P<dotted>\b(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.(?:19|20)\d{2}\b)"
    r"|(?P<ident>#?\b(?=[\w-]{0,60}\d)(?=[\w-]{0,60}[a-z_])[a-z0-9][\w-]*\w|#\w+)"
    r"|(?P<number>\d+(?:,\d{3})*(?:\.\d+)?)"
    r"|(?P<other>[^\W\d_]+(?:'[^\W\d_]+)?)"
    r"|(?P<stop>[.!?\n;]))"
)
_DIGITS: Final = "0123456789"
_LONGEST_CHUNK: Final = 40
"""Characters of a piece of text, from space to space, whose reading is kept: longer ones are not the language's."""

Token = tuple[str, str]
"""The role of a word or the kind of a value, and its form."""


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text in lower case."""
    if any(digit in text for digit in _DIGITS):
        text = _JOINED.sub("", text)
    if "\n" in text:
        text = text.replace("\n", " ; ")
    chunks = text.split()
    read = _tokens if max(map(len, chunks), default=0) <= _LONGEST_CHUNK else _tokens_of_any
    return list(chain.from_iterable(map(read, chunks)))


def _tokens_of_any(chunk: str) -> tuple[Token, ...]:
    return _tokens(chunk) if len(chunk) <= _LONGEST_CHUNK else _tokens.__wrapped__(chunk)


@lru_cache(maxsize=65_536)
def _tokens(chunk: str) -> tuple[Token, ...]:
    found: list[Token] = []
    for match in _TOKEN.finditer(chunk):
        kind = match.lastgroup
        if kind is not None:
            found.append(_role_of(match[kind]) if kind in ("word", "other") else (kind, match[kind]))
    return tuple(found)


def _role_of(text: str) -> Token:
    """What a word is to the comparison, and its form: `soft`, `deciding`, `open` or `open-ing` (not known, perhaps of
    manner), `negation`, `spelt`, `month` or `may`.
    """
    if text in _MONTHS:
        return ("may", "5") if text == "may" else ("month", str(_MONTHS[text]))
    if text in _NEGATIONS or text.endswith("n't"):
        return "negation", text
    if text in _NUMBERS:
        return ("soft", "") if text in ("one", "zero") else ("spelt", str(_NUMBERS[text]))
    word = deciding(text)
    if word is None:
        return "soft", text
    return "deciding" if is_of_domain(word) else "open-ing" if text.endswith("ing") else "open", word


# The one form of a value, however it is written.

_MONTH_AND_DAY: Final = {"iso": (1, 2), "slashed": (0, 1), "dotted": (1, 0)}
"""Where month and day stand in each form of a date; `05.11.2024` is written where the day comes first."""


@lru_cache(maxsize=16_384)
def normal_form(kind: str, text: str) -> tuple[str, str]:
    """The kind of a value and its one form; dates are month and day."""
    digits = re.findall(r"\d+", text)
    match kind:
        case "money":
            return kind, plain_number(_with_point(re.sub(r"[^\d.,]", "", text).strip(".,")))
        case "percent" | "number":
            return kind, plain_number(re.sub(r"[^\d.]", "", text).strip("."))
        case "iso" | "slashed" | "dotted":
            month, day = _MONTH_AND_DAY[kind]
            return "date", f"{int(digits[month])}-{int(digits[day])}"
        case "time":
            return "time", _time(text)
        case _:
            return "id", text.strip("#-_")


def _with_point(amount: str) -> str:
    """An amount whose cents stand behind a point: `12,50` and `1.200` are written so on the continent of Europe."""
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+(?:,\d\d)?|\d+,\d\d", amount):
        amount = amount.replace(".", "").replace(",", ".")
    return amount.replace(",", "")


def _time(text: str) -> str:
    digits = [int(part) for part in re.findall(r"\d+", text)]
    hour, minute = digits[0], digits[1] if len(digits) > 1 else 0
    if "p" in text and hour < 12:
        hour += 12
    elif "a" in text and hour == 12:
        hour = 0
    return f"{hour}:{minute:02}"


def plain_number(text: str) -> str:
    """A number without the zeros that change nothing; `text` where it is none."""
    try:
        return f"{float(text):.12g}" if len(text) < 12 else text
    except ValueError:
        return text


# The values in a text: money, dates, times, percentages, identifiers and numbers, in one form each.

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
