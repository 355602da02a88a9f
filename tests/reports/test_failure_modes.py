"""Failure modes of a run: which findings stand as their examples."""

from collections.abc import Callable

from harness.reports.figures import failure_modes
from harness.scoring.scorecard import Diagnosis, Scorecard


def finding(confidence: float) -> Diagnosis:
    return Diagnosis(
        failure="goal_drift",
        kind="judged",
        origin_step=1,
        evidence="e",
        confidence=confidence,
        version="1",
    )


def test_the_surest_findings_of_trials_that_did_not_succeed_stand_first(card: Callable[..., Scorecard]) -> None:
    found = (("weak", False, 0.5), ("sure", False, 0.9), ("fine", True, 1.0))
    cards = [card(case, success, diagnoses=(finding(confidence),)) for case, success, confidence in found]
    [mode] = failure_modes(cards)
    assert ["sure/1", "weak/1", "fine/1"][: len(mode.examples)] == [one.split()[0] for one in mode.examples]
    assert (3, 2) == (mode.trials, mode.failed_trials)
