"""A trial read once for all detectors: the agent's calls with what came of them, and what it had been given when.

Moments order what happened: step number `n` of the trajectory acts at moment `2 n`, and its observations are there
from moment `2 n + 1`; parallel calls therefore do not see each other's answers.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from pydantic import JsonValue

from harness.scoring.arguments import call_keys
from harness.scoring.evidence import Evidence
from harness.scoring.failures.grounding import Sources, atoms, atoms_of, identifiers, plain_words, texts
from harness.scoring.json_values import equality_key
from harness.suite.tools import ToolSpec
from harness.traces.trajectory import Observation, Step, ToolCall
from harness.values import canonical_json

# When one thing is the same again: the normal forms in which calls, answers and words are compared.
#
# Agents seldom repeat themselves to the letter: a comment in the code, a wait, a clock time in the output differ.
# What is
# levelled here is only what cannot matter to the task; numbers and names are kept.

_CLOCK = re.compile(
    r"\d(?:\d{3}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?Z?"
    r"|(?<!\w\d)(?:\d?:\d\d:\d\d(?:[.,]\d{1,9})?|\d{0,8}(?:\.\d{1,9})? ?(?:ms|s|sec|secs|seconds|milliseconds)\b"
    r"|(?<=0)x[0-9a-fA-F]{4,16}\b))"
)
"""All begin with the digit, so that other characters are passed over quickly."""
_UUID = r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
_OF_A_REQUEST = r"request|trace|span|correlation|query|search|call|response|invocation|execution"
_WHEN = (
    r"timestamp|ts|(?:generated|fetched|retrieved|queried)_at|server_time"
    r"|(?:took|elapsed|latency|response_time)(?:_m?s)?"
)
_NUMBERED = re.compile(
    rf"{_UUID}|\b1[5-9]\d{{8}}(?:\d{{3}}){{0,2}}(?:\.\d+)?\b"
    rf"|\\?\"(?:(?:{_OF_A_REQUEST})_?id|nonce|etag|{_WHEN})\\?\":\s?(?:\\?\"[^\"\\]{{0,80}}\\?\"|[\d.]{{1,20}})"
    r"|\b(?:request|attempt|query|call|try|search) ?(?:id|no\.?|number)? ?[:#=]? ?\d{1,9}\b",
    re.I,
)
"""What tells one answer of a read from the next and nothing of what was asked: numbers of requests, times."""
_NAMING: Final = ("request", "attempt", "query", "call", "try", "search")
_MAY_BE_NUMBERED: Final = (
    re.compile(r"-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-"),
    re.compile(r"1[5-9]\d{8}"),
    re.compile(rf"\"(?:(?:{_OF_A_REQUEST})_?id|nonce|etag|{_WHEN})\\?\":"),
)
"""In lower case; what `_NUMBERED` finds has one of them, or a word of `_NAMING`. Each begins with a fixed character,
and is looked for many times quicker.
"""
_COMMENT = re.compile(r"(?m)(?:^|\s)(?:#|//)[^\n]*$")
_WAIT = re.compile(r"\b(?:time\.)?sleep ?\(? ?[\d.]{1,9} ?\)?")
_LONG = 40
"""Shorter texts are taken as they are: a number sign there is an order number, not a comment."""


def settled(text: str) -> str:
    """An answer without clock times, durations and addresses, which differ where nothing changed."""
    return " ".join(_CLOCK.sub("~", text).split())


def unnumbered(text: str) -> str:
    """The answer of a read without numbers and times of its request."""
    if text.isascii():
        folded = text.lower()
        if not any(map(folded.__contains__, _NAMING)) and not any(one.search(folded) for one in _MAY_BE_NUMBERED):
            return text
    return _NUMBERED.sub("~", text)


def gist(argument_texts: Iterable[str], *, is_code: bool = False) -> str:
    """What a call asks without comments, waits and layout, of texts that are code or long enough to be any or prose."""
    return " | ".join(_gist_of(text, is_code) for text in argument_texts)


def are_alike(left: frozenset[str], right: frozenset[str], least: float) -> bool:
    """Whether they overlap by that much; most pairs differ in size too much for it, which is quicker to tell."""
    return len(left) >= least * len(right) and len(right) >= least * len(left) and overlap(left, right) >= least


def overlap(left: frozenset[str], right: frozenset[str]) -> float:
    """Jaccard index; two empty sets are alike."""
    union = len(left | right)
    return 1.0 if not union else len(left & right) / union


def _gist_of(text: str, is_code: bool) -> str:
    if not is_code and len(text) < _LONG and "\n" not in text:
        return text
    return " ".join(_WAIT.sub("wait", _COMMENT.sub("", text)).split()).casefold()


# Errors that an answer tells without being flagged as one: `{"error": "..."}`, `{"success": false}`, "Error: ...".
#
# A read that tells of a thing's own status ("failed") tells no error of its own.

_SAYS_ERROR: Final = re.compile(r"\s{0,8}(?:error|exception|failed|failure)\s?[:!]", re.I)
_ERROR: Final = frozenset({"error"})
_FAILED: Final = frozenset({"error", "failed", "failure", "rejected", "denied"})
_TELLING: Final = ('"error"', '"success"', '"ok"')


def told_error(seen: Observation, writes: bool) -> str | None:
    """What an answer says that failed, flagged or not; None: nothing."""
    if seen.error is not None:
        return seen.error.message
    content = seen.content
    if isinstance(content, str):
        told = _SAYS_ERROR.match(content) or (content.lstrip()[:1] == "{" and _may_tell(content, writes))
        return content if told and says_error(content, writes) else None
    return json.dumps(content) if isinstance(content, dict) and says_error(content, writes) else None


def says_error(content: JsonValue, writes: bool) -> bool:
    """Whether an answer that is not flagged as an error says that it is one."""
    content = opened(content)
    if isinstance(content, str):
        return _SAYS_ERROR.match(content) is not None
    if not isinstance(content, dict):
        return False
    status = content.get("status")
    says_no = content.get("success") is False or content.get("ok") is False
    return bool(content.get("error")) or says_no or (isinstance(status, str) and status.casefold() in _failing(writes))


def _failing(writes: bool) -> frozenset[str]:
    """What a failed call's status is; what a read tells of a thing is the thing's own status."""
    return _FAILED if writes else _ERROR


def _may_tell(content: str, writes: bool) -> bool:
    """Whether text can be JSON that tells an error: most has a status, and is long to read."""
    if any(map(content.__contains__, _TELLING)):
        return True
    if '"status"' not in content:
        return False
    folded = content.casefold()
    return any(map(folded.__contains__, _failing(writes)))


def opened(content: JsonValue) -> JsonValue:
    """Text that is JSON as JSON."""
    if not isinstance(content, str) or content.lstrip()[:1] not in ("{", "["):
        return content
    try:
        found: JsonValue = json.loads(content)
    except (ValueError, RecursionError):
        return content
    return found


# One call of the agent with what came of it, and the forms in which detectors compare it; each is made once.

_CODE: Final = frozenset({"command", "cmd", "code", "script", "commands"})


@dataclass(frozen=True, kw_only=True)
class Act:
    """One call of the agent and what came of it."""

    number: int
    """Among the agent's calls, from 0."""
    step: int
    """The step's index."""
    moment: int
    call: ToolCall
    seen: Observation | None
    """None: what came back is not recorded."""
    tool: ToolSpec | None
    """None: no such tool is declared."""
    key: str
    """Equal for equal calls."""

    @cached_property
    def failed(self) -> bool:
        return self.seen is not None and self.seen.error is not None

    @cached_property
    def told_error(self) -> str | None:
        """What its answer says that failed, whether it is flagged as an error or not."""
        return None if self.seen is None else told_error(self.seen, self.writes)

    @cached_property
    def writes(self) -> bool:
        """Declared as one; a call of an undeclared tool is none, because nothing is known of it."""
        return self.tool is not None and self.tool.effect == "write"

    @cached_property
    def answer(self) -> str | None:
        """Equal for equal answers; None: not recorded."""
        if self.seen is None:
            return None
        kind = "" if self.seen.error is None else self.seen.error.type
        if self.seen.content is None and self.seen.error is not None:
            return f"{kind} {self.seen.error.message}"
        return f"{kind} {equality_key(self.seen.content)}"

    @cached_property
    def argument_texts(self) -> tuple[str, ...]:
        """Every text and number among the arguments, in order."""
        return tuple(texts(self.call.arguments))

    @cached_property
    def asked(self) -> frozenset[str]:
        """The atoms of all that the call asks for."""
        unparsed = self.call.arguments is None
        return frozenset(atoms(self.call.unparsed or "" if unparsed else "\n".join(self.argument_texts)))

    @cached_property
    def gist_key(self) -> str:
        """Equal for calls that ask for the same; equal keys have equal gists (see `repetition`)."""
        if self.call.arguments is None:
            return self.key
        return f"{self.call.name} {gist(self.argument_texts, is_code=self.is_code)}"

    @cached_property
    def answer_key(self) -> str | None:
        """Equal for answers that tell the same; None: not recorded."""
        if self.answer is None:
            return None
        # what a write answers with may name what it made
        return settled(self.answer if self.tool is None or self.writes else unnumbered(self.answer))

    @cached_property
    def is_code(self) -> bool:
        """Whether the call runs what the agent wrote."""
        return not _CODE.isdisjoint(self.call.arguments or ())

    @cached_property
    def identifiers(self) -> tuple[str, ...]:
        return () if self.is_code else identifiers(self.call.arguments)


_DEPTH: Final = 16


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What detectors look at."""

    evidence: Evidence
    acts: tuple[Act, ...]
    sources: Sources
    moments: dict[int, int]
    """Step index -> moment."""

    @property
    def records_calls(self) -> bool:
        """Whether a call would have been recorded: some were, or tools were there to be called."""
        return bool(self.acts or self.evidence.allowed)

    @cached_property
    def runs_code(self) -> bool:
        """Whether a tool of the agent runs what it writes: then a value can come from anywhere in the machine."""
        return any(act.is_code for act in self.acts)

    @property
    def agent_messages(self) -> tuple[tuple[Step, str], ...]:
        """The steps in which an agent says something, with what it says."""
        return self.evidence.once(_agent_messages)

    @property
    def words(self) -> Mapping[int, str]:
        """Step index -> what an agent's message says in its own words; steps without a message are missing."""
        return self.evidence.once(_own_words)

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.evidence.trial.trajectory.steps


def read(evidence: Evidence) -> Reading:
    """One pass over the trajectory, at most once for the same evidence."""
    reading = evidence.once(_read)
    return reading if reading.evidence is evidence else replace(reading, evidence=evidence)


def has_failed(evidence: Evidence) -> bool:
    """Whether the trial is known to have failed: a check said so, or the agent did not end by itself."""
    return evidence.success is False or evidence.trial.outcome in ("agent_failed", "limit_reached")


def _read(evidence: Evidence) -> Reading:
    tools = {tool.name: tool for tool in evidence.tools}
    keys = call_keys(evidence)
    sources = Sources()
    _tell_the_task(evidence, sources)
    acts: list[Act] = []
    for place, step in enumerate(evidence.trial.trajectory.steps):
        if step.source == "agent":
            acts.extend(_acts(step, 2 * place, len(acts), tools, keys))
            for seen in step.observations:
                sources.observe(seen.content, 2 * place + 1)
                if seen.error is not None:
                    sources.observe(seen.error.message, 2 * place + 1)
        elif step.message is not None:
            sources.tell(step.message, 2 * place)
    moments = {step.index: 2 * place for place, step in enumerate(evidence.trial.trajectory.steps)}
    return Reading(evidence=evidence, acts=tuple(acts), sources=sources, moments=moments)


def _agent_messages(evidence: Evidence) -> tuple[tuple[Step, str], ...]:
    told = ((step, step.message) for step in evidence.trial.trajectory.steps if step.source == "agent")
    return tuple((step, message) for step, message in told if message)


def _own_words(evidence: Evidence) -> dict[int, str]:
    return {step.index: plain_words(message) for step, message in evidence.once(_agent_messages)}


def pairs(step: Step) -> list[tuple[ToolCall, Observation | None]]:
    """Calls with their observations: by id where ids are there and differ, else by position."""
    ids = [call.id for call in step.calls]
    if all(ids) and len(set(ids)) == len(ids):
        by_id = {seen.call_id: seen for seen in step.observations}
        return [(call, by_id.get(call.id)) for call in step.calls]
    padded: Sequence[Observation | None] = (*step.observations, *[None] * len(ids))
    return list(zip(step.calls, padded, strict=False))


def _acts(step: Step, moment: int, number: int, tools: Mapping[str, ToolSpec], keys: Mapping[int, str]) -> list[Act]:
    return [
        Act(
            number=number + offset,
            step=step.index,
            moment=moment,
            call=call,
            seen=seen,
            tool=tools.get(call.name),
            key=keys[id(call)],
        )
        for offset, (call, seen) in enumerate(pair for pair in pairs(step) if pair[0].delegated_to is None)
    ]


def _tell_the_task(evidence: Evidence, sources: Sources) -> None:
    case = evidence.case
    sources.tell_once(_offered_atoms(evidence.tools))
    if not _is_opened_by_the_user(evidence.trial.trajectory.steps):
        sources.tell(case.task, -1)  # else the agent has it from the user, or it is the user's own hidden scenario
    if case.system:
        sources.tell_once(atoms_of(case.system, -1))  # a policy of many pages, which the cases of a suite share
    sources.tell(canonical_json(case.user_profile), -1)


def _is_opened_by_the_user(steps: Sequence[Step]) -> bool:
    """Whether the user speaks before the agent's first call."""
    for step in steps:
        if step.source == "agent" and step.calls:
            return False
        if step.source == "user" and step.message:
            return True
    return False


_OFFERED: Final[dict[tuple[int, ...], tuple[tuple[ToolSpec, ...], Mapping[str, int]]]] = {}
"""By the identities of a suite's tools, which stand beside, so that no other objects can take their place."""
_MOST_SUITES: Final = 64


def _offered_atoms(tools: tuple[ToolSpec, ...]) -> Mapping[str, int]:
    key = tuple(map(id, tools))
    found = _OFFERED.get(key)
    if found is None:
        if len(_OFFERED) >= _MOST_SUITES:
            _OFFERED.clear()
        found = (tools, atoms_of("\n".join(text for tool in tools for text in _offered(tool.parameters)), -1))
        _OFFERED[key] = found
    return found[1]


def _offered(schema: JsonValue, depth: int = 0) -> Iterator[str]:
    """The values that a schema offers; the examples in its prose are none that an agent may use."""
    if depth > _DEPTH:
        return
    match schema:
        case dict():
            for key, part in schema.items():
                yield from texts(part) if key in ("enum", "const", "default") else _offered(part, depth + 1)
        case list():
            for part in schema:
                yield from _offered(part, depth + 1)
        case _:
            return


# Answers that say that nothing was found: `{"results": [], "total": 0}`, "No results found.", an empty text.

_NOTHING: Final = re.compile(
    r"\W*(?:(?:0|no|zero) (?:\w+ ){0,2}(?:results?|match(?:es)?|records?|rows?|hits?|entries|items?|documents?|files?)"
    r"|nothing|no(?:thing|ne|t)?(?: \w+){0,2} (?:was |were )?found|none|empty|null|n/?a)\b[^\n]{0,80}",
    re.I,
)
_LONGEST: Final = 400
_STATUS: Final = frozenset(
    {"status", "ok", "success", "query", "message", "page", "limit", "offset", "took_ms", "took"}
)
"""Keys whose values tell of the search and not of what it found."""


def found_nothing(seen: Observation | None) -> bool:
    """Whether an answer is recorded, is no error, and tells of nothing that was found."""
    if seen is None or seen.error is not None:
        return False
    content = opened(seen.content)
    if isinstance(content, str):
        text = content.strip()
        return len(text) <= _LONGEST and (not text or _NOTHING.fullmatch(text) is not None)
    return isinstance(content, dict | list) and _is_empty(content)


def _is_empty(value: JsonValue) -> bool:
    match value:
        case dict():
            rest = [part for key, part in value.items() if key.casefold() not in _STATUS]
            return any(part in ([], {}) for part in rest) and all(map(_is_empty, rest))
        case list():
            return not value
        case str():
            return not value.strip() or _NOTHING.fullmatch(value.strip()) is not None
        case None | bool():
            return not value
        case _:
            return value == 0
