"""Points from judgements: what is eligible is weighted, what is not gives its weight away; no answer is not a fail."""

import pytest
from pydantic import ValidationError

from harness.judging.rubrics import Criterion, Rubric
from harness.judging.verdicts import JudgeIdentity, Judgement, plain_mean, score_rubric, weighted_mean

WEIGHTS = {"shopping": 50.0, "personalization": 20.0, "conversation": 10.0, "safety": 20.0}


def judgement(criterion: str, answer: str) -> Judgement:
    return Judgement(
        run="r",
        case_id="c",
        attempt=1,
        trajectory="t",
        rubric="x",
        rubric_version="1",
        rubric_digest="d",
        criterion=criterion,
        criterion_version="1",
        eligible=None if answer == "judge_failed" else answer != "not_eligible",
        passed={"pass": True, "fail": False}.get(answer),
        failure="no answer" if answer == "judge_failed" else None,
        judge=JudgeIdentity(model="m"),
    )


def scored(rubric: Rubric, **answers: str):
    return score_rubric(rubric, "c", [judgement(name, answer) for name, answer in answers.items()])


def rubric(*criteria: Criterion, **weights: float) -> Rubric:
    return Rubric(name="x", domains=weights, criteria=criteria)


FOUR = rubric(
    Criterion(id="a", statement="a", domain="one", points=3),
    Criterion(id="b", statement="b", domain="one", points=1),
    Criterion(id="c", statement="c", domain="two", points=5, critical=True),
    Criterion(id="d", statement="d", domain="three", points=2),
    one=60,
    two=30,
    three=10,
)


def test_the_papers_weighted_means_come_out():
    before = {"shopping": 90.4, "personalization": 70.8, "conversation": 91.1, "safety": 100.0}
    after = {"shopping": 95.0, "personalization": 80.2, "conversation": 99.0, "safety": 100.0}
    assert 88.47 == pytest.approx(weighted_mean(before, WEIGHTS), abs=0.005)
    assert 93.44 == pytest.approx(weighted_mean(after, WEIGHTS), abs=0.005)  # printed there as 93.45


def test_the_papers_plain_means_come_out():
    before = {"shopping": 90.4, "personalization": 70.8, "conversation": 91.1, "unknown": None}
    after = {"shopping": 95.0, "personalization": 80.2, "conversation": 99.0, "unknown": None}
    assert 84.1 == pytest.approx(plain_mean(before), abs=0.05)
    assert 91.4 == pytest.approx(plain_mean(after), abs=0.05)


def test_the_papers_domain_deltas_are_relative():
    gains = [100 * (after / before - 1) for before, after in ((90.4, 95.0), (70.8, 80.2), (91.1, 99.0))]
    assert [5.1, 13.2, 8.6] == pytest.approx(gains, abs=0.1)  # printed from figures with more digits


def test_the_papers_second_table_comes_out():
    before = dict(zip(WEIGHTS, (79.0, 80.2, 64.0, 76.0), strict=True))
    after = dict(zip(WEIGHTS, (85.0, 87.0, 72.0, 88.0), strict=True))
    assert 77.1 == pytest.approx(weighted_mean(before, WEIGHTS), abs=0.05)
    assert 84.7 == pytest.approx(weighted_mean(after, WEIGHTS), abs=0.05)


def test_points_count_within_their_domain():
    score = scored(FOUR, a="pass", b="fail", c="pass", d="fail")
    assert [0.75, 1.0, 0.0] == [one.value for one in score.domains]
    assert 0.6 * 0.75 + 0.3 == pytest.approx(score.value)
    assert score.passed is True


def test_what_is_not_eligible_gives_its_points_to_its_domain():
    score = scored(FOUR, a="not_eligible", b="pass", c="pass", d="pass")
    assert 1.0 == pytest.approx(score.value)
    assert 1.0 == score.domains[0].eligible_points
    assert 1.0 == score.coverage


def test_a_domain_without_an_eligible_criterion_gives_its_weight_to_the_others():
    score = scored(FOUR, a="not_eligible", b="not_eligible", c="pass", d="fail")
    assert [0.0, 0.75, 0.25] == pytest.approx([one.share for one in score.domains])
    assert [None, 1.0, 0.0] == [one.value for one in score.domains]
    assert 0.75 == pytest.approx(score.value)


def test_a_failed_critical_criterion_makes_the_score_0_beside_the_mean_before():
    score = scored(FOUR, a="pass", b="pass", c="fail", d="pass")
    assert score.passed is False
    assert ("c",) == score.critical_failed
    assert (0.0, 0.7) == (score.value, pytest.approx(score.before_critical))
    other = scored(FOUR, a="pass", b="fail", c="pass", d="pass")  # one that is not critical
    assert other.value == other.before_critical > 0


def test_a_failed_judge_lowers_the_coverage_and_is_no_fail():
    score = scored(FOUR, a="pass", b="judge_failed", c="pass", d="pass")
    assert 1.0 == pytest.approx(score.value)
    assert 0.75 == score.coverage
    assert 1 == score.judge_failed


def test_where_the_judge_failed_at_a_critical_criterion_nobody_can_tell():
    score = scored(FOUR, a="pass", b="pass", c="judge_failed", d="pass")
    assert score.passed is None


def test_nothing_judged_is_no_score_and_never_zero():
    score = scored(FOUR)
    assert score.value is None
    assert score.passed is None
    assert 0.0 == score.coverage


def test_the_items_of_a_checklist_are_criteria_of_their_own_that_share_the_points():
    listed = Rubric(
        name="x",
        criteria=(Criterion(id="list", kind="checklist", statement="all", points=10),),
        checklists={"c": ("every item is an ingredient of the dish", "the subtotal is at most 60")},
    )
    items = listed.criteria_for("c")
    assert ["list.1", "list.2"] == [one.id for one in items]
    assert "the subtotal is at most 60" == items[1].statement
    assert 0.5 == score_rubric(listed, "c", [judgement("list.1", "pass"), judgement("list.2", "fail")]).value
    assert listed.criterion("list.2") is listed.criteria[0]


@pytest.mark.parametrize(
    ("problem", "made"),
    [
        ("given twice", lambda: rubric(Criterion(id="a", statement="a"), Criterion(id="a", statement="b"))),
        ("have no weight", lambda: rubric(Criterion(id="a", statement="a", domain="x"), y=1)),
        ("without a criterion", lambda: rubric(Criterion(id="a", statement="a", domain="x"), x=1, y=1)),
        ("'code'", lambda: Criterion(id="a", statement="a", kind="code")),
        ("invalid JSONPath", lambda: Criterion(id="a", statement="a", eligibility="$.steps[")),
        ("'evidence'", lambda: Criterion(id="a", statement="a", evidence=())),
    ],
)
def test_a_rubric_that_does_not_hang_together_is_refused(problem, made):
    with pytest.raises(ValidationError, match=problem):
        made()


def test_below_the_coverage_floor_there_is_no_score():
    answers = {"a": "pass", "b": "judge_failed", "c": "judge_failed", "d": "judge_failed"}
    score = scored(FOUR, **answers)
    assert (None, 0.25, None) == (score.value, score.coverage, score.passed)


def test_a_failed_critical_criterion_fails_the_trajectory_at_any_coverage():
    score = scored(FOUR, a="judge_failed", b="judge_failed", c="fail", d="judge_failed")
    assert (0.0, None, False) == (score.value, score.before_critical, score.passed)
