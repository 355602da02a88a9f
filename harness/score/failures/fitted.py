"""What was counted on labelled runs: how often people gave a run the mode of a kind, and how often it named the step.

The numbers stand in `fitted.json`, which `python tests/scorer_eval/run.py --only fit` writes from the runs in
HARNESS_REAL_DATA. Everything that a detector or the ranking takes from data is in it and nowhere else, so that the
evaluation can count each number anew without the source it is shown for.

One rule says what is a finding, and nothing is listed by hand. An inferred kind is a hint until it is confirmed: on two
sources at least on which it stands in `FEWEST` runs, people gave its mode to more of these runs than to the runs of
that source at large (lower bound of Wilson's interval at 95 %), and to more than half of them. Any other kind follows
from its definition, which a reader can check in the trajectory, and is a finding until it is refuted: on a source on
which it stands in `FEWEST` runs, people gave its mode to fewer of them than at large (upper bound). Without a source's
counts both follow from the others.
"""

import importlib.resources
from collections.abc import Mapping
from functools import cache
from typing import Final

from harness.score.diagnosis import Failure, Kind
from harness.stats import wilson
from harness.values import Frozen

INFERRED: Final[dict[Kind, Failure]] = {
    "echoed_call": "loop_trap",
    "goal_left_out": "goal_drift",
    "objective_switched": "goal_drift",
    "assumed_data": "premature_commitment",
    "worker_result_carried": "cascading_error",
    "first_result_carried": "cascading_error",
    "failed_code_carried": "cascading_error",
    "first_answer_carried": "cascading_error",
}
"""Kinds that are inferred from words and shapes: nothing that the trajectory itself shows makes them true."""
FEWEST: Final = 5
"""Runs of a source from which on it says something of a kind."""
SOURCES: Final = 2
"""Sources that have to confirm an inferred kind, so that it stands whichever of them is left out."""


class Counted(Frozen):
    """How often something was right, of how many cases."""

    right: int
    cases: int


class Seen(Counted):
    """Runs of one source in which a kind stands: `right` of `cases` have its mode by people's labels."""

    labelled: int
    """Runs of the source that people gave the mode."""
    runs: int
    """All runs of the source that have a label of the mode, yes or no."""

    @property
    def confirms(self) -> bool:
        interval = wilson(self.right / self.cases, self.cases) if self.cases >= FEWEST else None
        return interval is not None and interval.low > self.labelled / self.runs and 2 * self.right > self.cases

    @property
    def refutes(self) -> bool:
        interval = wilson(self.right / self.cases, self.cases) if self.cases >= FEWEST else None
        return interval is not None and interval.high < self.labelled / self.runs


class Fitted(Frozen):
    """What labelled runs say."""

    findings: dict[Kind, dict[str, Seen]] = {}
    """Kind -> source -> what people gave the runs in which it stands."""
    steps: dict[Kind, Counted] = {}
    """Kinds whose origin was the step that people named as the decisive mistake, of the failed runs that have it."""
    without: str | None = None
    """The source that is left out of the numbers; None: none is."""
    certain: float = 0.2
    """A step's probability below which the answer is "cannot tell"."""

    def is_finding(self, kind: str) -> bool:
        """Whether a diagnosis of this kind is reported as a finding; otherwise it is a hint."""
        seen: Mapping[str, Seen] = {str(name): some for name, some in self.findings.items()}.get(kind, {})
        if kind in INFERRED:
            return sum(one.confirms for one in seen.values()) >= (SOURCES if self.without is None else SOURCES - 1)
        return not any(one.refutes for one in seen.values())


@cache
def fitted() -> Fitted:
    """The numbers that the package brings."""
    text = importlib.resources.files("harness.score.failures").joinpath("fitted.json").read_text(encoding="utf-8")
    return Fitted.model_validate_json(text)
