"""Code of a suite that raised: what is named, in how many trials, and by what it raised most often."""

from collections.abc import Callable

from harness.reports.figures import failed_code
from harness.scoring.evidence import Verdict
from harness.scoring.scorecard import CHECK_FAILED, DETECTOR_FAILED, METRIC_FAILED, Diagnosis, Score, Scorecard

Card = Callable[..., Scorecard]


def score(what: str, value: float | None = None, metric: str = "own") -> Score:
    return Score(metric=metric, version="1", value=value, explanation=what)


def check(what: str, passed: bool | None = None) -> Verdict:
    return Verdict(check="k", verifier="v", version="1", passed=passed, reason=what)


def test_each_metric_check_and_detector_that_raised_is_named_with_the_trials_in_which_it_did(card: Card) -> None:
    finding = Diagnosis(
        failure="other",
        kind="late:raised",
        origin_step=None,
        evidence=f"{DETECTOR_FAILED}KeyError",
        confidence=0.5,
        version="1",
    )
    raised = [
        card("a", scores=(score(f"{METRIC_FAILED}rare"),), verdicts=(check(f"{CHECK_FAILED}ValueError"),)),
        card("b", scores=(score(f"{METRIC_FAILED}usual"),), diagnoses=(finding,)),
        card("c", scores=(score(f"{METRIC_FAILED}usual"),)),
    ]
    told = [
        card("d", scores=(score(f"{METRIC_FAILED}x", 1.0),), verdicts=(check(f"{CHECK_FAILED}x", False),)),
        card("e", scores=(score("unknown"),), verdicts=(check("cannot tell"),)),
    ]
    found = failed_code([*raised, *told])
    assert [
        ("check", "k", 1, "ValueError"),
        ("detector", "late", 1, "KeyError"),
        ("metric", "own", 3, "usual"),
    ] == [(one.kind, one.name, one.trials, one.raised) for one in found]
    assert () == failed_code(told)
