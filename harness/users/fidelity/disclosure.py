"""What a role holds back until it is asked for, and whether a message reveals it early."""

import re
import unicodedata
from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, Self

from harness.users.fidelity.message import is_function_word
from harness.users.meaning.sentences import asks, is_open_question, sentences
from harness.users.meaning.words import Read, read_values
from harness.users.role import Role, texts_by_name

# What was said before a message of a simulated user.


@dataclass(frozen=True, kw_only=True)
class Before:
    """What was said before a message of the user."""

    own: tuple[str, ...]
    """The user's messages."""
    replies: tuple[str, ...]
    """The agent's, the last one directly before the message."""

    @cached_property
    def last(self) -> str:
        return self.replies[-1] if self.replies else ""


# Texts of a conversation in the form that the rules compare: values, lower case, plain words.

_NUMBERED: Final = re.compile(r"^[ \t]*\d{1,2}[.)][ \t]+", re.MULTILINE)
"""The number of an item of a list, which counts nothing."""


@lru_cache(maxsize=16_384)
def cached_values(text: str) -> Read:
    """The values of a text, which is read once however often it is compared."""
    return read_values(_NUMBERED.sub("", lower_case(text)))


def read_all_values(texts: tuple[str, ...]) -> Read:
    """The values of all texts together."""
    every = Read()
    for one in map(cached_values, texts):
        every.values.update(one.values)
        every.words.update(one.words)
        every.bound |= one.bound
    return every


def without_accents(word: str) -> str:
    """A word with plain letters: `alergia` and `al\u00e9rgico` begin with the same ones."""
    return "".join(letter for letter in unicodedata.normalize("NFKD", word) if not unicodedata.combining(letter))


def lower_case(text: str) -> str:
    return text.lower().replace("\u2019", "'")


def plain_words(text: str) -> str:
    """The words alone, by which two messages are the same whatever their punctuation."""
    return " ".join(re.findall(r"[^\W_]+(?:'[^\W_]+)*", lower_case(text)))


# Whether a question asks for something without its name: for an amount, a day, a place, or for whatever there is.

_ANYTHING: Final = re.compile(
    r"\banything\b.{0,30}\b(?:should|need to|must|ought to|could)\b.{0,20}\b(?:know|consider|take into account)\b|"
    r"\bany (?:other |further |special |particular )?(?:preferences?|requirements?|restrictions?|requests?|wishes|"
    r"needs|"
    r"constraints?|conditions?)\b|\btell (?:me|us) more\b|\b(?:dietary|special) (?:needs|restrictions?|"
    r"requirements?)\b|"
    r"\bworauf (?:soll|muss) ich achten\b|\b(?:besondere|weitere) w\u00fcnsche\b|"
    r"\balguna (?:preferencia|restricci\u00f3n|necesidad)\b|\balgo que deba saber\b",
    re.IGNORECASE,
)
_AMOUNT: Final = (
    r"how much (?:would|do|can|could|may|are) you|budget|price (?:limit|range)|spend|afford|"
    r"wie ?viel (?:m\u00f6chten|wollen|k\u00f6nnen|darf)|ausgeben|cu\u00e1nto (?:quiere|puede|desea)|gastar|presupuesto"
)
_DAY: Final = r"when|what day|which day|what date|what time|wann|welche[rmn]? tag|cu\u00e1ndo|qu\u00e9 d\u00eda|hora"
_NUMBER: Final = r"how many|how old|wie ?viele|wie alt|cu\u00e1nt[oa]s|edad"
_KINDS: Final = {
    kind: re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    for kind, words in (
        ("money", _AMOUNT),
        ("date", _DAY),
        ("time", _DAY),
        ("number", _NUMBER),
        ("percent", _NUMBER),
    )
}
KINDS: Final = frozenset(("money", "date", "time", "number", "percent"))
"""Kinds of values that are asked for by words of their own."""
_TOPICS: Final = (
    (re.compile(r"loyal|reward|bonus", re.IGNORECASE), re.compile(r"\bmember\w*|\bmitglied\w*", re.IGNORECASE)),
    (
        re.compile(r"address|street|live|adress|wohn|direcci|domicilio", re.IGNORECASE),
        re.compile(r"\b(?:where|deliver\w*|ship\w*|wohin|wo|liefer\w*|d\u00f3nde|enviar\w*)\b", re.IGNORECASE),
    ),
    (
        re.compile(r"^name|nombre", re.IGNORECASE),
        re.compile(r"\b(?:who|wer|hei\u00dfen|qui\u00e9n|llama\w*)\b", re.IGNORECASE),
    ),
)
"""For words of what is withheld the words by which it is asked for."""


def asks_for_anything(question: str) -> bool:
    """Whether a question leaves it to the user what to tell."""
    return _ANYTHING.search(question) is not None


def asks_for_a_kind(question: str, kinds: Set[str], topic: Set[str]) -> bool:
    """Whether a question asks for a value of one of the kinds, or for the topic by other words."""
    if any(kind in _KINDS and _KINDS[kind].search(question) for kind in kinds):
        return True
    return any(
        asked.search(question) is not None and any(named.search(word) for word in topic) for named, asked in _TOPICS
    )


# What a sentence of a plan forbids to say unasked, in English, German and Spanish.

_SAY: Final = r"(?:mention|reveal|say|bring up|volunteer|provide|disclose|tell|offer|state|share|give)\w*"
_ASKED: Final = r"\b.{0,40}\bask"
_SAGE: Final = r"(?:erw\u00e4hne?|nenne?|sage?|verrate?|gib|erz\u00e4hle?)"
_DI: Final = r"(?:di|menciona|revela|da|cuenta|indica)"
_FORMS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:do not|don't|never|avoid)\b.{{0,12}}\b{_SAY}\b(?P<what>.+?)"
        r"(?:\b(?:unless|until|before|if not|except|as long as)\b.*)?$",
        rf"\b{_SAY}\b(?P<what>.+?)\bonly (?:if|when|after|once){_ASKED}",
        rf"\bonly {_SAY}\b(?P<what>.+?)\b(?:if|when|after|once){_ASKED}",
        rf"\bonly (?:if|when|after|once){_ASKED}\w*\b[^,]{{0,40}},\s*{_SAY}\b(?P<what>.+)",
        r"\bkeep (?P<what>.+?) (?:to yourself|back|secret|private)\b",
        r"\bhold back (?P<what>.+?)(?:\b(?:unless|until)\b.*)?$",
        rf"\b{_SAGE}\b(?P<what>.+?)\b(?:nicht, (?:bevor|bis|au\u00dfer|solange)|erst|nur)\b.*\b(?:ge)?frag",
        rf"\b{_SAGE}\b(?P<what>.+?)\b(?:nie|niemals|nicht)\b(?!, )",
        r"\bno (?:menciones|digas|reveles|des|cuentes|indiques)\b(?P<what>.+?)"
        r"(?:\b(?:hasta|salvo|a menos|si no|antes)\b.*)?$",
        rf"\b{_DI}\b(?P<what>.+?)\b(?:solo|s\u00f3lo|\u00fanicamente) (?:si|cuando)\b.*\bpregunt",
        rf"\b(?:solo|s\u00f3lo) (?:si|cuando)\b[^,]*\bpregunt\w*,?\s*{_DI}\b(?P<what>.+)",
    )
)
_UNNAMED: Final = re.compile(r"\s*(?:it|them|yes|no|so)\b", re.IGNORECASE)
"""What is withheld stands elsewhere in the plan, or is an answer."""


def forbidden_in(sentence: str) -> str | None:
    """What a sentence of a plan withholds; None where it withholds nothing that it names."""
    for form in _FORMS:
        found = form.search(sentence)
        if found is not None:
            return None if _UNNAMED.match(found["what"]) else found["what"]
    return None


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
