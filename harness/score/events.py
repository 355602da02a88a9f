"""A trajectory as a row of events, for process rules: calls by tool name, and what else happens in a trial.

<tool>         a call of the tool, however it was answered; `tool:<name>` names one that is called like an event
reply          the agent spoke to the user          answer        its last reply, where it gave a final answer
user           the user spoke                       error         a call was answered with an error
plan_create    the agent stated its first plan      plan_update   it stated a later one
compaction     the context was cut down: a system message in the midst of the trial that speaks of it, or a model
               reply of one agent whose input is less than half of that of its reply before
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from harness.frozen import JsonObject
from harness.score.values import Evidence
from harness.trace import Step

EVENTS: Final = frozenset({"reply", "answer", "user", "error", "plan_create", "plan_update", "compaction"})
_COMPACTION: Final = re.compile(
    r"\bcompact(?:ed|ion|ing)?\b|\bsummary of (?:the |this )?(?:conversation|context)", re.I
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
    inputs: dict[str | None, int] = {}
    acted = False
    for step in evidence.trial.trajectory.steps:
        if _compacts(step, inputs, acted):
            found.append(Event(name="compaction", step=step.index))
        if step.plan is not None:
            found.append(Event(name="plan_update" if planned else "plan_create", step=step.index))
            planned = True
        found.extend(_of_step(step))
        acted = acted or step.source == "agent"
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


def _compacts(step: Step, inputs: dict[str | None, int], acted: bool) -> bool:
    if step.source == "system":
        return acted and step.message is not None and _COMPACTION.search(step.message) is not None
    now = None if step.usage is None else step.usage.input_tokens
    if step.source != "agent" or now is None:
        return False
    before = inputs.get(step.agent)
    inputs[step.agent] = now
    return before is not None and 2 * now < before
