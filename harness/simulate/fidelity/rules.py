"""The rules for one message of a simulated user, against its role and what was said before."""

import re
from typing import Final

from harness.simulate.fidelity.against_role import AgainstRole
from harness.simulate.fidelity.arithmetic import worked_out
from harness.simulate.fidelity.before import Before
from harness.simulate.fidelity.in_role import InRole
from harness.simulate.fidelity.reading_text import cached_values, lower_case, read_all_values
from harness.simulate.fidelity.repetition import repetition
from harness.simulate.fidelity.voice import agents_voice
from harness.simulate.fidelity.withheld import withheld_by
from harness.simulate.meaning.sentences import sentences
from harness.simulate.meaning.slots import Read
from harness.simulate.meaning.words import deciding
from harness.simulate.role import Role
from harness.trace import FaultClass

_SMALL: Final = 31
"""Numbers up to this one are said without being known: counts, days, choices of a list."""
_INTERNAL: Final = re.compile(r"(?<![\w@/.-])[a-z]+(?:_[a-z]+){1,6}(?![\w@/.-])")
_EXAMPLE: Final = re.compile(r"\(\s?e\.\s?g\.[^()]{0,200}\)", re.IGNORECASE)
"""What stands as an example in a question claims nothing."""
_FIELD: Final = re.compile(
    r"\bmy (?P<cue>[a-z][a-z '-]{2,40}?) (?:is|are|was|number is|:)\s*(?:actually |now )?(?P<value>\S.*)", re.IGNORECASE
)
_UNWANTED: Final = re.compile(
    r"\b(?:refuse|decline|reject|do(?:es)? not want|don't want|doesn't want|not interested in|do(?:es)? not "
    r"(?:accept|agree)|"
    r"don't (?:accept|agree)|never accept|not willing|are not ok with|do not need|don't need)\b(?P<what>.+)",
    re.IGNORECASE,
)
_LONGEST_UNWANTED: Final = 8
"""Words of what is not wanted: more of them are a sentence of their own."""
_ACCEPTS: Final = re.compile(
    r"\b(?:yes|sure|i accept|i agree|sounds good|i(?:'d| would) like|i want|i'll take|go ahead with|please (?:add|"
    r"book|give|include))\b",
    re.IGNORECASE,
)


class RoleRules:
    """The rules of one role."""

    def __init__(self, role: Role) -> None:
        self._known = cached_values(role.known)
        self._known_text = lower_case(role.known)
        self._withheld = withheld_by(role)
        self._in_role = InRole(role)
        self._unwanted = _unwanted(role.plan)
        self._against_role = AgainstRole(role)
        self._plan = cached_values(role.plan)

    def faults(self, message: str, before: Before) -> list[tuple[FaultClass, str]]:
        """What is wrong with a message of the simulator."""
        found: list[tuple[FaultClass, str]] = []
        voice = agents_voice(message)
        if voice is not None:
            found.append(("speaks_as_agent", f"the user speaks as the agent: {voice[:100]!r}"))
        left = self._in_role.left(message)
        if left is not None:
            found.append(("out_of_role", f"the user shows its instructions, or rates the agent: {left[:100]!r}"))
        repeated = repetition(message, before)
        if repeated is not None:
            found.append(("repetition", repeated))
        contradicted = self._contradiction(message, before) or self._against_role.found(message, before)
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
        said = read_all_values((*before.own, *before.replies))
        allowed = {value for _, value in (*self._known.values, *said.values)}
        values = cached_values(_EXAMPLE.sub(" ", message)).values
        amounts = {value for kind, value in values if kind == "money"}
        heard_amounts = {value for kind, value in cached_values(before.last).values if kind == "money"}
        allowed |= worked_out(amounts, allowed, heard_amounts)
        for kind, value in values:
            if value in allowed or (kind == "number" and _is_small(value)) or kind in ("percent", "time"):
                continue
            if kind == "date" and _is_next_to(value, allowed):
                continue
            if kind == "id" and (part := value.split("-")[0]).isdigit() and (part in allowed or _is_small(part)):
                continue  # 34-inch, 2-day
            if kind in ("number", "money") and _is_derived(value, allowed):
                continue
            return f"the user says the {kind} {value}, which neither its role nor the agent holds"
        internal = _INTERNAL.search(lower_case(message))
        heard = self._known_text + lower_case("\n".join((*before.own, *before.replies)))
        if internal is not None and internal[0] not in heard:
            return f"the user speaks of {internal[0]!r}, which was never said to it"
        return None

    def _contradiction(self, message: str, before: Before) -> str | None:
        heard = lower_case("\n".join(before.replies))
        for cue, value in _fields(message):
            for earlier in before.own:
                for old_cue, old in _fields(earlier):
                    if cue == old_cue and old != value and value not in heard and not _is_part(old, value):
                        return f"the user's {' '.join(sorted(cue))} is {value!r} now, and was {old!r}"
        read = cached_values(message)
        said = read_all_values((*before.own, *before.replies))
        for value, word in read.bound - said.bound - self._plan.bound:
            planned = {other for other, same in self._plan.bound if same == word and _is_small(other)}
            if (
                len(planned) == 1  # of several, the plan says which one where it matters
                and _is_small(value)
                and value not in planned
                and not any(word == same for _, same in said.bound)
            ):
                return f"the plan has {sorted(planned)} {word}, the user says {value}"
        return self._accepts_unwanted(message, read)

    def _accepts_unwanted(self, message: str, read: Read) -> str | None:
        if not _ACCEPTS.search(message) or read.negated:
            return None
        for words, text in self._unwanted:
            if len(words) > 1 and words <= read.words.keys():
                return f"the plan says {text[:80]!r}, the user accepts it"
        return None


def _fields(message: str) -> list[tuple[frozenset[str], str]]:
    """What the user says of itself: the words of a field, and its value."""
    found = []
    for one in sentences(message):
        match = _FIELD.search(one)
        values = None if match is None else cached_values(match["value"]).values
        if match is None or not values:
            continue
        cue = frozenset(word for word in map(deciding, re.findall(r"[a-z]+", lower_case(match["cue"]))) if word)
        if cue and len(values) == 1:
            found.append((cue, next(iter(values))[1]))
    return found


def _unwanted(plan: str) -> list[tuple[set[str], str]]:
    found = []
    for one in sentences(plan):
        match = _UNWANTED.search(one)
        if match is None or len(match["what"].split()) > _LONGEST_UNWANTED:
            continue
        if not re.search(r"\b(?:unless|if|but|except|until|other than)\b", one, re.IGNORECASE):
            found.append((set(cached_values(match["what"]).words), one))
    return found


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
