"""Detectors of goal drift: work on something else, and goals that are left out from some step on."""

import re
from collections.abc import Sequence
from typing import ClassVar, Final

from harness.scoring.evidence import Evidence
from harness.scoring.failures.grounding import atoms
from harness.scoring.failures.reading import Act, Reading, overlap, read
from harness.scoring.failures.signals import Foreign, foreign_of, hands_in, rests_on
from harness.scoring.scorecard import Diagnosis, Kind

GOAL_DRIFT_VERSION: Final = "5"
_STATED: Final = re.compile(r"(?i)task description|plan for solving|## plan|# plan")
_LONG_WORD: Final = 4
_FEW: Final = 6
"""A task with fewer words of its own gives nothing to compare."""
_SHARED_WITH_TASK: Final = 0.2


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
            version=GOAL_DRIFT_VERSION,
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
    stated = _STATED.search(text)
    if stated is None:
        return ()
    task = _words_of_task(reading.evidence.case.task)
    if len(task) < _FEW:
        return ()
    shared = len(task & _words_of_task(text[stated.start() :])) / len(task)
    if shared >= _SHARED_WITH_TASK:
        return ()
    return (
        Diagnosis(
            failure="goal_drift",
            kind="plan_for_another_task",
            origin_step=first.index,
            evidence=f"the plan has {shared:.0%} of the task's words",
            confidence=0.8,
            version=GOAL_DRIFT_VERSION,
        ),
    )


def _words_of_task(text: str) -> frozenset[str]:
    return frozenset(word for word in atoms(text) if len(word) > _LONG_WORD)


class GoalDrift:
    """Goal drift: from some step on the actions serve another goal than the task's.

    `foreign_task` counts: a call whose identifiers neither the task, nor the user, nor any observation had given, which
    succeeded, and at least one further call on the same foreign identifiers or on what only that call's answer gave:
    the agent works on somebody else's case. Does not count: one such call alone (a guess, see `premature_commitment`);
    a value that differs from a known one in a character or two (see `cascading_error`); a wrong choice among things
    that the task did bring up, or more calls than needed.

    `plan_for_another_task` counts: the first plan or message of the agent shares almost no word with the task, while it
    shares several with a task of its own statement ("Task description", "Plan"). Does not count: a short reply, a
    question, a call, or a trial that is known to have succeeded.

    `plan_not_carried_out` stands in `lookups`.

    What they leave out: drift inside the same entities (cancelling where a change was asked for) is seen only by the
    checks.

    Origin: the first foreign call, or the message. Dependent steps: the calls that rest on it.
    """

    name: ClassVar[str] = "goal_drift"
    version: ClassVar[str] = GOAL_DRIFT_VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        reading = read(evidence)
        return (*foreign_tasks(reading, foreign_of(evidence)), *other_plans(reading))


OBJECTIVE_VERSION: Final = "3"
_LETTERS: Final = 4
_COMMON: Final = frozenset(
    {"please", "with", "that", "this", "from", "then", "them", "they", "have", "into", "what", "which", "when", "where"}
    | {"your", "their", "there", "about", "each", "every", "would", "could", "should", "give", "tell", "also", "want"}
    | {
        "need",
        "make",
        "find",
        "show",
        "only",
        "just",
        "after",
        "before",
        "until",
        "than",
        "were",
        "been",
        "will",
        "here",
    }
    | {"some", "more", "most", "like", "other", "over", "under", "while", "those", "these", "does", "answer", "using"}
)
"""Words that belong to no goal."""
_FEWEST: Final = 3
"""Calls, one for each third."""
_LEFT: Final = 0.7
_HALF: Final = 0.5
_SHARED_WITH_OBJECTIVE: Final = 0.1
_TOLD: Final = 0.3
_LONG: Final = 20
_CALLS: Final = 4
_GOAL: Final = 5
_STEM: Final = 6
"""Letters by which words are compared: `flights` and `flight` are one."""


def objectives(reading: Reading) -> tuple[Diagnosis, ...]:
    """At most one finding of each kind."""
    if reading.evidence.success is True or len(reading.acts) < _FEWEST:
        return ()
    asked = [(act, words) for act in reading.acts if not hands_in(act.call.name) and (words := _query(act))]
    if len(asked) < _FEWEST:
        return ()
    goal = _words_of_call(reading.evidence.case.task)
    if not goal:
        return ()
    third = len(asked) // 3
    first = frozenset[str]().union(*(words for _, words in asked[:third]))
    last = frozenset[str]().union(*(words for _, words in asked[-third:]))
    before, after = len(goal & first) / len(goal), len(goal & last) / len(goal)
    if not before:
        return ()
    found = []
    steps = list(dict.fromkeys(act.step for act, _ in asked[-third:]))
    shares = f"the first third's calls have {before:.0%} of the goal's words, the last third's {after:.0%}"
    if after <= _LEFT * before:
        found.append(_found("goal_left_out", steps, shares))
    shared = overlap(first, last)
    if after <= _HALF * before and shared <= _SHARED_WITH_OBJECTIVE:
        evidence = f"{shares}, and both share {shared:.0%} of their words"
        found.append(_found("objective_switched", steps, evidence))
    return tuple(found)


def answers_off_goal(reading: Reading) -> tuple[Diagnosis, ...]:
    """At most one finding."""
    acts, steps = reading.acts, reading.steps
    if reading.evidence.success is True or len(acts) < _CALLS or sum(step.source == "user" for step in steps) > 1:
        return ()
    last = next((step for step in reversed(steps) if step.source == "agent" and step.message), None)
    goal = _stems(reading.evidence.case.task)
    if last is None or last.message is None or len(last.message.split()) < _LONG or len(goal) < _GOAL:
        return ()
    told = len(goal & _stems(last.message)) / len(goal)
    half = len(acts) // 2
    early, late = (frozenset[str]().union(*map(_asked, some)) & goal for some in (acts[:half], acts[half:]))
    if told > _TOLD or len(late) >= len(early):
        return ()
    later = list(dict.fromkeys(act.step for act in acts[half:]))
    return (_found("answer_off_goal", later, f"the last message has {told:.0%} of the goal's words"),)


def _asked(act: Act) -> frozenset[str]:
    return _stems(" ".join((act.call.name, *act.argument_texts)))


def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:_STEM] for word in _words_of_call(text) if word not in _COMMON)


def _query(act: Act) -> frozenset[str]:
    argument_texts = (act.call.unparsed or "",) if act.call.arguments is None else act.argument_texts
    return frozenset(word for text in argument_texts if " " in text for word in _words_of_call(text))


def _words_of_call(text: str) -> frozenset[str]:
    return frozenset(word for word in atoms(text) if len(word) >= _LETTERS)


def _found(kind: Kind, steps: Sequence[int], evidence: str) -> Diagnosis:
    return Diagnosis(
        failure="goal_drift",
        kind=kind,
        origin_step=steps[0],
        dependent_steps=tuple(steps[1:]),
        evidence=evidence,
        confidence=0.5,
        version=OBJECTIVE_VERSION,
    )


class Objective:
    """Goal drift over time: what the calls ask for at the end, held against what they asked for first and the goal.

    Examined are the texts of several words in calls (queries, code, commands), without what hands in, in thirds of
    those calls; a goal's words are the task's of four letters and more.

    `goal_left_out` counts: the last third's calls contain less than seven tenths of the share of the goal's words that
    the first third's contain. `objective_switched` counts: the last third's calls share at most a tenth of their words
    with the first third's, and contain at most half of the share of the goal's words.

    `answer_off_goal` counts: the last message, of twenty words and more, has at most three tenths of the goal's words,
    and the second half of all calls (names and arguments) has a smaller share of them than the first half. Does not
    count: a user who says more than the task, fewer than four calls, a goal of fewer than five words of its own.

    Does not count: fewer than three such calls, a trial that is known to have succeeded, identifiers and single words
    as arguments (see `foreign_task`), what agents say to each other: a plan and a summary differ in words in good runs
    too.

    Origin: the first call of the last third, of `answer_off_goal` that of the second half. Dependent steps: the later
    ones.
    """

    name: ClassVar[str] = "objective"
    version: ClassVar[str] = OBJECTIVE_VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        reading = read(evidence)
        return (*objectives(reading), *answers_off_goal(reading))
