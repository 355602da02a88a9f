"""Loop trap: a call, or a cycle of up to four calls, made three times running while nothing changed.

Counts: a cycle of period 1 (`repeated_call`) or of 2 to 4 (`repeated_cycle`) whose calls ask for the same and were
answered the same, at least three times in direct succession; a text that is repeated with other comments, waits or
layout asks for the same; an answer that differs only in clock times, durations or addresses, of a read also in numbers
and times of the request, or in under a twentieth of a long page's words, is the same. What a user says between the
calls is part of the cycle: when he says something new, it is none. Where answers are not recorded, equal calls count
alone, at less confidence.

Does not count: equal calls of one reply, which were decided at once; the same call with another answer (the state
changed: a test run again after an edit, a poll that moves on); a repeat that the reference itself asks for; the number
of calls, however large.

Origin: the first repeat. Dependent steps: the later ones.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from harness.score.comparison.reference import reference_keys
from harness.score.diagnosis import Diagnosis, Kind
from harness.score.evidence import Evidence
from harness.score.failures.signals.acts import Act
from harness.score.failures.signals.grounding import atoms
from harness.score.failures.signals.reading import Reading, read
from harness.score.failures.signals.repetition import overlap

VERSION: Final = "4"
REPEATS: Final = 3
PERIODS: Final = (1, 2, 3, 4)
_PAGE: Final = 2000
"""Characters from which on an answer is a page, parts of which change by themselves."""
_SAME_PAGE: Final = 0.95


class _Event(NamedTuple):
    """A call with its answer, or what the user said."""

    step: int
    token: str
    act: Act | None


@dataclass(frozen=True, kw_only=True)
class _Cycle:
    start: int
    period: int
    length: int

    @property
    def times(self) -> int:
        return self.length // self.period


def loop_traps(reading: Reading) -> tuple[Diagnosis, ...]:
    """Every maximal cycle, the shortest period first where several fit."""
    events = _events(reading)
    asked = Counter(reference_keys(reading.evidence))
    found = []
    for cycle in _cycles([event.token for event in events]):
        turn = events[cycle.start : cycle.start + cycle.period]
        acts = [event.act for event in turn if event.act is not None]
        steps = {event.step for event in events[cycle.start : cycle.start + cycle.length]}
        if acts and len(steps) > 1 and not all(asked[act.key] >= cycle.times for act in acts):
            found.append(_diagnosis(events, cycle, acts))
    return tuple(found)


class _Answers:
    """Gives answers of one call the same label while they tell the same."""

    def __init__(self, acts: Sequence[Act]) -> None:
        self.keys = {act.number: act.gist_key for act in acts}
        self._asked = Counter(self.keys.values())
        self._last: dict[str, tuple[str, frozenset[str], int]] = {}

    def label(self, act: Act) -> str:
        """Compared with the last answer to the same call only, so that a page that moves on slowly moves on."""
        if act.seen is None:
            return "?"
        asked = self.keys[act.number]
        if self._asked[asked] == 1:
            return "0"  # there is nothing to compare with
        answer = act.answer_key or ""
        before = self._last.get(asked)
        if before is not None and before[0] == answer:
            return str(before[2])
        said = frozenset(atoms(answer)) if len(answer) >= _PAGE else frozenset()
        alike = before is not None and len(said) > 0 and overlap(before[1], said) >= _SAME_PAGE
        number = before[2] if before is not None and alike else (0 if before is None else before[2] + 1)
        self._last[asked] = (answer, said, number)
        return str(number)


def _events(reading: Reading) -> list[_Event]:
    answers = _Answers(reading.acts)
    by_step: dict[int, list[Act]] = {}
    for act in reading.acts:
        by_step.setdefault(act.step, []).append(act)
    events: list[_Event] = []
    said = ""
    for step in reading.steps:
        if step.source == "user":
            events.append(_Event(step=step.index, token=f"user {said} {step.message or ''}", act=None))
            said = ""
        elif step.source == "agent":
            said = step.message or said
            for act in by_step.get(step.index, ()):
                events.append(
                    _Event(step=step.index, token=f"{answers.keys[act.number]} -> {answers.label(act)}", act=act)
                )
    return events


def _cycles(tokens: Sequence[str]) -> Iterator[_Cycle]:
    covered = [False] * len(tokens)
    for period in PERIODS:
        run = 0
        for place in range(period, len(tokens) + 1):
            if place < len(tokens) and tokens[place] == tokens[place - period] and not covered[place]:
                run += 1
                continue
            length = run + period
            start = place - length
            if length >= REPEATS * period:
                for inside in range(start, place):
                    covered[inside] = True
                yield _Cycle(start=start, period=period, length=length)
            run = 0


def _diagnosis(events: Sequence[_Event], cycle: _Cycle, acts: Sequence[Act]) -> Diagnosis:
    repeats = events[cycle.start + cycle.period : cycle.start + cycle.length]
    steps = list(dict.fromkeys(event.step for event in repeats))
    names = ", ".join(act.call.name for act in acts)
    known = all(act.seen is not None for act in acts)
    answered = "with the same answer each time" if known else "its answers are not recorded"
    return Diagnosis(
        failure="loop_trap",
        kind="repeated_call" if cycle.period == 1 else "repeated_cycle",
        origin_step=steps[0],
        dependent_steps=tuple(steps[1:]),
        evidence=f"{names}: {cycle.times} times running, {answered}",
        confidence=_confidence(acts, known),
        version=VERSION,
    )


def _confidence(acts: Sequence[Act], known: bool) -> float:
    if not known:
        return 0.6
    # a write that answers the same each time may still have changed something
    return 0.75 if any(act.writes and not act.failed for act in acts) else 0.95


def loops(evidence: Evidence) -> tuple[Diagnosis, ...]:
    """The loop traps, which need no verdict; found at most once for the same evidence."""
    return evidence.once(_loops)


def _loops(evidence: Evidence) -> tuple[Diagnosis, ...]:
    return loop_traps(read(evidence))


class LoopTrap:
    """Calls and cycles that are repeated while nothing changes."""

    name: ClassVar[str] = "loop_trap"
    version: ClassVar[str] = VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        return loops(evidence)


def useless_repeats(kind: Kind, steps: Sequence[int], evidence: str, confidence: float, version: str) -> Diagnosis:
    """A loop trap whose first useless repeat is in the first of the steps."""
    return Diagnosis(
        failure="loop_trap",
        kind=kind,
        origin_step=steps[0],
        dependent_steps=tuple(steps[1:]),
        evidence=evidence,
        confidence=confidence,
        version=version,
    )
