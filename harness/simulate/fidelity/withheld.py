"""What a role holds back until it is asked for, and whether a message reveals it early."""

from collections.abc import Iterator, Set
from typing import Final, Self

from harness.simulate.fidelity.asked_for import KINDS, asks_for_a_kind, asks_for_anything
from harness.simulate.fidelity.before import Before
from harness.simulate.fidelity.language import is_function_word
from harness.simulate.fidelity.reading_text import cached_values, read_all_values, without_accents
from harness.simulate.fidelity.withholding import forbidden_in
from harness.simulate.meaning.sentences import asks, is_open_question, sentences
from harness.simulate.meaning.slots import Read
from harness.simulate.role import Role, texts_by_name

_SAME_ROOT: Final = 5
"""Letters that two forms of a word share: `allergy`, `allergic`."""
_COUNTS_UP_TO: Final = 31
"""A number up to this one is told only beside the thing that it counts."""

Value = tuple[str, str]


class Withheld:
    """Something that is not said before it is asked for."""

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        read = cached_values(text)
        self._values = set(read.values)
        self._bound = read.bound
        self._words = {word for word in read.words if not is_function_word(word)}
        self._own: set[str] = set()
        self._details: set[Value] = set()

    @property
    def is_recognisable(self) -> bool:
        """Whether it has a word or a value by which a message could be found to say it."""
        return bool(self._words or self._values)

    def with_own_words(self, role: Role) -> Self:
        """With the words that nothing else of the role has, by which it is asked for; and with the values that plan or
        profile give to it, where it names none: those of the budget, of the address.
        """
        others = [one for one in sentences(f"{role.opening}\n{role.plan}") if self.text not in one]
        about = [one for one in others if self._names(cached_values(one).words.keys())]
        elsewhere = read_all_values(tuple(one for one in others if one not in about or self._values))
        self._own = self._words - set(elsewhere.words)
        if not self._values:
            of_profile = [text for name, text in texts_by_name(role.profile or {}) if self._names(set(name.split()))]
            given = read_all_values((*about, *of_profile))
            self._details = set(given.values) - set(cached_values(role.opening).values) - set(elsewhere.values)
            self._bound = given.bound
        return self

    def is_revealed(self, message: str, before: Before) -> bool:
        read = cached_values(message)
        return self._is_said(read) and not (
            self._was_asked(before) or self._is_known(before) or _repeats(message, before)
        )

    def _is_said(self, read: Read) -> bool:
        said = {value for value in read.values if self._is_its_own(value, read)}
        if self._values:
            return self._values <= said
        if self._details & said:
            return True
        shared = [word for word in self._words if _has_form(word, read.words.keys())]
        return bool(shared) and len(shared) >= 0.75 * len(self._words)

    def _is_its_own(self, value: Value, read: Read) -> bool:
        """Whether a value of a message is not that of another thing, as small numbers may be."""
        kind, number = value
        if kind != "number" or not number.isdigit() or int(number) > _COUNTS_UP_TO:
            return True
        counted = {pair for pair in self._bound if pair[0] == number}
        return bool(counted & read.bound) if counted else not any(pair[0] == number for pair in read.bound)

    def _names(self, words: Set[str]) -> bool:
        return bool(self._words) and all(_has_form(word, words) for word in self._words)

    def _was_asked(self, before: Before) -> bool:
        """Whether the agent has asked for something like it, or for whatever else there is."""
        for reply in before.replies:
            for one in sentences(reply):
                if asks(one) and (self._is_topic(cached_values(one).words.keys()) or asks_for_anything(one)):
                    return True
        kinds = {kind for kind, _ in (self._values or self._details)}
        if any(asks(one) and asks_for_a_kind(one, kinds, self._words) for one in sentences(before.last)):
            return True
        # A code without a name is asked for by words that are not known.
        return not self._words and not kinds & KINDS and any(is_open_question(reply) for reply in before.replies)

    def _is_topic(self, words: Set[str]) -> bool:
        """Whether words speak of it; without a word of its own, most of its words have to be there."""
        if self._own:
            return any(_has_form(word, words) for word in self._own)
        shared = sum(_has_form(word, words) for word in self._words)
        return bool(self._words) and 3 * shared >= 2 * len(self._words)

    def _is_known(self, before: Before) -> bool:
        values = self._values or self._details
        return bool(values) and values <= set(read_all_values(before.replies).values)


def _has_form(word: str, words: Set[str]) -> bool:
    """Whether a word, or another form or compound of it, is among others."""
    if word in words:
        return True
    plain = without_accents(word)
    if len(plain) < _SAME_ROOT:
        return False
    return any(
        len(other) >= _SAME_ROOT and (plain[:_SAME_ROOT] in other or other[:_SAME_ROOT] in plain)
        for other in map(without_accents, words)
    )


def _repeats(message: str, before: Before) -> bool:
    """Whether the agent has said every value and deciding word of a message, so that it reveals nothing."""
    read, heard = cached_values(message), read_all_values(before.replies)
    return read.words.keys() <= heard.words.keys() and read.values.keys() <= heard.values.keys()


def withheld_by(role: Role) -> list[Withheld]:
    """All that a role lists as withheld, and what its plan forbids to say unasked."""
    listed = [*map(Withheld, role.withhold), *_withheld_in(role.plan)]
    return [one.with_own_words(role) for one in listed]


def _withheld_in(plan: str) -> Iterator[Withheld]:
    for one in sentences(plan):
        text = forbidden_in(one)
        if text is not None and (entry := Withheld(text)).is_recognisable:
            yield entry
