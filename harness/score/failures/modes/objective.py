"""Goal drift over time: what the calls ask for at the end, held against what they asked for first and the goal.

Examined are the texts of several words in calls (queries, code, commands), without what hands in, in thirds of those
calls; a goal's words are the task's of four letters and more.

`goal_left_out` counts: the last third's calls contain less than seven tenths of the share of the goal's words that the
first third's contain. `objective_switched` counts: the last third's calls share at most a tenth of their words with
the first third's, and contain at most half of the share of the goal's words.

Does not count: fewer than three such calls, a trial that is known to have succeeded, identifiers and single words as
arguments (see `foreign_task`), what agents say to each other: a plan and a summary differ in words in good runs too.

Origin: the first call of the last third. Dependent steps: the later ones.
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

VERSION: Final = "2"
_LETTERS: Final = 4
_FEWEST: Final = 3
"""Calls, one for each third."""
_LEFT: Final = 0.7
_HALF: Final = 0.5
_SHARED: Final = 0.1


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
        return objectives(read(evidence))
