"""What a role holds back until it is asked for, and whether a message reveals it early."""

import re
from typing import Final, Self

from harness.simulate.fidelity.before import Before
from harness.simulate.fidelity.reading_text import cached_values, read_all_values
from harness.simulate.meaning.sentences import asks, is_open_question, sentences
from harness.simulate.role import Role

_FORBIDS: Final = re.compile(
    r"\b(?:do not|don't|never|avoid)\b.{0,12}\b(?:mention|reveal|say|bring up|volunteer|provide|disclose|tell|offer|"
    r"state|share|give)\w*\b(?P<what>.+?)(?:\b(?:unless|until|before|if not|except|as long as)\b.*)?$",
    re.IGNORECASE,
)
_ONLY_ASKED: Final = re.compile(
    r"\b(?:mention|reveal|give|provide|say|tell|share)\w*\b(?P<what>.+?)\bonly (?:if|when|after|once)\b.{0,40}\bask",
    re.IGNORECASE,
)
_UNNAMED: Final = re.compile(r"\s*(?:it|them|yes|no|so)\b", re.IGNORECASE)
"""What is withheld stands elsewhere in the plan, or is an answer."""


class Withheld:
    """Something that is not said before it is asked for."""

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        read = cached_values(text)
        self._values = set(read.values)
        self._words = set(read.words)
        self._own: set[str] = set()

    @property
    def is_recognisable(self) -> bool:
        """Whether it has a word or a value by which a message could be found to say it."""
        return bool(self._words or self._values)

    def with_own_words(self, role: Role) -> Self:
        """With the words that nothing else of the role has: a question about its other topics does not ask for this."""
        others = [one for one in sentences(f"{role.opening}\n{role.plan}") if self.text not in one]
        elsewhere = set(read_all_values(tuple(others)).words)
        self._own = self._words - elsewhere
        return self

    def is_revealed(self, message: str, before: Before) -> bool:
        read = cached_values(message)
        if self._values:
            says = self._values <= set(read.values)
        else:
            says = len(self._words) > 0 and len(self._words & read.words.keys()) >= 0.75 * len(self._words)
        return says and not self._was_asked(before) and not self._is_known(before) and not _repeats(message, before)

    def _was_asked(self, before: Before) -> bool:
        """Whether the agent has asked for something like it, or for whatever else there is."""
        for reply in before.replies:
            for one in sentences(reply):
                if asks(one) and self._is_topic(set(cached_values(one).words)):
                    return True
        return not self._words and any(is_open_question(reply) for reply in before.replies)

    def _is_topic(self, words: set[str]) -> bool:
        """Whether words speak of it; without a word of its own, most of its words have to be there."""
        if self._own:
            return bool(self._own & words)
        return bool(self._words) and 3 * len(self._words & words) >= 2 * len(self._words)

    def _is_known(self, before: Before) -> bool:
        return bool(self._values) and self._values <= set(read_all_values(before.replies).values)


def _repeats(message: str, before: Before) -> bool:
    """Whether the agent has said every value and deciding word of a message, so that it reveals nothing."""
    read, heard = cached_values(message), read_all_values(before.replies)
    return read.words.keys() <= heard.words.keys() and read.values.keys() <= heard.values.keys()


def withheld_by(role: Role) -> list[Withheld]:
    """All that a role lists as withheld, and what its plan forbids to say unasked."""
    listed = [*map(Withheld, role.withhold), *_withheld_in(role.plan)]
    return [one.with_own_words(role) for one in listed]


def _withheld_in(plan: str) -> list[Withheld]:
    found = []
    for one in sentences(plan):
        match = _FORBIDS.search(one) or _ONLY_ASKED.search(one)
        if match is not None and not _UNNAMED.match(match["what"]):
            entry = Withheld(match["what"])
            if entry.is_recognisable:
                found.append(entry)
    return found
