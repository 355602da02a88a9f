"""Two texts of an agent, compared by what they do, by their values, and by the words that decide.

Offers of further help, greetings, thanks and apologies do not count. Everything else has to agree: a question asked or
not, a refusal or not, each value (and what it belongs to), each negation, and every word that is not known to be
without weight.
Texts that share nothing but weightless words have to be nearly the same.
"""

import re
from collections import Counter
from functools import cached_property, lru_cache
from typing import Final, Literal

from harness.simulate.meaning.sentences import asks, offers_more, promises, puts_a_question, refuses, sentences
from harness.simulate.meaning.slots import Read, read_values
from harness.simulate.meaning.words import stem

Kind = Literal["slots", "act", "meaning"]
_POLITE: Final = re.compile(
    r"\b(?:thank(?:s| you)|you'?re welcome|hello|hi there|good (?:morning|afternoon|evening|day|bye)|goodbye|have "
    r"a|welcome to|"
    r"sorry (?:to hear|for|about)|i apologi[sz]e|apologies|i understand|i appreciate|no (?:problem|worries)|my "
    r"pleasure|"
    r"of course|certainly|sure thing|absolutely|great choice|got it|glad|happy to|take care|safe travels|enjoy|"
    r"don'?t hesitate|feel free|here to help|thanks for your patience)\b"
)
_POLITE_WORDS: Final = (
    "thank",
    "welcome",
    "hello",
    "hi ",
    "good",
    "have a",
    "sorry",
    "apolog",
    "understand",
    "appreciate",
    "no ",
    "pleasure",
    "course",
    "certain",
    "sure",
    "absolute",
    "great",
    "got it",
    "glad",
    "happy",
    "care",
    "safe",
    "enjoy",
    "hesitate",
    "free",
    "to help",
)
_WORD: Final = re.compile(r"[a-z']+")
_YES_NO: Final = re.compile(
    r"(?:yes|yep|yeah|no|nope)\b(?! (?:problem|worries))|correct\b|that(?:'s| is) (?:right|correct)"
)
_LEAST_SHARED: Final = 0.34
"""Of the words of two texts without any value or deciding word."""


class _Text:
    """A text, read as far as it was asked for."""

    def __init__(self, text: str) -> None:
        self.told = tuple(one.lower() for one in sentences(text))
        self.told = tuple(one for one in self.told if not _is_polite(one))
        self.plain = " \n ".join(self.told)
        self.read = read_values(self.plain)

    @cached_property
    def asks(self) -> bool:
        """Whether a sentence asks for something."""
        return any(asks(one) and not offers_more(one) for one in self.told)

    @cached_property
    def questions(self) -> int:
        """How many sentences put a question, requests in the form of one apart."""
        return sum(puts_a_question(one) and not offers_more(one) for one in self.told)

    @cached_property
    def refuses(self) -> bool:
        return refuses(self.plain)

    @cached_property
    def promises(self) -> bool:
        return any(promises(one) for one in self.told)

    @cached_property
    def answer(self) -> str:
        """`yes` or `no`, where it begins with one; else empty."""
        found = _YES_NO.match(self.told[0]) if self.told else None
        return "" if found is None else "no" if found[0].startswith("n") else "yes"

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(stem(word) for word in _WORD.findall(self.plain))

    @property
    def is_empty(self) -> bool:
        return not self.plain.strip()


def texts_differ(then: str, now: str) -> tuple[Kind, str] | None:
    """What differs first, and in which words; None where both mean the same."""
    if then == now or " ".join(then.split()).casefold() == " ".join(now.split()).casefold():
        return None
    was, is_ = _text(then), _text(now)
    return _values_differ(was.read, is_.read) or _acts_differ(was, is_) or _words_differ(was, is_)


def _values_differ(was: Read, is_: Read) -> tuple[Kind, str] | None:
    if was.values != is_.values:
        gone, new = _shown(was.values - is_.values), _shown(is_.values - was.values)
        return "slots", f"the log has {gone or 'no further value'}, the agent {new or 'none in its place'}"
    gone_words, new_words = sorted(was.words - is_.words), sorted(is_.words - was.words)
    # A word that is said less often, and none in its place, is still said.
    if was.words.keys() != is_.words.keys() or (gone_words and new_words):
        return "slots", f"the log speaks of {gone_words[:5]}, the agent of {new_words[:5]}"
    if was.bound != is_.bound:
        changed = sorted(was.bound ^ is_.bound)[:4]
        return "slots", f"values belong to other things: {changed}"
    return None


def _acts_differ(was: _Text, is_: _Text) -> tuple[Kind, str] | None:
    if was.questions != is_.questions:
        return "act", f"the log puts {was.questions} question(s), the agent {is_.questions}"
    if was.answer != is_.answer:
        return "act", f"the log answers {was.answer or 'neither yes nor no'}, the agent {is_.answer or 'neither'}"
    for what in ("asks", "refuses", "promises"):
        if getattr(was, what) != getattr(is_, what):
            who, other = ("the log", "the agent") if getattr(was, what) else ("the agent", "the log")
            return "act", f"{who} {what} something, {other} does not"
    if not _same_negations(was.read.negated, is_.read.negated):
        return (
            "act",
            f"{len(was.read.negated)} negation(s) in the log, {len(is_.read.negated)} by the agent, or of other things",
        )
    return None


def _same_negations(was: list[frozenset[str]], is_: list[frozenset[str]]) -> bool:
    if len(was) != len(is_):
        return False
    return all(any(not one or not other or one & other for other in is_) for one in was)


def _words_differ(was: _Text, is_: _Text) -> tuple[Kind, str] | None:
    if was.is_empty != is_.is_empty:
        return "meaning", "only one of both says anything"
    if was.read.values or was.read.words or was.is_empty:
        return None
    shared, every = len(was.words & is_.words), len(was.words | is_.words)
    if every and shared / every < _LEAST_SHARED:
        return "meaning", f"{shared} of {every} words are shared"
    return None


@lru_cache(maxsize=16_384)
def _text(text: str) -> _Text:
    return _Text(text)


def _is_polite(sentence: str) -> bool:
    """Whether a sentence is there for its manner: it holds no value, and few words that decide."""
    offers = offers_more(sentence)
    if not offers and not (any(word in sentence for word in _POLITE_WORDS) and _POLITE.search(sentence)):
        return False
    read = read_values(sentence)
    return not read.values and len(read.words) <= 1 and (offers or not read.negated)


def _shown(values: Counter[tuple[str, str]]) -> str:
    return ", ".join(f"{kind} {value}" for kind, value in sorted(values)[:5])
