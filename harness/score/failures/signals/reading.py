"""A trial read once for all detectors: the agent's calls with what came of them, and what it had been given when.

Moments order what happened: step number `n` of the trajectory acts at moment `2 n`, and its observations are there
from moment `2 n + 1`; parallel calls therefore do not see each other's answers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from harness.case import ToolSpec
from harness.score.comparison.arguments import call_keys
from harness.score.evidence import Evidence
from harness.score.failures.signals.acts import Act
from harness.score.failures.signals.grounding import Sources, atoms_of, texts
from harness.score.failures.signals.prose import plain_words
from harness.trace import Observation, Step, ToolCall
from harness.values import JsonValue, canonical_json

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


def _own_words(evidence: Evidence) -> dict[int, str]:
    told = ((step.index, step.message) for step in evidence.trial.trajectory.steps if step.source == "agent")
    return {index: plain_words(message) for index, message in told if message}


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
