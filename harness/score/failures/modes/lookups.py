"""Look-ups that were announced and never made, where an answer was given all the same.

The plan is what the agent wrote before its first call. At least one of its items needs a look-up (see `announced`). The
run handed in an answer, by a call or as its last words where nobody had spoken but the task, and no other call's answer
told that answer or anything new (see `progress`): what the plan needed was never obtained. The plan and the
calls show it. Three modes begin at the same step, the one that states the answer:

`plan_not_carried_out` (goal drift): the agent left its plan, and what it did instead was to answer.
`unsupported_answer` (tool hallucination): the answer stands for what a tool would have told; see `unsupported`.
`unchecked_answer` (premature commitment): the plan announced that something would be verified or confirmed. It counts
also where the agent's own words said so later ("I will verify this"), and no call followed but the one that hands in.

The first two are found as well where a sub-agent was to look something up and reported that it could not, and the next
step handed in an answer all the same, which neither its report nor any tool had told.

Looked for only where the trial is not known to have succeeded. Does not count: a run that handed nothing in, a look-up
that was made and brought something (whatever became of it), a task that needs none; an answer that says that it is not
known.

Dependent steps: the later ones that hand the answer in.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile
from typing import ClassVar, Final

from harness.score.diagnosis import Diagnosis, Failure, Kind
from harness.score.evidence import Evidence
from harness.score.failures.modes.stuck import COMMANDS
from harness.score.failures.signals.acts import Act
from harness.score.failures.signals.announced import PlanNeeds, announced, offered_tools
from harness.score.failures.signals.grounding import NEVER, texts
from harness.score.failures.signals.handing_over import hands_in
from harness.score.failures.signals.progress import gives, is_informed
from harness.score.failures.signals.reading import Reading, read
from harness.trace import Step, ToolCall

VERSION: Final = "5"
_LONGEST: Final = 20_000
"""Characters of a plan that are examined."""
_MESSAGES: Final = 4
_OPENING: Final = 300
"""Characters of a report that say how it went."""
_COULD_NOT: Final = re.compile(
    r"\b(?:unable to|not able to|failed to|(?:could|can)(?:not| not|n't)(?: be)?(?: \w+ly)? "
    r"(?:find|found|locat|determin|access|open|read|retriev|extract|identif|confirm|verif|complet|obtain|answer)\w{0,3})\b",
    re.I,
)
_LITERAL: Final = re.compile(r"final_answer\(\s*(?:answer\s*=\s*)?[\"']([^\"'\n]{1,300})[\"']")
_WILL_CHECK: Final = re.compile(
    r"\b(?:i(?:'ll| will| shall| am going to|'m going to)|let me|let us|let's|next,? i|now,? i)(?: \w+){0,2} "
    r"(?:verify|double-?check|cross-?check|validate)\b"
)


@dataclass(frozen=True, kw_only=True)
class MissingLookups:
    """An answer that stands in place of look-ups."""

    answered: int
    """Index of the step that states the answer."""
    later: tuple[int, ...]
    needed: PlanNeeds
    """What the plan needed from outside; nothing where an agent reported that it had failed."""
    reported: int | None = None
    """Index of the step in which an agent that was sent handed in that it could not; None: none did."""


def is_answer(call: ToolCall) -> bool:
    """Whether a call hands in: by its own name, or by code that does so."""
    if hands_in(call.name):
        return True
    code = (call.arguments or {}).get("code")
    return isinstance(code, str) and "final_answer(" in code


def unmade_lookups(reading: Reading) -> MissingLookups | None:
    """None: the plan needed none, one was made, nothing was handed in, or the trial succeeded."""
    if reading.evidence.success is True or not reading.records_calls:
        return None
    return reading.evidence.once(_missing_lookups)


def _missing_lookups(evidence: Evidence) -> MissingLookups | None:
    reading = read(evidence)
    return _planned_and_unmade(reading) or _answered_after_failure(reading)


def _answered_after_failure(reading: Reading) -> MissingLookups | None:
    """An answer that follows at once on the report of a sub-agent that could not find it."""
    answers = list(takewhile(lambda act: is_answer(act.call), reversed(reading.acts)))[::-1]
    reports = [place for place, act in enumerate(answers) if hands_in(act.call.name) and _says_failed(_handed_in(act))]
    later = answers[reports[-1] + 1 :] if reports else []
    if not later or _says_failed(_handed_in(later[-1])):
        return None
    report, last = answers[reports[-1]], later[-1]
    value = _handed_in(last)
    known = [text for text in (_LITERAL.findall(value) or [value]) if text.strip()]
    if any(text.strip().casefold() in _handed_in(report).casefold() for text in known) or told_by(reading, last):
        return None
    steps = tuple(dict.fromkeys(act.step for act in later))
    return MissingLookups(
        answered=steps[0],
        later=steps[1:],
        needed=PlanNeeds(items=(), tools=(), checks=False),
        reported=report.step,
    )


def _handed_in(act: Act) -> str:
    return " ".join(texts(act.call.arguments))


def _says_failed(report: str) -> bool:
    return _COULD_NOT.search(report, 0, _OPENING) is not None


def _planned_and_unmade(reading: Reading) -> MissingLookups | None:
    answers = [act for act in reading.acts if is_answer(act.call)]
    said = None if answers else last_words(reading)
    if not (answers or said) or _brought_something(reading):
        return None
    if told_by(reading, answers[-1]) if answers else said is not None and _told(reading, said.message or ""):
        return None
    offered = offered_tools(reading)
    needed = announced(_plan(reading, said), offered)
    if not needed.items or (said is not None and announced(_said(said), offered).items):
        return None
    answered = _stated(reading, answers[0], offered) if said is None else said.index
    later = dict.fromkeys(act.step for act in answers if act.step > answered)
    return MissingLookups(answered=answered, later=tuple(later), needed=needed)


def last_words(reading: Reading) -> Step | None:
    """The message that a run ended with, where it made no call and nobody but the task had spoken to the agent."""
    steps = reading.steps
    if reading.evidence.trial.outcome != "finished" or not steps or steps[-1].source != "agent" or steps[-1].calls:
        return None
    said = [step for step in steps if step.source == "user" and step.message]
    first = next((step.index for step in steps if step.source == "agent"), steps[-1].index)
    return steps[-1] if steps[-1].message and all(step.index < first for step in said) else None


def unmade_checks(reading: Reading) -> tuple[Diagnosis, ...]:
    """At most one finding: a check that the agent announced in its own words, and no call followed."""
    if reading.evidence.success is True or not reading.records_calls:
        return ()
    heard = max((reading.moments[step.index] for step in reading.steps if step.source == "user"), default=-1)
    found = [
        (step.index, match.group())
        for step in reading.steps
        if step.source == "agent" and reading.moments[step.index] > heard
        for match in (_WILL_CHECK.search(reading.words.get(step.index, "").casefold()),)
        if match is not None
    ]
    if not found:
        return ()  # the usual case
    last = max((act.step for act in reading.acts if not is_answer(act.call)), default=-1)
    ends = [act.step for act in reading.acts if is_answer(act.call)][-1:]
    ends = ends or [step.index for step in (last_words(reading),) if step is not None]
    for index, words in found:
        if ends and last < index <= ends[0]:
            evidence = f"announces {words!r}, and no call followed before the answer"
            return (_finding("premature_commitment", "unchecked_answer", ends[0], (), evidence, 0.7),)
    return ()


def abandoned_plans(unmade: MissingLookups | None) -> tuple[Diagnosis, ...]:
    """At most one finding of each of the two modes."""
    if unmade is None:
        return ()
    named = f" by {', '.join(unmade.needed.tools)}" if unmade.needed.tools else ""
    items = len(unmade.needed.items)
    if unmade.reported is not None:
        evidence = (
            f"the agent that was sent reported at step {unmade.reported} that it could not; an answer followed at once"
        )
        return (_found("goal_drift", "plan_not_carried_out", unmade, evidence),)
    evidence = f"{items} items of the plan need a look-up{named}; the answer was given, and none had told anything"
    found = [_found("goal_drift", "plan_not_carried_out", unmade, evidence)]
    if unmade.needed.checks:
        evidence = "the plan announced to verify what it finds; the answer was given with nothing found or verified"
        found.append(_found("premature_commitment", "unchecked_answer", unmade, evidence))
    return tuple(found)


def told_by(reading: Reading, answer: Act) -> Act | None:
    """The call of a tool, no program of the agent's, whose result told what is handed in."""
    earlier = (act for act in reading.acts if act.number < answer.number)
    return _told(reading, " ".join(texts(answer.call.arguments)), earlier)


def _told(reading: Reading, value: str, acts: Iterable[Act] | None = None) -> Act | None:
    others = (act for act in (reading.acts if acts is None else acts) if not is_answer(act.call))
    tools = (act for act in others if COMMANDS.isdisjoint(act.call.arguments or ()))
    return next((act for act in tools if gives(act, value)), None)


def _brought_something(reading: Reading) -> bool:
    return is_informed(reading, [act for act in reading.acts if act.seen is not None and not is_answer(act.call)])


def _plan(reading: Reading, answer: Step | None) -> str:
    """What the agent wrote before its first call; where there is none, before its answer."""
    if reading.acts:
        first = reading.acts[0].moment + (0 if is_answer(reading.acts[0].call) else 1)  # what it said when it called
    else:
        first = NEVER if answer is None else reading.moments[answer.index]
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
    sure = 0.9 if unmade.needed.tools else 0.8
    return _finding(failure, kind, unmade.answered, unmade.later, evidence, sure)


def _finding(
    failure: Failure, kind: Kind, step: int, later: tuple[int, ...], evidence: str, confidence: float
) -> Diagnosis:
    return Diagnosis(
        failure=failure,
        kind=kind,
        origin_step=step,
        dependent_steps=later,
        evidence=evidence,
        confidence=confidence,
        version=VERSION,
    )


class Lookups:
    """Plans that needed to look something up, which no call did."""

    name: ClassVar[str] = "lookups"
    version: ClassVar[str] = VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        reading = read(evidence)
        abandoned = abandoned_plans(unmade_lookups(reading))
        if any(one.kind == "unchecked_answer" for one in abandoned):
            return abandoned
        return (*abandoned, *unmade_checks(reading))
