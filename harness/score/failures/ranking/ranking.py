"""One ranked answer: the step at which a trial most probably went wrong, the runners-up below.

A probability is stated of the first step alone, where it names a wrong write: it held on benchmarks that were left out
(`Fitted.probability`). The order is by weight. A kind's weight is how often its origin was the step that people named
as the decisive mistake, where it stood first: hits and cases of labelled failed runs (`Fitted.steps`), drawn towards
their common mean as if `_WEIGHT` further cases had it. These counts stand with the step; each kind has them from one
source, so that nothing says how far they hold on another. Kinds that no labelled set has are placed by the order in
which causes come before their consequences. A judge's finding (`judged`) and one of a suite's own detector have no
place in that order: theirs is the finding's own confidence times `_CITED` or `_OTHERWISE`. Where the first does not
reach the weight `Fitted.certain`, the answer is "cannot tell".
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal

from harness.score.diagnosis import Diagnosis, Failure, Kind, OwnKind
from harness.score.failures.ranking.fitted import Counted, Fitted, fitted
from harness.trace import Trajectory
from harness.values import Frozen

_WEIGHT: Final = 10
_ASSUMED: Mapping[str, float] = MappingProxyType(
    {
        "plan_for_another_task": 0.5,
        "plan_not_carried_out": 0.45,
        "objective_switched": 0.25,
        "goal_left_out": 0.25,
        "answer_off_goal": 0.25,
        "unchecked_answer": 0.4,
        "claimed_check": 0.42,
        "first_result_carried": 0.45,
        "assumed_data": 0.4,
        "worker_result_carried": 0.3,
        "failed_code_carried": 0.35,
        "first_answer_carried": 0.25,
        "unsourced_figures_carried": 0.45,
        "recalled_figures": 0.4,
        "carried_premise": 0.42,
        "contradicted_user_carried": 0.55,
        "injected_answer_carried": 0.5,
        "hidden_error_carried": 0.45,
        "contradicted_answer_carried": 0.45,
        "miscopied_value": 0.55,
        "invented_tool": 0.35,
        "guessed_argument": 0.4,
        "ambiguous_match": 0.4,
        "unread_items": 0.4,
        "foreign_task": 0.4,
        "wrong_target": 0.5,
        "wrong_argument": 0.5,
        "wrong_encoding": 0.5,
        "unwarranted_write": 0.5,
        "needless_write": 0.4,
        "missing_reads": 0.4,
        "unsupported_answer": 0.4,
        "first_change": 0.42,
        "refused": 0.4,
        "stuck_on_error": 0.3,
        "echoed_call": 0.3,
        "barren_calls": 0.3,
        "repeated_call": 0.3,
        "repeated_cycle": 0.3,
        "missing_write": 0.25,
        "stopped_early": 0.25,
        "claimed_call": 0.21,
        "fabricated_result": 0.21,
    }
)
_OTHERWISE: Final = 0.15
_JUDGED: Final = "judged"
_CITED: Final = 0.6
"""How often the first step that a judge cites is taken to be the decisive one, where the mode is really there."""
_TOOLS: Final[frozenset[str]] = frozenset(
    {"hidden_error_carried", "injected_answer_carried", "contradicted_answer_carried"}
)
"""Kinds that begin in a tool's answer, which stands in the step of the agent's call."""


class Suspect(Frozen):
    """A step that may have decided the trial."""

    step: int
    agent: str | None
    """Whose step it is; None: the user's, or a tool's answer in it."""
    source: Literal["agent", "user", "system", "tool"]
    """Whose message it began in."""
    failure: Failure
    kind: Kind | OwnKind
    reason: str
    prevention: str | None
    """What would have stopped it; None: not told."""
    probability: float | None = None
    """That the step is the first wrong write, for a kind that is about one and that several benchmarks were counted
    for (`Fitted.probability`); None: nothing holds that could be stated.
    """
    writes: Counted | None = None
    """Of the benchmarks' failed runs in which its kind was named first: how often its step was the first wrong write;
    None: the kind is not about a change, or not the first one named.
    """
    counted: Counted | None
    """Of the labelled runs in which its kind stood first: how often people named its step; None: not counted."""


def suspects(
    diagnoses: Sequence[Diagnosis],
    trajectory: Trajectory,
    *,
    success: bool | None,
    numbers: Fitted | None = None,
) -> tuple[Suspect, ...]:
    """Steps by falling weight, the earlier first of equals; empty for a success, and where nobody can tell.

    `diagnoses`: findings and hints. The step may be the user's or a tool's: then its agent is None.
    """
    if success:
        return ()
    weights = _Weights(fitted() if numbers is None else numbers)
    by_step: dict[int, Diagnosis] = {}
    for one in diagnoses:
        step = one.origin_step
        if step is None or one.failure == "other":
            continue
        known = by_step.get(step)
        if known is None or weights.of(one) > weights.of(known):
            by_step[step] = one
    steps = {step.index: step for step in trajectory.steps}
    ranked: list[Suspect] = []
    for step, one in sorted(by_step.items(), key=lambda pair: (-weights.of(pair[1]), pair[0])):
        if not ranked and weights.of(one) < weights.certain:
            return ()
        at = steps.get(step)
        chance = None if ranked else weights.probability(one.kind)
        source = "tool" if one.kind in _TOOLS else "agent" if at is None else at.source
        ranked.append(
            Suspect(
                step=step,
                agent=(at.agent or trajectory.agent) if at is not None and source == "agent" else None,
                source=source,
                failure=one.failure,
                kind=one.kind,
                reason=one.evidence,
                prevention=one.prevention,
                probability=None if chance is None else round(chance, 2),
                counted=weights.counted.get(one.kind),
                writes=None if ranked else weights.writes.get(one.kind),
            )
        )
    return tuple(ranked)


class _Weights:
    def __init__(self, numbers: Fitted) -> None:
        self.certain = numbers.certain
        self.probability = numbers.probability
        self.counted: Mapping[str, Counted] = {str(kind): counted for kind, counted in numbers.steps.items()}
        self.writes = {
            str(kind): Counted(
                right=sum(one.right for one in some.values()), cases=sum(one.cases for one in some.values())
            )
            for kind, some in numbers.writes.items()
        }
        cases = sum(one.cases for one in numbers.steps.values())
        self._mean = sum(one.right for one in numbers.steps.values()) / cases if cases else 0.0

    def of(self, one: Diagnosis) -> float:
        counted = self.counted.get(one.kind)
        if counted is not None:
            return (counted.right + self._mean * _WEIGHT) / (counted.cases + _WEIGHT)
        if one.kind == _JUDGED:
            return _CITED * one.confidence
        known = _ASSUMED.get(one.kind)
        return _OTHERWISE * one.confidence if known is None and ":" in one.kind else known or _OTHERWISE
