"""Look-ups that were announced and never made, where an answer was given all the same.

The plan is what the agent wrote before its first call. It needs to look something up where it speaks of sources outside
the conversation (articles, databases, web pages) at least `Fitted.outside` times: a riddle's plan does not. The run
handed in an answer by a call, and no other call's answer told anything new (see `progress`). Three modes then begin at
the same step, the one that states the answer:

`plan_not_carried_out` (goal drift): the agent left its plan, and what it did instead was to answer.
`unsupported_answer` (tool hallucination): the answer stands for what a tool would have told; see `unsupported`.
`unchecked_answer` (premature commitment): the plan announced that something would be verified, confirmed or compared.

Looked for only where the trial is not known to have succeeded. Does not count: a run that handed nothing in, a look-up
that was made and brought something (whatever became of it), a task that needs none.

Dependent steps: the later ones that hand the answer in.
"""

import re
from dataclasses import dataclass
from typing import ClassVar, Final

from harness.score.failures.diagnosis import Diagnosis, Failure, Kind
from harness.score.failures.fitted import CountedDetector, Fitted
from harness.score.failures.handing_over import hands_in
from harness.score.failures.progress import INFORMATIVE, new_atoms
from harness.score.failures.reading import Act, Reading, read
from harness.score.values import Evidence
from harness.trace import Step, ToolCall

VERSION: Final = "1"
_OUTSIDE: Final = re.compile(
    r"\b(?:wikipedia|web ?sites?|web ?pages?|articles?|papers?|databases?|records|internet|online|datasets?|literature|"
    r"publications?|archives?|web|reports?|documents?|videos?|transcripts?|sources?|search\w*|census|releases?|"
    r"commits?|repositor\w+)\b",
    re.I,
)
_CHECKING: Final = re.compile(
    r"\b(?:verif\w+|confirm\w*|cross-?(?:check|referenc|verif)\w*|validat\w+|compar\w+)\b", re.I
)
_LONGEST: Final = 20_000
"""Characters of a plan that are looked at."""
_MESSAGES: Final = 4
_MANY: Final = 20
"""Mentions of sources from which on a plan cannot do without them; the confidence grows up to there."""


@dataclass(frozen=True, kw_only=True)
class Unmade:
    """An answer that stands in place of look-ups."""

    answered: int
    """Index of the step that states the answer."""
    later: tuple[int, ...]
    sources: int
    """How often the plan speaks of outside sources."""
    checks: bool
    """Whether the plan announced to verify something."""


def is_answer(call: ToolCall) -> bool:
    """Whether a call hands in: by its own name, or by code that does so."""
    if hands_in(call.name):
        return True
    code = (call.arguments or {}).get("code")
    return isinstance(code, str) and "final_answer(" in code


def unmade_lookups(reading: Reading, fitted: Fitted) -> Unmade | None:
    """None: the plan needed none, one was made, nothing was handed in, or the trial succeeded."""
    if reading.evidence.success is True or not reading.acts:
        return None
    answers = [act for act in reading.acts if is_answer(act.call)]
    if not answers or _brought_something(reading):
        return None
    plan = _plan(reading)
    sources = len(_OUTSIDE.findall(plan))
    if sources < fitted.outside:
        return None
    answered = _stated(reading, answers[0])
    later = dict.fromkeys(act.step for act in answers if act.step > answered)
    return Unmade(answered=answered, later=tuple(later), sources=sources, checks=_CHECKING.search(plan) is not None)


def abandoned_plans(unmade: Unmade | None) -> tuple[Diagnosis, ...]:
    """At most one finding of each of the two modes."""
    if unmade is None:
        return ()
    evidence = f"the plan speaks of outside sources {unmade.sources} times; the answer was given without a look at any"
    found = [_found("goal_drift", "plan_not_carried_out", unmade, evidence)]
    if unmade.checks:
        evidence = "the plan announced to verify what it finds; the answer was given with nothing found or verified"
        found.append(_found("premature_commitment", "unchecked_answer", unmade, evidence))
    return tuple(found)


def _brought_something(reading: Reading) -> bool:
    others = [act for act in reading.acts if act.seen is not None and not is_answer(act.call)]
    return any(count >= INFORMATIVE for count in new_atoms(reading, others).values())


def _plan(reading: Reading) -> str:
    first = reading.acts[0].moment
    before = (
        step for step in reading.steps if step.source == "agent" and reading.moments[step.index] < first and _said(step)
    )
    return "\n".join(_said(step) for step, _ in zip(before, range(_MESSAGES), strict=False))[:_LONGEST]


def _stated(reading: Reading, answer: Act) -> int:
    """The message right before the call where it says something itself, else the call's own step."""
    own = next(step for step in reading.steps if step.index == answer.step)
    if _said(own):
        return own.index
    told = None
    for step in reading.steps:
        if step.index >= own.index:
            break
        if step.source != "agent":
            told = None
        elif _said(step) and not step.calls:
            told = step.index
    return own.index if told is None else told


def _said(step: Step) -> str:
    return " ".join(part for part in (step.thought, step.message, *(step.plan or ())) if part)


def _found(failure: Failure, kind: Kind, unmade: Unmade, evidence: str) -> Diagnosis:
    return Diagnosis(
        failure=failure,
        kind=kind,
        origin_step=unmade.answered,
        dependent_steps=unmade.later,
        evidence=evidence,
        confidence=round(0.4 + 0.5 * min(unmade.sources, _MANY) / _MANY, 2),
        version=VERSION,
    )


class Lookups(CountedDetector):
    """Plans that needed to look something up, which no call did."""

    name: ClassVar[str] = "lookups"
    version: ClassVar[str] = VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        return abandoned_plans(unmade_lookups(read(evidence), self.numbers))
