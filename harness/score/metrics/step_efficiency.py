"""How many steps the agent needed, against how many are known to do."""

from dataclasses import dataclass
from typing import ClassVar

from harness.score.evidence import Evidence, calls_of
from harness.score.selection import decisions


@dataclass(frozen=True, kw_only=True)
class Length:
    """The required and the actual length, in one unit."""

    optimal: int
    actual: int
    known_from: str


class StepEfficiency:
    """Optimal / actual; a ratio that may exceed 1, where the agent needed fewer steps than the known optimum.

    Optimal is the case's `optimal_steps`, else the length of its reference, else the best known success at the case;
    the explanation names the source. Actual are the steps in which tools were called (one decision with all its
    parallel calls); against a reference, whose length is counted in calls, the calls. Where the optimum is 0: 1 if no
    call was made, else 0. Excluded (None): no optimum is known; a check failed (giving up early is not efficient); no
    call was made though the optimum has some. Refused calls count too.
    """

    name: ClassVar[str] = "step_efficiency"
    version: ClassVar[str] = "2"

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        length = _length(evidence)
        if isinstance(length, str):
            return None, length
        if not length.optimal:
            return (0.0 if length.actual else 1.0), _words(length)
        return length.optimal / length.actual, _words(length)


class StepRatio:
    """Actual / optimal, the inverse of `step_efficiency`; 1 is as good as is known, 2 twice as long.

    As there; None also where the optimum is 0 and calls were made.
    """

    name: ClassVar[str] = "step_ratio"
    version: ClassVar[str] = "1"
    lower_is_better: ClassVar[bool] = True

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        length = _length(evidence)
        if isinstance(length, str):
            return None, length
        if not length.optimal:
            return (None if length.actual else 1.0), _words(length)
        return length.actual / length.optimal, _words(length)


def _length(evidence: Evidence) -> Length | str:
    found = _optimum(evidence)
    if found is None:
        return "neither an optimum nor a reference nor a success is known"
    if evidence.success is False:
        return "the task was not done, so that its length says nothing"
    if found.optimal and not found.actual:
        return f"no call was made; {found.optimal} are known to do"
    return found


def _optimum(evidence: Evidence) -> Length | None:
    case, steps = evidence.case, len(decisions(evidence))
    if case.optimal_steps is not None:
        return Length(optimal=case.optimal_steps, actual=steps, known_from="steps, by the case's optimal_steps")
    if case.reference is not None:
        calls = len(calls_of(evidence))
        return Length(optimal=len(case.reference), actual=calls, known_from="calls, by the reference")
    if evidence.best_known_steps is not None:
        return Length(optimal=evidence.best_known_steps, actual=steps, known_from="steps, by the best known success")
    return None


def _words(length: Length) -> str:
    better = " (better than the best known)" if length.actual < length.optimal else ""
    return f"{length.optimal} needed, {length.actual} made ({length.known_from}){better}"
