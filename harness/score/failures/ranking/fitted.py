"""What was counted on labelled runs: how often people gave a run the mode of a kind, and how often it named the step.

The numbers stand in `fitted.json`, which `python qa/scorer_eval/run.py --only fit` writes from the runs in
HARNESS_REAL_DATA. Everything that a detector or the ranking takes from data is in it and nowhere else, so that the
evaluation can count each number anew without the source it is shown for.

One rule says what is a finding, and nothing is listed by hand. On a source on which a kind stands in `FEWEST` runs it
beats the floors where people gave its mode to more of these runs than to the runs of that source at large (lower bound
of Wilson's interval at 95 %; the floor "always yes"), and to more of them than of as many of the longest runs (the
floor "length"). An inferred kind is a hint until two sources confirm it: it beats the floors there, and is right in
more than half of its runs. Any other kind follows from its definition, which a reader can check in the trajectory, and
is a finding until one source on which it could have beaten the floors shows that it does not. Without a source's counts
both follow from the others.
"""

import importlib.resources
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from harness.score.diagnosis import Failure, Kind
from harness.stats import wilson
from harness.values import Frozen

INFERRED: Final[dict[Kind, Failure]] = {
    "echoed_call": "loop_trap",
    "goal_left_out": "goal_drift",
    "objective_switched": "goal_drift",
    "answer_off_goal": "goal_drift",
    "assumed_data": "premature_commitment",
    "worker_result_carried": "cascading_error",
    "first_result_carried": "cascading_error",
    "failed_code_carried": "cascading_error",
    "first_answer_carried": "cascading_error",
    "first_change": "wrong_outcome",
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

    longest: int = 0
    """Of the `cases` longest runs of the source: how many people gave the mode."""

    @property
    def beats_floors(self) -> bool:
        return self._low(self.right) > self.labelled / self.runs and self.right > self.longest

    @property
    def confirms(self) -> bool:
        return self.cases >= FEWEST and self.beats_floors and 2 * self.right > self.cases

    @property
    def refutes(self) -> bool:
        """Whether the kind does not beat the floors where it could have: a few runs of a mode that most runs have
        cannot tell.
        """
        told = self.cases >= FEWEST and self._low(self.cases) > self.labelled / self.runs and self.longest < self.cases
        return told and not self.beats_floors

    def _low(self, right: int) -> float:
        interval = wilson(right / self.cases, self.cases) if self.cases else None
        return 0.0 if interval is None else interval.low


class Fitted(Frozen):
    """What labelled runs say."""

    findings: dict[Kind, dict[str, Seen]] = {}
    """Kind -> source -> what people gave the runs in which it stands."""
    steps: dict[Kind, Counted] = {}
    """Kinds whose origin was the step that people named as the decisive mistake, of the failed runs that have it."""
    writes: dict[Kind, dict[str, Counted]] = {}
    """Kind -> source -> failed runs of benchmarks in which it was named first: whether its step is the first write that
    the reference does not have. `first_change` is counted with the references hidden.
    """
    without: str | None = None
    """The source that is left out of the numbers; None: none is."""
    certain: float = 0.2
    """A step's weight (see `ranking`) below which the answer is "cannot tell"."""

    def probability(self, kind: str) -> float | None:
        """That a step named first for a change is the first wrong write.

        The common share of the sources, drawn towards one half by two cases. None where fewer than two sources tell,
        or where what the others state of one of them lies outside of its own interval (Wilson, 95 %).
        """
        counts = self.writes_of(kind)
        large = {source: one for source, one in counts.items() if one.cases >= FEWEST}
        if len(large) < (SOURCES if self.without is None else SOURCES - 1):
            return None
        for source, one in large.items():
            others = [other for name, other in counts.items() if name != source]
            own = wilson(one.right / one.cases, one.cases)
            if sum(other.cases for other in others) >= FEWEST and (
                own is None or not own.low <= _stated(others) <= own.high
            ):
                return None
        return _stated(counts.values())

    def writes_of(self, kind: str) -> Mapping[str, Counted]:
        """Source -> how often the kind's step, named first, was the first wrong write."""
        return {str(name): some for name, some in self.writes.items()}.get(kind, {})

    def is_finding(self, kind: str) -> bool:
        """Whether a diagnosis of this kind is reported as a finding; otherwise it is a hint."""
        return self.reason_for_hint(kind) is None

    def reason_for_hint(self, kind: str) -> str | None:
        """Why a kind is not a finding, by the counts; None: it is one."""
        seen = self._by_source(kind)
        if kind in INFERRED:
            needed = SOURCES if self.without is None else SOURCES - 1
            confirmed = sorted(source for source, one in seen.items() if one.confirms)
            if len(confirmed) >= needed:
                return None
            by = f" ({', '.join(confirmed)})" if confirmed else ""
            return f"{_words(kind)} is inferred, and {len(confirmed)} of {needed} labelled sources{by} confirm it"
        refuting = sorted(source for source, one in seen.items() if one.refutes)
        if not refuting:
            return None
        one = seen[refuting[0]]
        return (
            f"{_words(kind)} is right in {one.right} of {one.cases} labelled runs of {refuting[0]}, which is no better "
            f"than to flag them all ({one.labelled} of {one.runs}) or the longest ({one.longest} of {one.cases})"
        )

    def _by_source(self, kind: str) -> Mapping[str, Seen]:
        return {str(name): some for name, some in self.findings.items()}.get(kind, {})


def _stated(counts: Iterable[Counted]) -> float:
    known = list(counts)
    return (sum(one.right for one in known) + 1) / (sum(one.cases for one in known) + 2)


def _words(kind: str) -> str:
    return kind.replace("_", " ")


@cache
def fitted() -> Fitted:
    """The numbers that the package brings."""
    text = (
        importlib.resources.files("harness.score.failures.ranking").joinpath("fitted.json").read_text(encoding="utf-8")
    )
    return Fitted.model_validate_json(text)
