"""A trajectory as a row of events, for process rules: calls by tool name, and what else happens in a trial.

<tool>         a call of the tool, however it was answered; `tool:<name>` names one that is called like an event
reply          the agent spoke to the user          answer        its last reply, where it gave a final answer
user           the user spoke                       error         a call was answered with an error
plan_create    the agent stated its first plan      plan_update   it stated a later one
compaction     the context was cut down: a system message in the midst of the trial that speaks of it, a line of a
               thought that begins with it ("Compacting: ...", "Context compacted"), not one that weighs it, or a
               model reply of one agent whose input is less than half of that of its reply before
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from harness.score.evidence import Evidence
from harness.trace import Step
from harness.values import JsonObject

EVENTS: Final = frozenset({"reply", "answer", "user", "error", "plan_create", "plan_update", "compaction"})
_COMPACTION: Final = re.compile(
    r"\bcompact(?:ed|ion|ing)?\b|\bsummary of (?:the |this )?(?:conversation|context)", re.I
)
_ANNOUNCED: Final = re.compile(
    r"^[\s*#>(\[]{0,4}(?:(?:(?:i'm|i am|i have|i've|i|now|the|my|context|conversation|history|was|is|has been) ){0,5}"
    r"(?:compacted|compacting)\b|compaction(?=\s*(?:[:.)\]]|done\b|$))|"
    r"summary of (?:the |this |our )?(?:conversation|context)\b)",
    re.I | re.M,
)


@dataclass(frozen=True, kw_only=True)
class Event:
    """One thing that happened."""

    name: str
    step: int
    is_call: bool = False
    arguments: JsonObject | None = None


def events(evidence: Evidence) -> tuple[Event, ...]:
    """In order; what happens in one step: the compaction before it, its plan, its calls and errors, its reply."""
    return evidence.once(_events)


def _events(evidence: Evidence) -> tuple[Event, ...]:
    found: list[Event] = []
    planned = False
    compactions = _Compactions()
    for step in evidence.trial.trajectory.steps:
        if compactions.at(step):
            found.append(Event(name="compaction", step=step.index))
        if step.plan is not None:
            found.append(Event(name="plan_update" if planned else "plan_create", step=step.index))
            planned = True
        found.extend(_of_step(step))
    last = next((event for event in reversed(found) if event.name == "reply" and not event.is_call), None)
    if last is not None and evidence.answered:
        found.insert(found.index(last) + 1, Event(name="answer", step=last.step))
    elif evidence.answered:
        found.append(Event(name="answer", step=found[-1].step if found else 0))
    return tuple(found)


def _of_step(step: Step) -> Iterator[Event]:
    failed = {seen.call_id for seen in step.observations if seen.error is not None}
    for call in step.calls:
        yield Event(name=call.name, step=step.index, is_call=True, arguments=call.arguments)
        if call.id in failed:
            yield Event(name="error", step=step.index)
    if step.message is not None and not step.calls and step.source != "system":
        yield Event(name="user" if step.source == "user" else "reply", step=step.index)


class _Compactions:
    """Recognises them step by step; one that was announced is not counted again where its effect is seen."""

    def __init__(self) -> None:
        self._inputs: dict[str | None, int] = {}
        self._acted = self._announced = False

    def at(self, step: Step) -> bool:
        announced = self._says_so(step)
        shrinks = self._shrinks(step)
        known = shrinks and self._announced
        if shrinks:
            self._announced = False
        self._announced = self._announced or announced
        self._acted = self._acted or step.source == "agent"
        return announced or (shrinks and not known)

    def _says_so(self, step: Step) -> bool:
        if step.source == "system":
            return self._acted and _COMPACTION.search(step.message or "") is not None
        return step.source == "agent" and _ANNOUNCED.search(step.thought or "") is not None

    def _shrinks(self, step: Step) -> bool:
        now = None if step.usage is None else step.usage.input_tokens
        if step.source != "agent" or now is None:
            return False
        before = self._inputs.get(step.agent)
        self._inputs[step.agent] = now
        return before is not None and 2 * now < before
