"""A message of an agent, read as far as it was asked for: what it says, and what its sentences do."""

import re
from collections import Counter
from functools import cached_property, lru_cache
from typing import Final

from harness.simulate.meaning.idioms import without_idioms
from harness.simulate.meaning.politeness import is_polite, may_be_polite, without_set_phrases
from harness.simulate.meaning.requests import requests_of_user, wants_something
from harness.simulate.meaning.sentences import (
    may_offer_more,
    offers_more,
    only_offers,
    promises,
    proposes,
    puts_a_question,
    questions_a_fact,
    sentences,
    without_markup,
)
from harness.simulate.meaning.slots import Read, read_values
from harness.simulate.meaning.words import scope_words, stem

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
