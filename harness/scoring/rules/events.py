"""A trial as a row of events, which process rules speak of."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from pydantic import JsonValue

from harness.scoring.evidence import Evidence, once
from harness.traces.trajectory import Step
from harness.values import JsonObject

# <tool>         a call of the tool, however it was answered; `tool:<name>` names one that is called like an event
# reply          the agent spoke to the user          answer        its last reply, if it gave a final answer
# user           the user spoke                       error         a call was answered with an error
# plan_create    the agent stated its first plan      plan_update   it stated a later one

EVENTS: Final = frozenset({"reply", "answer", "user", "error", "plan_create", "plan_update"})


@dataclass(frozen=True, kw_only=True)
class Event:
    """One thing that happened."""

    name: str
    step: int
    is_call: bool = False
    arguments: JsonObject | None = None
    text: str = ""
    """What was said, in `user` and `reply`."""
    content: JsonValue = None
    """What a call that did not fail was answered."""
    missed: bool = False
    """Whether no recording answered the call."""


@dataclass(frozen=True)
class Row:
    """A trial's events in order; what happens in one step: its plan, its calls and errors, its reply."""

    events: tuple[Event, ...]
    places: dict[str, list[int]] = field(init=False, default_factory=dict)
    """Name of a tool or event -> its places in the row, ascending."""
    read: dict[int, dict[str, set[str]]] = field(init=False, default_factory=dict)
    """Place of a call -> the values of its answer by path, as far as they were read; see `language.values_of`."""

    def __post_init__(self) -> None:
        for place, event in enumerate(self.events):
            self.places.setdefault(event.name, []).append(place)

    @property
    def until_miss(self) -> "Row":
        """The row up to the first call that no recording answered: what follows may be the miss's doing."""
        end = next((place + 1 for place, event in enumerate(self.events) if event.missed), len(self.events))
        return Row(self.events[:end])

    @cached_property
    def calls(self) -> tuple[int, ...]:
        """The places of the calls of tools."""
        return tuple(place for place, event in enumerate(self.events) if event.is_call)


@once
def row_of(evidence: Evidence) -> Row:
    """The events of a trial, read once."""
    found: list[Event] = []
    planned = False
    answers = {
        seen.call_id: seen.content for seen in evidence.trial.trajectory.observations.values() if seen.error is None
    }
    for step in evidence.trial.trajectory.steps:
        if step.plan is not None:
            found.append(Event(name="plan_update" if planned else "plan_create", step=step.index))
            planned = True
        found.extend(_of_step(step, answers))
    last = next((event for event in reversed(found) if event.name == "reply" and not event.is_call), None)
    if last is not None and evidence.answered:
        found.insert(found.index(last) + 1, Event(name="answer", step=last.step))
    elif evidence.answered:
        found.append(Event(name="answer", step=found[-1].step if found else 0))
    return Row(tuple(found))


def _of_step(step: Step, answers: dict[str, JsonValue]) -> Iterator[Event]:
    failed = {seen.call_id: seen.error.type for seen in step.observations if seen.error is not None}
    for call in step.calls:
        yield Event(
            name=call.name,
            step=step.index,
            is_call=True,
            arguments=call.arguments,
            content=answers.get(call.id),
            missed=failed.get(call.id) == "replay_miss",
        )
        if call.id in failed:
            yield Event(name="error", step=step.index)
    if step.message is not None and not step.calls and step.source != "system":
        yield Event(name="user" if step.source == "user" else "reply", step=step.index, text=step.message)
