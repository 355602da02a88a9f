"""A message of an agent, read as far as it was asked for: what it says, and what its sentences do."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from difflib import SequenceMatcher
from functools import cache, cached_property, lru_cache
from typing import Final

from harness.users.meaning.sentences import (
    may_offer_more,
    offers_more,
    only_offers,
    promises,
    proposes,
    puts_a_question,
    questions_a_fact,
    requests_of_user,
    sentences,
    wants_something,
    without_markup,
)
from harness.users.meaning.words import (
    Read,
    deciding,
    is_of_domain,
    is_weighty,
    lines_of,
    listed,
    read_values,
    scope_words,
    stem,
)

# What is said for politeness: greetings, thanks, apologies, and set phrases that deny nothing.

_POLITE: Final = re.compile(
    r"\b(?:thank(?:s| you)|you'?re welcome|hello|hi there|good (?:morning|afternoon|evening|day|bye)|goodbye|have "
    r"a|welcome to|"
    r"sorry (?:to hear|for|about)|i apologi[sz]e|apologies|i understand|i appreciate|no (?:problem|worries)|my "
    r"pleasure|"
    r"of course|certainly|sure thing|absolutely|great choice|got it|glad|happy to|take care|safe travels|enjoy|"
    r"don'?t hesitate|feel free|here to help|thanks for your patience)\b"
)
_POLITE_WORDS: Final = (
    *("thank", "welcome", "hello", "hi ", "good", "have a", "sorry", "apolog", "understand", "appreciate", "no "),
    *("pleasure", "course", "certain", "sure", "absolute", "great", "got it", "glad", "happy", "care", "safe"),
    *("enjoy", "hesitate", "free", "to help"),
)
_SET_PHRASE: Final = re.compile(
    r"\b(?:from what|(?:as|so|in so) far as|insofar as|to the best of what) (?:i|we) (?:can |could |may )?[a-z]+"
    r"(?: from here)?,\s|"
    r"\bif (?:you don[\u2019']?t mind|(?:that|it)(?: is|[\u2019']s) (?:no|not too much) (?:trouble|bother))\b,?|"
    r"\bdon[\u2019']?t worry\b,?|\bnot a problem\b,?|\bno (?:doubt|matter what)\b,?|"
    r"\bwithout (?:further )?ado\b|\byes(?: or |/)no\b",
    re.IGNORECASE,
)
"""What is said for politeness, and may hold a negation that denies nothing."""
_PHRASE_WORDS: Final = (
    "from what",
    "far as",
    "best of what",
    "mind",
    "trouble",
    "bother",
    "worry",
    "problem",
    "doubt",
    "matter what",
    " ado",
    "no",
)


def without_set_phrases(text: str) -> str:
    """A text without phrases such as `if you don't mind`, whose negation denies nothing."""
    return _SET_PHRASE.sub(" ", text) if any(word in text for word in _PHRASE_WORDS) else text


def may_be_polite(sentence: str) -> bool:
    """Whether a sentence in lower case holds a word that every polite formula has."""
    return any(word in sentence for word in _POLITE_WORDS)


def is_polite(sentence: str) -> bool:
    """Whether a sentence in lower case holds a polite formula."""
    return _POLITE.search(sentence) is not None


# Set phrases by what they mean: `prior to` is `before`, `all set` and `Great!` say nothing.

_FILE: Final = "idioms.txt"
_MARKS: Final = ".,!?;:\"')]}"
_QUOTES: Final = frozenset("\"'([{\u201c")
_ENDS: Final = (".", "!", "?", ";", ":", "\u2026")
_EXCLAIMED: Final = listed(
    "great excellent perfect wonderful good nice fantastic awesome amazing lovely brilliant splendid super fine right "
    "correct first finally lastly next second third"
)
"""Words that open a sentence by themselves: `Great!`, `First, ...`."""


Phrase = tuple[tuple[str, ...], str]
"""Its words, and what they mean."""


def without_idioms(text: str) -> str:
    """A text in lower case in which each set phrase stands as the word that it means."""
    words = text.split()
    phrases = _phrases()
    if phrases.keys().isdisjoint(words) and _QUOTES.isdisjoint(text):
        return text
    found: list[str] = []
    place, many = 0, len(words)
    while place < many:
        word = words[place]
        known = phrases.get(word) or (phrases.get(word[1:]) if word[0] in _QUOTES else None)
        follows = words[place + 1].rstrip(_MARKS) if known is not None and place + 1 < many else ""
        if known is None or (follows not in known and "" not in known):
            found.append(word)
            place += 1
            continue
        taken, meaning = _read(words, place, (*known.get(follows, ()), *known.get("", ())))
        found += meaning
        place += taken
    return " ".join(found)


def _read(words: Sequence[str], place: int, phrases: Iterable[Phrase]) -> tuple[int, list[str]]:
    """How many words are taken, and what they mean."""
    for phrase, meaning in phrases:
        many = len(phrase)
        if place + many > len(words) or (many == 1 and place and not words[place - 1].endswith(_ENDS)):
            continue
        if many == 1:
            return 1, [meaning] if meaning else []
        last = words[place + many - 1]
        plain = last.rstrip(_MARKS)
        if (*words[place + 1 : place + many - 1], plain) == phrase[1:]:
            quote = words[place][0] if words[place][0] in _QUOTES else ""
            return many, [one for one in (quote + meaning, last[len(plain) :]) if one]
    return 1, [words[place]]


@cache
def _phrases() -> Mapping[str, Mapping[str, Sequence[Phrase]]]:
    """The first word -> the second one, or nothing -> the phrases that begin so, the longest first."""
    found: dict[str, dict[str, list[Phrase]]] = {}
    for line in lines_of(_FILE):
        text, _, meaning = line.partition(":")
        words = tuple(text.split())
        found.setdefault(words[0], {}).setdefault(words[1], []).append((words, meaning.strip()))
    for word in _EXCLAIMED:
        for mark in "!,":
            found.setdefault(word + mark, {})[""] = [((word + mark,), "")]
    for seconds in found.values():
        for phrases in seconds.values():
            phrases.sort(key=lambda one: -len(one[0]))
    return found


_WORD: Final = re.compile(r"[a-z']+")
_YES_NO: Final = re.compile(
    r"(?:yes|yep|yeah|no|nope)\b(?! (?:problem|worries))|correct\b|that(?:'s| is) (?:right|correct)"
)


class Said:
    """A text, read as far as it was asked for."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _plain(self) -> str:
        return without_set_phrases(without_markup(self.text).lower()).replace("\n", " ; ")

    @cached_property
    def values(self) -> Read:
        """The values, which no set phrase changes; polite sentences hold none."""
        return read_values(self._plain)

    @cached_property
    def whole(self) -> Read:
        """Everything."""
        plain = without_idioms(self._plain)
        return self.values if plain == self._plain else read_values(plain)

    @property
    def statements(self) -> tuple[str, ...]:
        """The sentences that are there for what they say."""
        return self._parts[0]

    @cached_property
    def read(self) -> Read:
        """What the statements hold."""
        left = self.whole
        for polite in self._parts[1]:
            left = left.without(polite)
        return left

    @cached_property
    def _parts(self) -> tuple[tuple[str, ...], list[Read]]:
        parts: list[str] = []
        polite: list[Read] = []
        for sentence in map(without_idioms, map(str.lower, sentences(without_set_phrases(self.text)))):
            read = _read_if_polite(sentence)
            if read is None:
                parts.append(sentence)
            else:
                polite.append(read)
        return tuple(parts), polite

    @cached_property
    def acts(self) -> tuple[str, ...]:
        """The sentences that are not an offer of further help."""
        return tuple(one for one in self.statements if not only_offers(one))

    @cached_property
    def asks(self) -> bool:
        """Whether a sentence asks for something."""
        return any(wants_something(one) for one in self.acts)

    @cached_property
    def questions(self) -> int:
        """How many sentences put a question, requests in the form of one apart."""
        return sum(puts_a_question(one) and not requests_of_user(one) for one in self.acts)

    @cached_property
    def proposes(self) -> bool:
        """Whether a sentence asks for leave to do something."""
        return any(proposes(one) for one in self.acts)

    @cached_property
    def facts_questioned(self) -> int:
        """How many sentences ask whether something is so."""
        return sum(questions_a_fact(one) for one in self.acts)

    @cached_property
    def promises(self) -> bool:
        return any(promises(one) for one in self.statements)

    @cached_property
    def answer(self) -> str:
        """`yes` or `no`, where it begins with one; else empty."""
        found = _YES_NO.match(self.statements[0]) if self.statements else None
        return "" if found is None else "no" if found[0].startswith("n") else "yes"

    @cached_property
    def words(self) -> Counter[str]:
        """The stems of all words, those without weight included."""
        return Counter(stem(word) for one in self.statements for word in _WORD.findall(one))

    @property
    def is_empty(self) -> bool:
        return not self.statements


@lru_cache(maxsize=16_384)
def said_in(text: str) -> Said:
    """What a text says, read once however often it is compared."""
    return Said(text)


def _read_if_polite(sentence: str) -> Read | None:
    """What a sentence holds that is there for its manner: no value, and few words that decide; None for any other."""
    offers = may_offer_more(sentence)
    if not offers and not may_be_polite(sentence):
        return None
    read = read_values(sentence)
    if read.values or len(read.things - {"today"}) > 1 or read.things & (scope_words() - {"today"}):
        return None
    if not read.negated and ((offers and offers_more(sentence)) or is_polite(sentence)):
        return read
    return None


# Words of one text alone that stand in place of a manner of speaking in the other: another wording, and no change.
#
# Where a text names all that the other one names, and has unknown words besides, each of these has to stand where the
# other text has words, all of them without any thing, state or deed, and may not bring a sentence of its own.
# "Unfortunately, it left" and "Bummer, but it left" are one; "it left" and "it left with a kettle" are two, and so
# are
# "it is ready" and "it is haunted".

_UNIT: Final = re.compile(r"[a-z]+(?:'[a-z]+)?|[^\W_a-z]\S*|[.!?;\n]")
_STOPS: Final = frozenset(".!?;\n")
_LONGEST: Final = 2_000
"""Words of a text that are aligned; the alignment of longer ones takes longer than it is worth."""


def only_reworded(plain: str, other: str, unknown: Set[str]) -> bool:
    """Whether each of the `unknown` words, which `other` alone has, stands in place of words of manner in `plain`."""
    if any(is_of_domain(word) for word in unknown):
        return False
    was, is_ = _units(plain), _units(other)
    if max(len(was), len(is_)) > _LONGEST:
        return False
    for kind, start, end, from_, to in SequenceMatcher(None, was, is_, autojunk=False).get_opcodes():
        if kind in ("equal", "delete") or unknown.isdisjoint(_forms(is_[from_:to])):
            continue
        if kind == "insert" or not _is_manner(was[start:end]) or _stops(is_[from_:to]) > _stops(was[start:end]):
            return False
    return True


def only_in_idioms(plain: str, other: str, words: Set[str]) -> bool:
    """Whether `words`, such as `within`, stand in `other` only inside of unknown turns of phrase that replace words of
    manner: `I can` is `it lies within my remit to`, and `I will` is not `I will within 3 days`.
    """
    was, is_ = _units(plain), _units(other)
    if max(len(was), len(is_)) > _LONGEST:
        return False
    for kind, start, end, from_, to in SequenceMatcher(None, was, is_, autojunk=False).get_opcodes():
        if kind in ("equal", "delete") or words.isdisjoint(_forms(is_[from_:to])):
            continue
        unknown = {form for form in _forms(is_[from_:to]) if not is_of_domain(form)}
        values = any(unit[0].isdigit() or unit[0] in "$#" for unit in is_[from_ : to + 1])
        if kind == "insert" or values or not unknown or not _is_manner(was[start:end]):
            return False
    return True


@lru_cache(maxsize=4_096)
def _units(text: str) -> list[str]:
    return _UNIT.findall(without_idioms(without_markup(text).lower().replace("\n", " ; ")))


def _forms(units: list[str]) -> Set[str]:
    return {form for form in map(deciding, units) if form is not None}


def _is_manner(units: list[str]) -> bool:
    words = [unit for unit in units if unit not in _STOPS]
    return bool(words) and not any(deciding(word) is not None or is_weighty(word) for word in words)


def _stops(units: list[str]) -> int:
    return sum(unit in _STOPS for unit in units)
