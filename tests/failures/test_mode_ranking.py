"""The modes of a trial in order, with what was counted on labelled runs and without a probability."""

from harness.scoring.failures.ranking import Fitted, Seen, ranked_modes
from harness.scoring.scorecard import Diagnosis, Failure, Kind


def _said(failure: Failure, kind: Kind, confidence: float = 0.5) -> Diagnosis:
    return Diagnosis(failure=failure, kind=kind, origin_step=1, evidence="said", confidence=confidence, version="1")


LEFT_OUT = {"a": Seen(right=30, cases=40, labelled=48, runs=98)}
NUMBERS = Fitted(
    findings={
        "goal_left_out": LEFT_OUT,
        "objective_switched": {"a": Seen(right=15, cases=20, labelled=48, runs=98)},
        "foreign_task": {"a": Seen(right=0, cases=20, labelled=48, runs=98)},
        "unchecked_answer": {"a": Seen(right=32, cases=40, labelled=48, runs=98)},
    }
)
DRIFT, SWITCHED = _said("goal_drift", "goal_left_out"), _said("goal_drift", "objective_switched")
PREMATURE = _said("premature_commitment", "unchecked_answer")


def _order(*found: Diagnosis) -> list[str]:
    return [one.failure for one in ranked_modes(found, NUMBERS)]


def test_the_mode_that_people_agreed_with_more_often_comes_first_and_two_kinds_outweigh_one() -> None:
    assert ["premature_commitment", "goal_drift"] == _order(DRIFT, PREMATURE)
    assert ["goal_drift", "premature_commitment"] == _order(DRIFT, SWITCHED, PREMATURE)
    assert ["premature_commitment", "goal_drift"] == _order(DRIFT, DRIFT, PREMATURE)
    assert ["premature_commitment", "goal_drift"] == _order(DRIFT, _said("goal_drift", "foreign_task"), PREMATURE)


def test_what_nobody_counted_is_placed_by_its_own_confidence() -> None:
    sure, unsure = _said("loop_trap", "judged", 0.9), _said("loop_trap", "judged", 0.2)
    assert ["loop_trap", "goal_drift"] == _order(DRIFT, sure)
    assert ["goal_drift", "loop_trap"] == _order(DRIFT, unsure)


def test_a_mode_carries_the_counts_of_its_kinds_and_states_no_probability() -> None:
    [one] = ranked_modes([DRIFT, _said("goal_drift", "judged")], NUMBERS)
    assert (("goal_left_out", "judged"), {"goal_left_out": LEFT_OUT}) == (one.kinds, one.counted)
    assert "probability" not in one.model_dump()


def test_the_weight_ranks_trials_by_one_mode() -> None:
    """So that somebody can hold a mode against labels of their own, over all runs."""
    found = ([_said("goal_drift", "foreign_task")], [DRIFT], [DRIFT, SWITCHED])
    weights = [ranked_modes(some, NUMBERS)[0].weight for some in found]
    assert sorted(weights) == weights
    assert 0 < weights[0] < weights[1] < weights[2] < 1


def test_failures_without_a_mode_are_none() -> None:
    assert [] == _order(_said("other", "judged"), _said("wrong_outcome", "wrong_target"))
