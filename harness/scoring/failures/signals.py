"""What several detectors look for: values from nowhere, progress, announced look-ups, prevention, handing over."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final

from pydantic import JsonValue

from harness.scoring.evidence import Evidence
from harness.scoring.failures.grounding import atoms, is_identifier, texts
from harness.scoring.failures.reading import Act, Reading, read
from harness.suite.tool_words import bare_name, words_of
from harness.suite.tools import ToolSpec
from harness.values import JsonObject

# Handing over to a person: known by the tool's name, since no tool declares it.
#
# It changes nothing but who goes on, and its words are free, so that two hand-overs are alike whatever they say.

_ALWAYS: Final = frozenset({"escalate", "handoff", "handover"})
_WITH_A_PERSON: Final = frozenset({"transfer", "hand", "forward", "route", "connect", "redirect"})
_PERSONS: Final = frozenset(
    {"human", "humans", "agent", "agents", "person", "operator", "representative", "specialist", "staff", "supervisor"}
    | {"support", "colleague", "team"}
)


@lru_cache(maxsize=4096)
def is_hand_over(tool: str) -> bool:
    """`transfer_to_human_agents`, `escalate`, `mcp__desk__handoffToSupport`, `human_transfer`; not `transfer_funds`."""
    words = words_of(bare_name(tool))
    if "hand" in words and words[words.index("hand") + 1 :][:1] in (("off",), ("over",)):
        return True
    return not _ALWAYS.isdisjoint(words) or not (_WITH_A_PERSON.isdisjoint(words) or _PERSONS.isdisjoint(words))


@lru_cache(maxsize=4096)
def hands_in(tool: str) -> bool:
    """`submit`, `finalAnswer`, `functions.finish`: the run's answer, which is rightly computed and changes nothing."""
    words = "".join(words_of(bare_name(tool)))
    return words in ("submit", "submitanswer", "finalanswer", "submitfinalanswer", "finish", "answer")


# Values that came from nowhere: the identifiers in calls that nothing given to the agent had contained.
#
# One such value is the mark of four failures, told apart by what became of it:
# - it looks like a known value, one or two characters off: miscopied, and a cascading error where it is used again;
# - the call failed, or wrote: a guess (premature commitment);
# - reads by it succeeded, and further calls rest on what they gave: another task is being worked on (goal drift);
# - it is used again without having been confirmed by any answer: invented, and carried on (cascading error).

_MOST: Final = 24
"""Values examined in one trial: past these, nothing new is learnt and the look-alike search would cost."""


@dataclass(frozen=True, kw_only=True)
class Foreign:
    """An identifier that came from nowhere, and the calls that use it."""

    value: str
    acts: tuple[Act, ...]
    """The first is where it came up."""
    confirmed: bool
    """The first call with it succeeded and its answer contains it."""
    lookalike: str | None
    """What it may have been copied from."""


def foreign_values(reading: Reading) -> tuple[Foreign, ...]:
    """In order of their first use."""
    users: dict[str, list[Act]] = {}
    for act in reading.acts:
        for value in act.identifiers if act.tool is not None else ():
            users.setdefault(value, []).append(act)
    ungrounded = [(value, acts) for value, acts in users.items() if not reading.sources.grounded(value, acts[0].moment)]
    return tuple(
        Foreign(
            value=value,
            acts=tuple(acts),
            confirmed=_confirmed(value, acts[0]),
            lookalike=reading.sources.lookalike(value, acts[0].moment),
        )
        for value, acts in sorted(ungrounded, key=lambda pair: pair[1][0].number)[:_MOST]
    )


def rests_on(act: Act, given: Collection[int], values: frozenset[str], reading: Reading) -> bool:
    """The call uses one of the atoms `values`, or something that an observation at a moment of `given` gave first."""
    for text in act.argument_texts:
        for atom in atoms(text):
            # in prose any word can be new by chance; codes are not
            if atom in values or (
                (" " not in text or is_identifier(atom)) and reading.sources.since(atom) in given and len(atom) > 1
            ):
                return True
    return False


def _confirmed(value: str, act: Act) -> bool:
    if act.failed or act.answer is None:
        return False
    return set(atoms(value)) <= set(atoms(act.answer))


def foreign_of(evidence: Evidence) -> tuple[Foreign, ...]:
    """As `foreign_values`, found at most once for the same evidence."""
    return evidence.once(_foreign)


def _foreign(evidence: Evidence) -> tuple[Foreign, ...]:
    return foreign_values(read(evidence))


# What a call brought that is new: words in its answer that neither the task, nor an earlier answer, nor the agent
# had.
#
# An agent that prints its own question learns nothing, however long the answer is.

_LETTERS: Final = 4
INFORMATIVE: Final = 8
"""New atoms from which on an answer is information; below, it is a frame around what was known."""


def new_atoms(reading: Reading, acts: Sequence[Act]) -> dict[int, int]:
    """Number of new atoms in the answer of each of the calls, by the call's number; INFORMATIVE stands for as many and
    more, 0 for an answer that is not recorded.
    """
    return dict(_new_atoms(reading, acts))


def is_informed(reading: Reading, acts: Sequence[Act]) -> bool:
    """Whether the answer of one of the calls is information; reads no further than to the first."""
    return any(count >= INFORMATIVE for _, count in _new_atoms(reading, acts))


def gives(act: Act, answer: str) -> bool:
    """Whether a call's result tells the answer, which the call itself did not contain: as a whole, or all of its words
    of four letters and more and its numbers.
    """
    if act.seen is None or act.failed:
        return False
    told = "\n".join(texts(act.seen.content)).casefold()
    words = {word for word in atoms(answer) if len(word) >= _LETTERS or word.isdecimal()}
    if words and words <= set(atoms(told)):
        return not words <= act.asked
    whole = re.compile(rf"(?<![\w.]){re.escape(answer.strip().casefold())}(?![\w.]?\w)")
    asked = act.call.unparsed or "" if act.call.arguments is None else "\n".join(act.argument_texts)
    return bool(answer.strip()) and whole.search(told) is not None and whole.search(asked.casefold()) is None


def _new_atoms(reading: Reading, acts: Sequence[Act]) -> Iterator[tuple[int, int]]:
    own, since = _OwnWords(reading), reading.sources.since
    for act in acts:
        if act.seen is None or act.failed:
            yield act.number, 0
            continue
        known = own.until(act)
        fresh = set(atoms("\n".join(texts(act.seen.content)))) - known
        new = (atom for atom in fresh if since(atom) > act.moment)
        yield act.number, sum(1 for _ in islice(new, INFORMATIVE))


class _OwnWords:
    """What the agent itself had said or asked, growing step by step."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._words: set[str] = set()
        self._step = 0
        self._act = 0

    def until(self, act: Act) -> set[str]:
        """Everything up to and including the call."""
        steps, acts = self._reading.steps, self._reading.acts
        while self._step < len(steps) and self._reading.moments[steps[self._step].index] <= act.moment:
            step = steps[self._step]
            if step.source == "agent":
                self._take((step.message or "", step.thought or ""))
            self._step += 1
        while self._act < len(acts) and acts[self._act].moment <= act.moment:
            self._words |= acts[self._act].asked
            self._act += 1
        return self._words

    def _take(self, said: Iterable[str]) -> None:
        for text in said:
            self._words.update(atoms(text))


# What a plan announces to look up: the items of it that cannot be done from what the agent was given.
#
# An item is a numbered or dashed line of the plan. It needs a look-up where it names a tool that the agent was
# offered
# (declared, or introduced in a prompt as `- name: what it does`), or where it tells to get something ("search",
# "retrieve", "consult" and the like, where the item or one of its clauses begins) and names a source: an article, a
# database, a web page. A survey that lists sources tells to do nothing and has no such item; nor has the plan of a
# riddle.

_ITEM: Final = re.compile(r"(?:^|(?<=\s))(?:\d{1,2}[.)]|[-*\u2022\u2013])\s+")
_GETS: Final = re.compile(
    r"(?:^|[,;:]\s{1,2}(?:and |then )?|\b(?:and|then|by|or) )(?:\*\*)?"
    r"(?:(?:web )?search\w*|research\w*|retriev\w+|look(?:ing)?[ -]?up|locat\w+|find|finding|consult\w*|obtain\w*|"
    r"gather\w*|collect\w*|access\w*|brows\w+|download\w*|query\w*|use|using|visit\w*|fetch\w*|review\w*|check\w*|"
    r"verif\w+|identify\w*|determin\w+|extract\w*|cross-?(?:check|referenc|verif)\w*)\b",
    re.I,
)
_OUTSIDE: Final = re.compile(
    r"\b(?:wikipedia|web ?sites?|web ?pages?|articles?|papers?|databases?|records|internet|online|datasets?|literature|"
    r"publications?|archives?|web|(?<!to )reports?|documents?|videos?|transcripts?|sources?|resources|references?|"
    r"census|releases?|release notes|commits?|repositor\w+|search|data)\b",
    re.I,
)
_CHECKS: Final = re.compile(
    r"\b(?:verif\w+|confirm\w*|cross-?(?:check|referenc|verif)\w*|validat\w+|double-?check\w*)\b", re.I
)
_OFFERED: Final = re.compile(
    r"(?m)^\s{0,4}(?:[-*]\s+)?`?([A-Za-z][A-Za-z0-9]{0,40}(?:[_.][A-Za-z0-9]{1,40}){1,6})`?\s?:"
)
_LONGEST_PROMPT: Final = 20_000
"""Characters of a prompt that are examined."""


@dataclass(frozen=True, kw_only=True)
class PlanNeeds:
    """What a plan needs from outside."""

    items: tuple[str, ...]
    """Its items that need a look-up."""
    tools: tuple[str, ...]
    """The offered tools that they name."""
    checks: bool
    """Whether the plan announces to verify or confirm something."""


def announced(plan: str, offered: frozenset[str]) -> PlanNeeds:
    """Items in the order of the plan; tools by name."""
    tools: dict[str, None] = {}
    items = []
    for text in _items(plan):
        named = [name for name in sorted(offered) if re.search(rf"\b{re.escape(name)}\b", text)]
        tools.update(dict.fromkeys(named))
        if named or (_GETS.search(text) is not None and _OUTSIDE.search(text) is not None):
            items.append(text)
    return PlanNeeds(items=tuple(items), tools=tuple(tools), checks=_CHECKS.search(plan) is not None)


def _items(plan: str) -> Iterator[str]:
    parts = _ITEM.split(plan)
    for part in parts[1:]:
        text = part.split("\n\n", 1)[0].strip()
        if text:
            yield text


def offered_tools(reading: Reading) -> frozenset[str]:
    """Names of what the agent could have called: declared, or introduced by a prompt; but for what hands in."""
    names = {tool.name for tool in reading.evidence.tools}
    for step in reading.steps:
        if step.source != "agent" and step.message:
            names.update(_OFFERED.findall(step.message[:_LONGEST_PROMPT]))
    return frozenset(name for name in names if not hands_in(name))


# What would have stopped a failure before other steps rested on it: a read that exists and was not asked.
#
# Said in words with the tool's name, and only of tools that are declared and that the case allows.


def check_of(value: str, act: Act, reading: Reading) -> str:
    """What could have told before the call that its argument `value` is wrong."""
    names = _arguments_with(value, act.call.arguments or {})
    asked = _asked_with(value, act, reading)
    tools = [tool for tool in _readers(reading) if tool.name != act.call.name and tool.name not in asked]
    for tool in tools:
        name = next((one for one in _properties(tool) if one in names), None)
        if name is not None:
            return f"a check of {value!r} by {tool.name}({name}), which exists and was not asked about it"
    used = {one.call.name for one in reading.acts if one.number <= act.number}
    unused = [tool.name for tool in tools if tool.name not in used and _takes_text(tool)]
    if len(unused) == 1:
        return f"a check of {value!r} by {unused[0]}, which exists and had not been called"
    if any(step.source == "user" for step in reading.steps):
        return f"asking the user about {value!r} before it was used"
    return f"a call about {value!r} alone before other calls rested on it"


def read_back(act: Act, reading: Reading) -> str:
    """What could have told after a call that it had not done what it was taken to have done."""
    reader = next((tool for tool in _readers(reading) if _shared(tool, act) and tool.name != act.call.name), None)
    if reader is None:
        return f"the same call of {act.call.name} again, and no further step before it had succeeded"
    if act.writes:
        return f"the read after the write, by {reader.name}({_shared(reader, act)})"
    return f"a second look by {reader.name}({_shared(reader, act)})"


def _readers(reading: Reading) -> Iterator[ToolSpec]:
    evidence = reading.evidence
    allowed = evidence.allowed
    for tool in evidence.tools:
        if tool.effect == "read" and tool.name in allowed and not is_hand_over(tool.name) and not hands_in(tool.name):
            yield tool


def _shared(tool: ToolSpec, act: Act) -> str | None:
    """A property that the tool shares with the call's arguments."""
    given = act.call.arguments or {}
    return next((name for name in _properties(tool) if name in given), None)


def _asked_with(value: str, act: Act, reading: Reading) -> set[str]:
    wanted = set(atoms(value))
    return {
        one.call.name
        for one in reading.acts
        if one.number < act.number
        and any(wanted <= set(atoms(text)) for text in one.argument_texts if len(text) <= _LONGEST_ARGUMENT)
    }


_LONGEST_ARGUMENT = 2000
"""A longer text is not an argument that names one thing."""


def _arguments_with(value: str, arguments: JsonObject) -> list[str]:
    wanted = set(atoms(value))
    return [name for name, given in arguments.items() if any(wanted <= set(atoms(text)) for text in texts(given))]


def _properties(tool: ToolSpec) -> Sequence[str]:
    properties = tool.parameters.get("properties")
    return list(properties) if isinstance(properties, Mapping) else []


def _takes_text(tool: ToolSpec) -> bool:
    properties = tool.parameters.get("properties")
    given: Sequence[JsonValue] = list(properties.values()) if isinstance(properties, dict) else []
    return any(isinstance(one, dict) and one.get("type", "string") == "string" for one in given)
