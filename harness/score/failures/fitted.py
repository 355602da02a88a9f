"""What was counted on labelled runs: which inferred kinds are reported as findings, and how often each named the step.

The numbers stand in `fitted.json`, which `python tests/scorer_eval/run.py --only fit` writes from the runs in
HARNESS_REAL_DATA. Everything that a detector or the ranking takes from data is in it and nowhere else, so that the
evaluation can count each number anew without the set it is shown for.
"""

import importlib.resources
from functools import cache
from typing import Final

from harness.score.diagnosis import Failure, Kind
from harness.values import Frozen

INFERRED: Final[dict[Kind, Failure]] = {
    "plan_for_another_task": "goal_drift",
    "plan_not_carried_out": "goal_drift",
    "goal_left_out": "goal_drift",
    "objective_switched": "goal_drift",
    "unsupported_answer": "tool_hallucination",
    "unchecked_answer": "premature_commitment",
    "assumed_data": "premature_commitment",
    "carried_premise": "cascading_error",
    "worker_result_carried": "cascading_error",
    "first_result_carried": "cascading_error",
    "failed_code_carried": "cascading_error",
    "first_answer_carried": "cascading_error",
}
"""Kinds that are read off words and shapes. Whether people see the failure there is a matter of counting; every other
kind follows from its definition."""


class Counted(Frozen):
    """How often something was right, of how many cases."""

    right: int
    cases: int


class Fitted(Frozen):
    """What labelled runs say."""

    findings: dict[Kind, Counted] = {}
    """Inferred kinds: runs flagged that people gave the mode, of all runs flagged."""
    reported: tuple[Kind, ...] = ()
    """Inferred kinds that are reported as findings; the others are hints."""
    hints: dict[Failure, str] = {}
    """Modes whose inferred kinds are hints only -> why."""
    steps: dict[Kind, Counted] = {}
    """Kinds whose origin was the step that people named as the decisive mistake, of the failed runs that have it."""
    outside: int = 6
    """Words for sources outside the conversation from which on a plan needs to look something up."""
    certain: float = 0.2
    """A step's probability below which the answer is "cannot tell"."""

    def is_finding(self, kind: str) -> bool:
        """Whether a diagnosis of this kind is reported as a finding; otherwise it is a hint."""
        return kind not in INFERRED or kind in self.reported


@cache
def fitted() -> Fitted:
    """The numbers that the package brings."""
    text = importlib.resources.files("harness.score.failures").joinpath("fitted.json").read_text(encoding="utf-8")
    return Fitted.model_validate_json(text)


class CountedDetector:
    """A detector that goes by what was counted on labelled runs. `numbers` None: what the package brings."""

    def __init__(self, numbers: Fitted | None = None) -> None:
        self.numbers = fitted() if numbers is None else numbers
