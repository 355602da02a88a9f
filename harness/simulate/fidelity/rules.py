"""The rules for one message of a simulated user, against its role and what was said before."""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from harness.simulate.fidelity.voice import agents_voice
from harness.simulate.meaning.sentences import asks, is_open_question, sentences
from harness.simulate.meaning.slots import Read, read_values
from harness.simulate.meaning.words import deciding
from harness.simulate.role import Role
from harness.trace import FaultClass

_SMALL: Final = 31
"""Numbers up to this one are said without being known: counts, days, choices of a list."""
_INTERNAL: Final = re.compile(r"(?<![\w@/.-])[a-z]+(?:_[a-z]+){1,6}(?![\w@/.-])")
_FIELD: Final = re.compile(
    r"\bmy (?P<cue>[a-z][a-z '-]{2,40}?) (?:is|are|was|number is|:)\s*(?:actually |now )?(?P<value>\S.*)", re.IGNORECASE
)
_FORBIDS: Final = re.compile(
    r"\b(?:do not|don't|never|avoid)\b.{0,12}\b(?:mention|reveal|say|bring up|volunteer|provide|disclose|tell|offer|"
    r"state|share|give)\w*\b(?P<what>.+?)(?:\b(?:unless|until|before|if not|except|as long as)\b.*)?$",
    re.IGNORECASE,
)
_ONLY_ASKED: Final = re.compile(
    r"\b(?:mention|reveal|give|provide|say|tell|share)\w*\b(?P<what>.+?)\bonly (?:if|when|after|once)\b.{0,40}\bask",
    re.IGNORECASE,
)
_UNWANTED: Final = re.compile(
    r"\b(?:refuse|decline|reject|do(?:es)? not want|don't want|doesn't want|not interested in|do(?:es)? not "
    r"(?:accept|agree)|"
    r"don't (?:accept|agree)|never accept|not willing|are not ok with|do not need|don't need)\b(?P<what>.+)",
    re.IGNORECASE,
)
_ACCEPTS: Final = re.compile(
    r"\b(?:yes|sure|i accept|i agree|sounds good|i(?:'d| would) like|i want|i'll take|go ahead with|please (?:add|"
    r"book|give|include))\b",
    re.IGNORECASE,
)
_LEAST_REPEATED: Final = 7
_AGAIN: Final = re.compile(
    r"\b(?:again|repeat|rephrase|once more|(?:did not|didn't|don't|do not|could not|couldn't) (?:quite )?(?:catch|"
    r"understand|get|hear|"
    r"find|recognize)|clarify|invalid|incorrect|not found|no (?:user|account|order|reservation))\b",
    re.IGNORECASE,
)
_CLOSES: Final = re.compile(
    r"\b(?:thank|thanks|bye|goodbye|great|perfect|appreciate|have a|all set|wonderful|you too|take care|okay|ok|"
    r"nothing else)\b",
    re.IGNORECASE,
)


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


class Rules:
    """The rules of one role."""

    def __init__(self, role: Role) -> None:
        self._known = _read(role.known)
        self._known_text = _lower(role.known)
        self._withheld = [*map(_Withheld, role.withhold), *_withheld_by(role.plan)]
        self._unwanted = _unwanted(role.plan)
        self._profile = role.profile or {}
        self._plan = _read(role.plan)

    def faults(self, message: str, before: Before) -> list[tuple[FaultClass, str]]:
        """What is wrong with a message of the simulator."""
        found: list[tuple[FaultClass, str]] = []
        voice = agents_voice(message)
        if voice is not None:
            found.append(("speaks_as_agent", f"the user speaks as the agent: {voice[:100]!r}"))
        repeated = _repetition(message, before)
        if repeated is not None:
            found.append(("repetition", repeated))
        contradicted = self._contradiction(message, before)
        if contradicted is not None:
            found.append(("contradiction", contradicted))
        else:
            unknown = self._unknowable(message, before)
            found += [] if unknown is None else [("unknowable", unknown)]
        early = next((one for one in self._withheld if one.is_revealed(message, before)), None)
        if early is not None:
            found.append(("revealed_early", f"{early.text[:100]!r} was said before the agent asked for it"))
        return found

    def _unknowable(self, message: str, before: Before) -> str | None:
        said = _read_all((*before.own, *before.replies))
        allowed = {value for _, value in (*self._known.values, *said.values)}
        for kind, value in _read(message).values:
            if value in allowed or (kind == "number" and _is_small(value)) or kind in ("percent", "time"):
                continue
            if kind == "date" and _is_next_to(value, allowed):
                continue
            if kind == "id" and (part := value.split("-")[0]).isdigit() and (part in allowed or _is_small(part)):
                continue  # 34-inch, 2-day
            if kind in ("number", "money") and _is_derived(value, allowed):
                continue
            return f"the user says the {kind} {value}, which neither its role nor the agent holds"
        internal = _INTERNAL.search(_lower(message))
        heard = self._known_text + _lower("\n".join((*before.own, *before.replies)))
        if internal is not None and internal[0] not in heard:
            return f"the user speaks of {internal[0]!r}, which was never said to it"
        return None

    def _contradiction(self, message: str, before: Before) -> str | None:
        heard = _lower("\n".join(before.replies))
        for cue, value in _fields(message):
            for earlier in before.own:
                for old_cue, old in _fields(earlier):
                    if cue == old_cue and old != value and value not in heard and not _is_part(old, value):
                        return f"the user's {' '.join(sorted(cue))} is {value!r} now, and was {old!r}"
        told = _read(message)
        said = _read_all((*before.own, *before.replies))
        for value, word in told.bound - said.bound - self._plan.bound:
            planned = {other for other, same in self._plan.bound if same == word and _is_small(other)}
            if (
                planned
                and _is_small(value)
                and value not in planned
                and not any(word == same for _, same in said.bound)
            ):
                return f"the plan has {sorted(planned)} {word}, the user says {value}"
        return self._accepts_unwanted(message, told)

    def _accepts_unwanted(self, message: str, told: Read) -> str | None:
        if not _ACCEPTS.search(message) or told.negated:
            return None
        for words, text in self._unwanted:
            if len(words) > 1 and words <= told.words.keys():
                return f"the plan says {text[:80]!r}, the user accepts it"
        return None


class _Withheld:
    """Something that is not said before it is asked for."""

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        read = _read(text)
        self._values = set(read.values)
        self._words = set(read.words)

    def is_revealed(self, message: str, before: Before) -> bool:
        told = _read(message)
        if self._values:
            says = self._values <= set(told.values)
        else:
            says = len(self._words) > 0 and len(self._words & told.words.keys()) >= 0.75 * len(self._words)
        return says and not self._was_asked(before) and not self._is_known(before)

    def _was_asked(self, before: Before) -> bool:
        """Whether the agent has asked for something like it, or for whatever else there is."""
        for reply in before.replies:
            for one in sentences(reply):
                if asks(one) and self._words & _read(one).words.keys():
                    return True
        return not self._words and any(is_open_question(reply) for reply in before.replies)

    def _is_known(self, before: Before) -> bool:
        return bool(self._values) and self._values <= set(_read_all(before.replies).values)


def is_idle(message: str) -> bool:
    """Whether a message only thanks or says goodbye."""
    read = _read(message)
    return not read.values and len(read.words) <= 2 and _CLOSES.search(message) is not None


def _repetition(message: str, before: Before) -> str | None:
    """The same again, although the agent did not ask again, and said something new."""
    plain = _plain(message)
    if len(plain.split()) < _LEAST_REPEATED or not before.own or _AGAIN.search(before.last):
        return None
    replies = [_plain(reply) for reply in before.replies]
    if len(replies) > 1 and replies[-1] in replies[:-1]:
        return None
    if _is_asked_again(plain, before):
        return None
    if any(plain == _plain(own) for own in before.own):
        return f"the user says again what was answered: {message[:100]!r}"
    return None


def _is_asked_again(plain: str, before: Before) -> bool:
    """Whether the agent asks once more, in other words, for what the message has answered."""
    asked = [_asked_words(reply) for reply in before.replies]
    return any(
        _is_alike(asked[-1], asked[place - 1])
        for place, own in enumerate(before.own)
        if 0 < place < len(asked) and _plain(own) == plain
    )


def _is_alike(one: set[str], other: set[str]) -> bool:
    return 2 * len(one & other) >= len(one | other) > 0


def _asked_words(reply: str) -> set[str]:
    return {word for one in sentences(reply) if is_open_question(one) for word in _read(one).words}


def _fields(message: str) -> list[tuple[frozenset[str], str]]:
    """What the user says of itself: the words of a field, and its value."""
    found = []
    for one in sentences(message):
        match = _FIELD.search(one)
        values = None if match is None else _read(match["value"]).values
        if match is None or not values:
            continue
        cue = frozenset(word for word in map(deciding, re.findall(r"[a-z]+", _lower(match["cue"]))) if word)
        if cue and len(values) == 1:
            found.append((cue, next(iter(values))[1]))
    return found


def _withheld_by(plan: str) -> list[_Withheld]:
    found = []
    for one in sentences(plan):
        match = _FORBIDS.search(one) or _ONLY_ASKED.search(one)
        if match is not None:
            entry = _Withheld(match["what"])
            if entry._words or entry._values:
                found.append(entry)
    return found


def _unwanted(plan: str) -> list[tuple[set[str], str]]:
    found = []
    for one in sentences(plan):
        match = _UNWANTED.search(one)
        if match is not None and not re.search(r"\b(?:unless|if|but|except|until|other than)\b", one, re.IGNORECASE):
            found.append((set(_read(match["what"]).words), one))
    return found


@lru_cache(maxsize=16_384)
def _read(text: str) -> Read:
    return read_values(_lower(text))


def _read_all(texts: tuple[str, ...]) -> Read:
    every = Read()
    for one in map(_read, texts):
        every.values.update(one.values)
        every.words.update(one.words)
        every.bound |= one.bound
    return every


def _is_small(value: str) -> bool:
    return value.isdigit() and (int(value) <= _SMALL or 1900 <= int(value) <= 2100)


def _is_derived(value: str, allowed: set[str]) -> bool:
    """Whether a number is part of one that is known: the last digits, or the same without its cents."""
    return any(other.endswith(value) or other.split(".")[0] == value.split(".", maxsplit=1)[0] for other in allowed)


def _is_next_to(date: str, allowed: set[str]) -> bool:
    """Whether a date, as month and day, is the day before or after a known one."""
    month, _, day = date.partition("-")
    return any(f"{month}-{int(day) + step}" in allowed for step in (-1, 1))


def _is_part(one: str, other: str) -> bool:
    return one in other or other in one


def _lower(text: str) -> str:
    return text.lower().replace("\u2019", "'")


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9']+", _lower(text)))
