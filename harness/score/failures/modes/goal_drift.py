"""Goal drift: from some step on the actions serve another goal than the task's.

`foreign_task` counts: a call whose identifiers neither the task, nor the user, nor any observation had given, which
succeeded, and at least one further call on the same foreign identifiers or on what only that call's answer gave: the
agent works on somebody else's case. Does not count: one such call alone (a guess, see `premature_commitment`); a value
that differs from a known one in a character or two (see `cascading_error`); a wrong choice among things that the task
did bring up, or more calls than needed.

`plan_for_another_task` counts: the first plan or message of the agent shares almost no word with the task, while it
shares several with a task of its own statement ("Task description", "Plan"). Does not count: a short reply, a question,
a call, or a trial that is known to have succeeded.

`plan_not_carried_out` stands in `lookups`.

What they leave out: drift inside the same entities (cancelling where a change was asked for) is seen only by the
checks.

Origin: the first foreign call, or the message. Dependent steps: the calls that rest on it.
"""

import re
from collections.abc import Sequence
from typing import ClassVar, Final

from harness.score.diagnosis import Diagnosis
from harness.score.evidence import Evidence
from harness.score.failures.signals.acts import Act
from harness.score.failures.signals.foreign import Foreign, foreign_of, rests_on
from harness.score.failures.signals.grounding import atoms
from harness.score.failures.signals.reading import Reading, read

VERSION: Final = "5"
_STATED: Final = re.compile(r"(?i)task description|plan for solving|## plan|# plan")
_LONG_WORD: Final = 4
_FEW: Final = 6
"""A task with fewer words of its own gives nothing to compare."""
_SHARED: Final = 0.2


def foreign_tasks(reading: Reading, foreign: Sequence[Foreign]) -> tuple[Diagnosis, ...]:
    """At most one finding: whatever foreign calls there are belong to the drift."""
    starts = [one for one in foreign if one.lookalike is None and not one.acts[0].failed]
    if not starts:
        return ()
    chain = _chain(reading, starts)
    steps = list(dict.fromkeys(act.step for act in chain))
    if len(chain) < 2:
        return ()
    return (
        Diagnosis(
            failure="goal_drift",
            kind="foreign_task",
            origin_step=steps[0],
            dependent_steps=tuple(steps[1:]),
            evidence=f"{starts[0].value!r} came from nowhere, and {len(chain)} calls are about it and what it led to",
            confidence=0.9 if starts[0].confirmed else 0.7,
            version=VERSION,
        ),
    )


def _chain(reading: Reading, starts: Sequence[Foreign]) -> list[Act]:
    """The foreign calls and, transitively, those that rest on their answers."""
    foreign = {act.number for one in starts for act in one.acts}
    values = frozenset(
        atom for one in starts for atom in atoms(one.value) if not reading.sources.grounded(atom, one.acts[0].moment)
    )
    given: set[int] = set()
    chain: list[Act] = []
    for act in reading.acts:
        if act.number in foreign or (chain and rests_on(act, given, values, reading)):
            chain.append(act)
            given.add(act.moment + 1)
    return chain


def other_plans(reading: Reading) -> tuple[Diagnosis, ...]:
    """At most one finding, at the agent's first message."""
    if reading.evidence.success is True:
        return ()
    agents = (step for step in reading.steps if step.source == "agent")
    first = next((step for step in agents if step.message or step.plan or step.thought), None)
    if first is None:
        return ()
    text = " ".join((first.thought or "", first.message or "", *(first.plan or ())))
    task = _words(reading.evidence.case.task)
    stated = _STATED.search(text)
    if stated is None or len(task) < _FEW:
        return ()
    shared = len(task & _words(text[stated.start() :])) / len(task)
    if shared >= _SHARED:
        return ()
    return (
        Diagnosis(
            failure="goal_drift",
            kind="plan_for_another_task",
            origin_step=first.index,
            evidence=f"the plan has {shared:.0%} of the task's words",
            confidence=0.8,
            version=VERSION,
        ),
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in atoms(text) if len(word) > _LONG_WORD)


class GoalDrift:
    """Work on foreign cases, and plans for another task."""

    name: ClassVar[str] = "goal_drift"
    version: ClassVar[str] = VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        reading = read(evidence)
        return (*foreign_tasks(reading, foreign_of(evidence)), *other_plans(reading))
