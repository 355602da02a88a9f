"""Look-ups that were announced and never made, where an answer was given all the same.

The plan is what the agent wrote before its first call. At least one of its items needs a look-up (see `announced`).
The run handed in an answer by a call, and no other call's answer told that answer or anything new (see `progress`):
what the plan needed was never got. That is read off the plan and the calls. Three modes begin at the same step, the
one that states the answer:

`plan_not_carried_out` (goal drift): the agent left its plan, and what it did instead was to answer.
`unsupported_answer` (tool hallucination): the answer stands for what a tool would have told; see `unsupported`.
`unchecked_answer` (premature commitment): the plan announced that something would be verified or confirmed.

Looked for only where the trial is not known to have succeeded. Does not count: a run that handed nothing in, a look-up
that was made and brought something (whatever became of it), a task that needs none.

Dependent steps: the later ones that hand the answer in.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

from harness.score.diagnosis import Diagnosis, Failure, Kind
from harness.score.evidence import Evidence
from harness.score.failures.modes.stuck import COMMANDS
from harness.score.failures.signals.announced import PlanNeeds, announced, offered_tools
from harness.score.failures.signals.grounding import texts
from harness.score.failures.signals.handing_over import hands_in
from harness.score.failures.signals.progress import INFORMATIVE, gives, new_atoms
from harness.score.failures.signals.reading import Act, Reading, read
from harness.trace import Step, ToolCall

VERSION: Final = "3"
_LONGEST: Final = 20_000
"""Characters of a plan that are examined."""
_MESSAGES: Final = 4


@dataclass(frozen=True, kw_only=True)
class MissingLookups:
    """An answer that stands in place of look-ups."""

    answered: int
    """Index of the step that states the answer."""
    later: tuple[int, ...]
    needed: PlanNeeds
    """What the plan needed from outside."""


def is_answer(call: ToolCall) -> bool:
    """Whether a call hands in: by its own name, or by code that does so."""
    if hands_in(call.name):
        return True
    code = (call.arguments or {}).get("code")
    return isinstance(code, str) and "final_answer(" in code


def unmade_lookups(reading: Reading) -> MissingLookups | None:
    """None: the plan needed none, one was made, nothing was handed in, or the trial succeeded."""
    if reading.evidence.success is True or not reading.acts:
        return None
    answers = [act for act in reading.acts if is_answer(act.call)]
    if not answers or _brought_something(reading) or told_by(reading, answers[-1]) is not None:
        return None
    offered = offered_tools(reading)
    needed = announced(_plan(reading), offered)
    if not needed.items:
        return None
    answered = _stated(reading, answers[0], offered)
    later = dict.fromkeys(act.step for act in answers if act.step > answered)
    return MissingLookups(answered=answered, later=tuple(later), needed=needed)


def abandoned_plans(unmade: MissingLookups | None) -> tuple[Diagnosis, ...]:
    """At most one finding of each of the two modes."""
    if unmade is None:
        return ()
    named = f" by {', '.join(unmade.needed.tools)}" if unmade.needed.tools else ""
    items = len(unmade.needed.items)
    evidence = f"{items} items of the plan need a look-up{named}; the answer was given, and none had told anything"
    found = [_found("goal_drift", "plan_not_carried_out", unmade, evidence)]
    if unmade.needed.checks:
        evidence = "the plan announced to verify what it finds; the answer was given with nothing found or verified"
        found.append(_found("premature_commitment", "unchecked_answer", unmade, evidence))
    return tuple(found)


def told_by(reading: Reading, answer: Act) -> Act | None:
    """The call of a tool, no program of the agent's, whose result told what is handed in."""
    value = " ".join(texts(answer.call.arguments))
    others = (act for act in reading.acts if act.number < answer.number and not is_answer(act.call))
    tools = (act for act in others if COMMANDS.isdisjoint(act.call.arguments or ()))
    return next((act for act in tools if gives(act, value)), None)


def _brought_something(reading: Reading) -> bool:
    others = [act for act in reading.acts if act.seen is not None and not is_answer(act.call)]
    return any(count >= INFORMATIVE for count in new_atoms(reading, others).values())


def _plan(reading: Reading) -> str:
    first = reading.acts[0].moment
    before = (
        step for step in reading.steps if step.source == "agent" and reading.moments[step.index] < first and _said(step)
    )
    return "\n".join(_said(step) for step, _ in zip(before, range(_MESSAGES), strict=False))[:_LONGEST]


def _stated(reading: Reading, answer: Act, offered: frozenset[str]) -> int:
    """The message right before the call where it says something itself and is not a plan, else the call's own step."""
    own = next(step for step in reading.steps if step.index == answer.step)
    if _said(own):
        return own.index
    statement = None
    for step in reading.steps:
        if step.index >= own.index:
            break
        if step.source != "agent":
            statement = None
        elif _said(step) and not step.calls and not announced(_said(step), offered).items:
            statement = step.index
    return own.index if statement is None else statement


def _said(step: Step) -> str:
    return " ".join(part for part in (step.thought, step.message, *(step.plan or ())) if part)


def _found(failure: Failure, kind: Kind, unmade: MissingLookups, evidence: str) -> Diagnosis:
    return Diagnosis(
        failure=failure,
        kind=kind,
        origin_step=unmade.answered,
        dependent_steps=unmade.later,
        evidence=evidence,
        confidence=0.9 if unmade.needed.tools else 0.8,
        version=VERSION,
    )


class Lookups:
    """Plans that needed to look something up, which no call did."""

    name: ClassVar[str] = "lookups"
    version: ClassVar[str] = VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        return abandoned_plans(unmade_lookups(read(evidence)))
