"""Which prompt wins, given how each did on validation."""

import io

import pytest
from rich.console import Console

from harness.judging.calibration import Calibrated, Choice, Measured, Outcome, choose, paired_p
from harness.judging.calibration_questions import AgreementFigures, JudgeAnswer, Question, figures
from harness.reports.render.judging import CalibrationView
from harness.scoring.statistics.intervals import noise_margin


def _figures(*answers: str, critical: bool = True) -> AgreementFigures:
    """Ten questions, the first four of which must fail; answers as `p`, `f` and `x` (the judge failed)."""
    said = {"p": "pass", "f": "fail", "x": "judge_failed"}
    asked = [
        Question(
            id=str(number),
            case_id=str(number),
            criterion="one",
            statement="x",
            critical=critical,
            right="fail" if number < 4 else "pass",
        )
        for number in range(10)
    ]
    return figures(asked, [JudgeAnswer.model_validate({"answer": said[one]}) for one in "".join(answers)])


STRICT = _figures("ffff", "pffffp")
LENIENT = _figures("pfff", "pppppp")
BETTER = _figures("ffff", "ppppff")


def test_figures_count_what_costs_most() -> None:
    found = _figures("ppff", "ppppxx")
    assert (0.6, 2, 2, 2) == (found.agreement, found.false_passes, found.critical_false_passes, found.judge_failed)
    assert 8 == found.verdict.agreement.n


def test_where_nothing_is_critical_every_false_pass_is() -> None:
    assert 1 == _figures("pfff", "pppppp", critical=False).critical_false_passes


def test_the_best_that_is_not_vetoed_wins() -> None:
    found = choose(STRICT, {"lenient": LENIENT, "better": BETTER}, margin=0.0)
    assert ("better", ("lenient",)) == (found.chosen, found.vetoed)


def test_where_all_are_vetoed_none_wins() -> None:
    found = choose(STRICT, {"lenient": LENIENT}, margin=0.0)
    assert (None, True) == (found.chosen, "vetoed" in found.why)


@pytest.mark.parametrize(("margin", "chosen"), [(0.19, "better"), (0.2, None), (0.5, None)])
def test_a_gain_must_be_larger_than_the_noise(margin: float, chosen: str | None) -> None:
    assert chosen == choose(STRICT, {"better": BETTER}, margin).chosen


def test_no_gain_is_no_win_and_of_equals_the_first_wins() -> None:
    assert choose(BETTER, {"same": BETTER}, 0.0).chosen is None
    assert choose(BETTER, {}, 0.0).chosen is None
    assert "a" == choose(STRICT, {"a": BETTER, "b": BETTER}, 0.0).chosen


def test_noise_is_that_of_answers_that_differ_between_rounds() -> None:
    assert 0 == noise_margin([[1, 1, 1], [0, 0, 0]])
    assert 0 == noise_margin([])
    assert 0 == noise_margin([[1], [0]])
    few, many = [[1, 0]] * 10, [[1, 0]] * 1000
    assert pytest.approx(1.96 * (2 * 0.5 / 10) ** 0.5, abs=1e-3) == noise_margin(few)
    assert noise_margin(many) == pytest.approx(noise_margin(few) / 10)


def test_mcnemar_counts_the_questions_that_changed_sides() -> None:
    assert paired_p([1, 0], [1, 0]) is None
    assert pytest.approx(2 / 2**6) == paired_p([0] * 6 + [1], [1] * 6 + [1])


def _shown(after: AgreementFigures) -> str:
    """What a person reads at the end of a calibration whose revision gave these figures on held-out cases."""
    before = _figures("pppp", "pppppp")
    outcome = Outcome(
        way="calibration",
        cases=(1, 1, 1),
        questions=(2, 2, 2),
        margin=0.0,
        candidates=1,
        choice=Choice(chosen="new", why="ahead"),
        prompt="new",
        validation=Measured(before=before, after=BETTER),
        held_out=Measured(before=before, after=after),
        held_out_digest="0" * 64,
        calls=6,
    )
    done = Calibrated(
        outcome=outcome,
        prompt="judge",
        before="1",
        after="2",
        model="m",
        labels=6,
        annotators=("ann",),
        left_out=(),
        held_out_seen_before=0,
    )
    stream = io.StringIO()
    Console(file=stream, width=200).print(CalibrationView(done))
    return stream.getvalue()


def test_a_judge_that_still_passes_critical_failures_is_not_put_into_production() -> None:
    left = _shown(LENIENT)
    assert "not for production" in left
    assert "use it" not in left
    assert "use it: harness judge prompts judge@2 --label production" in _shown(BETTER)
