"""Figures of judgements over a run: below the floor of coverage the score is unknown, never a mean of what is left."""

import pytest

from harness.judging.rubrics import Criterion, Rubric
from harness.judging.verdicts import JudgeIdentity, Judgement
from harness.reports.judged import judged

RUBRIC = Rubric(
    name="x",
    criteria=(Criterion(id="a", statement="a"), Criterion(id="b", statement="b"), Criterion(id="c", statement="c")),
)


def _judgement(case: str, criterion: str, passed: bool | None) -> Judgement:
    return Judgement(
        run="r",
        case_id=case,
        attempt=1,
        trajectory="t",
        rubric="x",
        rubric_version="1",
        rubric_digest="d",
        criterion=criterion,
        criterion_version="1",
        eligible=None if passed is None else True,
        passed=passed,
        failure="no answer" if passed is None else None,
        judge=JudgeIdentity(model="m"),
    )


@pytest.mark.parametrize(
    ("answers", "coverage", "mean", "below"),
    [
        ([(True, True, True), (True, False, False)], 1.0, 2 / 3, 0),
        ([(True, True, True), (True, True, True), (True, None, None)], 7 / 9, 1.0, 1),
        ([(True, True, True), (True, None, None)], 2 / 3, 1.0, 1),
        ([(True, None, None), (True, None, None), (True, True, None)], 4 / 9, None, 2),
        ([], None, None, 0),
    ],
)
def test_too_few_answers_leave_the_score_unknown(
    answers: list[tuple[bool | None, ...]], coverage: float | None, mean: float | None, below: int
) -> None:
    found = judged(
        RUBRIC,
        [
            _judgement(f"c{number}", criterion, passed)
            for number, each in enumerate(answers)
            for criterion, passed in zip("abc", each, strict=True)
        ],
    )
    assert pytest.approx(coverage) == found.coverage
    assert (mean, below) == (found.mean, found.below_floor)
