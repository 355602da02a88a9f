"""One ranked answer: the step at which a trial most probably went wrong, the runners-up below.

The probability of a kind is how often its origin was the step that people named as the decisive mistake: hits and cases
of two labelled sets of failed multi-agent runs, drawn towards their common mean (`_MEAN`, worth `_WEIGHT` cases). Most
kinds occur in one of the sets only. Kinds that no labelled set has are given by the order in which causes come before
their consequences, at a probability that is marked as not calibrated. The probabilities of all suspects together stay
below 1: what is missing to it is "cannot tell".
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from harness.score.failures.diagnosis import Diagnosis, Failure, Kind
from harness.trace import Trajectory
from harness.values import Frozen

_MEAN: Final = 0.4
_WEIGHT: Final = 10
_COUNTED: Mapping[Kind, tuple[int, int]] = MappingProxyType(
    {
        "worker_result_carried": (17, 56),
        "first_result_carried": (8, 15),
        "failed_code_carried": (15, 32),
        "first_answer_carried": (11, 29),
        "assumed_data": (16, 39),
        "plan_for_another_task": (8, 11),
    }
)
"""Hits and cases. Counted by the table "The decisive step" of `make eval-scorer`, whose runs these are."""
_ASSUMED: Mapping[Kind, float] = MappingProxyType(
    {
        "miscopied_value": 0.55,
        "invented_tool": 0.35,
        "guessed_argument": 0.4,
        "foreign_task": 0.4,
        "wrong_target": 0.5,
        "wrong_argument": 0.5,
        "wrong_encoding": 0.5,
        "unwarranted_write": 0.5,
        "needless_write": 0.4,
        "missing_reads": 0.4,
        "unsupported_answer": 0.4,
        "refused": 0.4,
        "stuck_on_error": 0.3,
        "echoed_call": 0.3,
        "repeated_call": 0.3,
        "repeated_cycle": 0.3,
        "missing_write": 0.25,
        "stopped_early": 0.25,
    }
)
_OTHERWISE: Final = 0.15
_MOST: Final = 0.95


class Suspect(Frozen):
    """A step that may have decided the trial."""

    step: int
    agent: str | None
    failure: Failure
    kind: Kind
    reason: str
    probability: float
    calibrated: bool
    """Whether the probability was counted on labelled runs."""


def suspects(diagnoses: Sequence[Diagnosis], trajectory: Trajectory, *, success: bool | None) -> tuple[Suspect, ...]:
    """Steps by falling probability, the earlier first of equals; empty for a success, and where nobody can tell."""
    if success:
        return ()
    by_step: dict[int, Diagnosis] = {}
    for one in diagnoses:
        step = one.origin_step
        if step is None or one.failure == "other":
            continue
        known = by_step.get(step)
        if known is None or _raw(one.kind) > _raw(known.kind):
            by_step[step] = one
    agents = {step.index: step.agent or trajectory.agent for step in trajectory.steps if step.source == "agent"}
    total = sum(_raw(one.kind) for one in by_step.values())
    scale = min(1.0, _MOST / total) if total else 1.0
    found = [
        Suspect(
            step=step,
            agent=agents.get(step),
            failure=one.failure,
            kind=one.kind,
            reason=one.evidence,
            probability=round(_raw(one.kind) * scale, 2),
            calibrated=one.kind in _COUNTED,
        )
        for step, one in by_step.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.probability, one.step)))


def _raw(kind: Kind) -> float:
    counted = _COUNTED.get(kind)
    if counted is None:
        return _ASSUMED.get(kind, _OTHERWISE)
    return (counted[0] + _MEAN * _WEIGHT) / (counted[1] + _WEIGHT)
