"""Which prompt wins, given how each did on validation."""

import io

import pytest
from rich.console import Console

from harness.judging.calibration import Calibrated, Choice, Measured, Outcome, choose, paired_p
from harness.judging.calibration_questions import AgreementFigures, JudgeAnswer, Question, figures
from harness.reports.render.judging import calibration_view


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
    found = choose(STRICT, {"lenient": LENIENT, "better": BETTER})
    assert ("better", ("lenient",)) == (found.chosen, found.vetoed)


def test_where_all_are_vetoed_none_wins() -> None:
    found = choose(STRICT, {"lenient": LENIENT})
    assert (None, True) == (found.chosen, "vetoed" in found.why)


def test_no_gain_is_no_win_and_of_equals_the_first_wins() -> None:
    assert choose(BETTER, {"same": BETTER}).chosen is None
    assert choose(BETTER, {}).chosen is None
    assert "a" == choose(STRICT, {"a": BETTER, "b": BETTER}).chosen


def _asked(*cases: str) -> list[Question]:
    return [
        Question(id=str(number), case_id=case, criterion="one", statement="x", right="pass")
        for number, case in enumerate(cases)
    ]


def test_the_paired_test_counts_the_cases_that_changed_sides() -> None:
    assert paired_p(_asked("a", "b"), [1, 0], [1, 0]) is None
    single = _asked(*"abcdefg")
    assert pytest.approx(2 / 2**6) == paired_p(single, [0] * 6 + [1], [1] * 6 + [1])
    one_case = _asked(*"aaaaaag")
    assert paired_p(one_case, [0] * 6 + [1], [1] * 6 + [1]) == 1.0


def _shown(after: AgreementFigures) -> str:
    """What a person reads at the end of a calibration whose revision gave these figures on held-out cases."""
    before = _figures("pppp", "pppppp")
    outcome = Outcome(
        cases=(1, 1, 1),
        questions=(2, 2, 2),
        candidates=1,
        choice=Choice(chosen="new", why="ahead"),
        prompt="new",
        validation=Measured(before=before, after=BETTER),
        held_out=Measured(before=before, after=after),
        accepted=True,
        why="ahead",
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
    )
    stream = io.StringIO()
    Console(file=stream, width=200).print(calibration_view(done))
    return stream.getvalue()


def test_a_judge_that_still_passes_critical_failures_is_not_put_into_production() -> None:
    left = _shown(LENIENT)
    assert "not for production" in left
    assert "use it" not in left
    assert "use it: harness judge prompts judge@2 --label production" in _shown(BETTER)
