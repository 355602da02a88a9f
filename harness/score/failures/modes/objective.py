"""Goal drift over time: what the calls ask for at the end, held against what they asked for first and the goal.

Examined are the texts of several words in calls (queries, code, commands), without what hands in, in thirds of those
calls; a goal's words are the task's of four letters and more.

`goal_left_out` counts: the last third's calls contain less than seven tenths of the share of the goal's words that the
first third's contain. `objective_switched` counts: the last third's calls share at most a tenth of their words with
the first third's, and contain at most half of the share of the goal's words.

`answer_off_goal` counts: the last message, of twenty words and more, has at most three tenths of the goal's words, and
the second half of all calls (names and arguments) has a smaller share of them than the first half. Does not count: a
user who says more than the task, fewer than four calls, a goal of fewer than five words of its own.

Does not count: fewer than three such calls, a trial that is known to have succeeded, identifiers and single words as
arguments (see `foreign_task`), what agents say to each other: a plan and a summary differ in words in good runs too.

Origin: the first call of the last third, of `answer_off_goal` that of the second half. Dependent steps: the later ones.
"""

from collections.abc import Sequence
from typing import ClassVar, Final

from harness.score.diagnosis import Diagnosis, Kind
from harness.score.evidence import Evidence
from harness.score.failures.signals.acts import Act
from harness.score.failures.signals.grounding import atoms, texts
from harness.score.failures.signals.handing_over import hands_in
from harness.score.failures.signals.reading import Reading, read
from harness.score.failures.signals.repetition import overlap

VERSION: Final = "3"
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
_SHARED: Final = 0.1
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
    goal = _words(reading.evidence.case.task)
    if len(asked) < _FEWEST or not goal:
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
    if after <= _HALF * before and shared <= _SHARED:
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
    return _stems(" ".join((act.call.name, *texts(act.call.arguments))))


def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:_STEM] for word in _words(text) if word not in _COMMON)


def _query(act: Act) -> frozenset[str]:
    arguments = act.call.arguments
    argument_texts = [act.call.unparsed or ""] if arguments is None else texts(arguments)
    return frozenset(word for text in argument_texts if " " in text for word in _words(text))


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in atoms(text) if len(word) >= _LETTERS)


def _found(kind: Kind, steps: Sequence[int], evidence: str) -> Diagnosis:
    return Diagnosis(
        failure="goal_drift",
        kind=kind,
        origin_step=steps[0],
        dependent_steps=tuple(steps[1:]),
        evidence=evidence,
        confidence=0.5,
        version=VERSION,
    )


class Objective:
    """Goals that calls leave out from some step on."""

    name: ClassVar[str] = "objective"
    version: ClassVar[str] = VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        reading = read(evidence)
        return (*objectives(reading), *answers_off_goal(reading))
