"""`harness judge` as it is typed: calibrated, held against people and rewards."""

from pathlib import Path

import pytest

from harness.reports.judged import judged_rubric
from tests.judge.verbs.stored import TOLD, WRONG, label_all


@pytest.fixture
def rubric(tmp_path: Path) -> tuple[str, str]:
    return "--rubric", str(tmp_path / "prices.yaml")


_ASKING = ("--model", "rule-model")


def _uncalibrated(project: Path) -> list[bool]:
    score = judged_rubric(project / "runs" / "night", "prices")
    assert score is not None
    return [one.uncalibrated for one in score.criteria]


def test_a_prompt_is_calibrated_used_and_then_agrees(tmp_path, run, model, typed, rubric) -> None:
    label_all(tmp_path, run, "ann", "ben")
    revising = ("--reflector", "rule-reflector", "--minibatch", "6")
    calibrating = ("calibrate", "night", *rubric, *_ASKING, *revising, "--json")
    status, done = typed(*calibrating)
    assert (0, "2") == (status, done["after"])
    accepted = (tmp_path / "prompts" / "judge" / "2.md").read_text()
    assert (True, False) == (TOLD in accepted, WRONG in accepted)
    assert 1.0 == done["outcome"]["held_out"]["after"]["agreement"]
    assert done["outcome"]["held_out"]["before"]["agreement"] < 1.0

    asked = model.requests
    status, again = typed(*calibrating)
    assert (0, "2", 0, 1) == (status, again["after"], again["outcome"]["calls"], again["held_out_seen_before"])
    assert asked == model.requests

    assert 0 == typed("run", "night", *rubric, *_ASKING, "--label", "candidate")[0]
    status, report = typed("agreement", "night", *rubric, "--json")
    assert (0, 1.0, 1.0) == (
        status,
        report["overall"]["verdict"]["agreement"]["value"],
        report["overall"]["verdict"]["kappa"],
    )
    assert 1.0 == report["overall"]["people"]["verdict"]["agreement"]
    assert [False, False] == _uncalibrated(tmp_path)


def test_another_prompt_than_the_calibrated_one_is_marked(tmp_path, run, model, typed, rubric) -> None:
    label_all(tmp_path, run, "ann")
    revising = ("--reflector", "rule-reflector", "--minibatch", "6")
    typed("calibrate", "night", *rubric, *_ASKING, *revising, "--json")
    (tmp_path / "prompts" / "judge" / "9.md").write_text("You judge.")
    typed("run", "night", *rubric, *_ASKING, "--prompt", "9")
    assert [True, True] == _uncalibrated(tmp_path)


def test_another_model_than_the_calibrated_one_is_marked(tmp_path, run, model, typed, rubric) -> None:
    label_all(tmp_path, run, "ann")
    revising = ("--reflector", "rule-reflector", "--minibatch", "6")
    typed("calibrate", "night", *rubric, *_ASKING, *revising, "--json")
    other = ("--model", "another-model", "--label", "candidate")
    typed("run", "night", *rubric, *other)
    assert [True, True] == _uncalibrated(tmp_path)


def test_a_criterion_that_asks_something_else_is_marked_and_one_that_only_weighs_more_is_not(
    tmp_path, run, model, typed, rubric
) -> None:
    label_all(tmp_path, run, "ann")
    revising = ("--reflector", "rule-reflector", "--minibatch", "6")
    typed("calibrate", "night", *rubric, *_ASKING, *revising, "--json")
    path = tmp_path / "prices.yaml"
    path.write_text(path.read_text().replace("critical: true", "points: 9"))
    typed("run", "night", *rubric, *_ASKING, "--label", "candidate")
    assert [False, False] == _uncalibrated(tmp_path)
    path.write_text(path.read_text().replace("The price is the one", "The price is nearly the one"))
    typed("run", "night", *rubric, *_ASKING, "--label", "candidate")
    assert [True, False] == _uncalibrated(tmp_path)


def test_where_no_revision_helps_nothing_is_accepted_and_the_exit_says_so(tmp_path, run, model, typed, rubric) -> None:
    label_all(tmp_path, run, "ann")
    model.revisions = {"*": [WRONG]}
    revising = ("--reflector", "rule-reflector", "--max-calls", "100")
    status, done = typed("calibrate", "night", *rubric, *_ASKING, *revising, "--json")
    assert (1, None) == (status, done["after"])
    assert not (tmp_path / "prompts").exists()


def test_agreement_names_both_sides_and_can_be_a_gate(tmp_path, run, model, typed, rubric) -> None:
    label_all(tmp_path, run, "ann")
    typed("run", "night", *rubric, *_ASKING)
    status, report = typed("agreement", "night", *rubric, "--json")
    assert 0 == status
    assert 0.5 == report["overall"]["verdict"]["agreement"]["value"]
    assert 0.5 == report["overall"]["verdict"]["constant"]
    assert report["overall"]["verdict"]["beats_constant"] is False
    assert 0.5 == report["overall"]["verdict"]["shift"]
    assert {("fail", "pass")} == {(one["right"], one["judged"]) for one in report["disagreements"]}
    assert 1 == typed("agreement", "night", *rubric, "--min-agreement", "0.8")[0]
    assert 1 == typed("agreement", "night", *rubric, "--min-kappa", "0.1")[0]
    assert "harness explain night case-00" in typed("agreement", "night", *rubric)[1]


@pytest.mark.parametrize("against", ["reward", "verifier:price", "verifier:final_answer"])
def test_agreement_is_taken_against_any_verdict(run, model, typed, rubric, against) -> None:
    typed("run", "night", *rubric, *_ASKING)
    status, report = typed("agreement", "night", *rubric, "--against", against, "--json")
    assert (0, against) == (status, report["against"])
    assert (0.5, 12) == tuple(report["criteria"][0]["verdict"]["agreement"][key] for key in ("value", "n"))
    assert 0 == report["overall"]["eligibility"]["agreement"]["n"]


def test_what_cannot_be_compared_is_said(tmp_path, run, model, typed, rubric) -> None:
    status, told = typed("agreement", "night", *rubric)
    assert (3, True) == (status, "harness judge run" in told)
    typed("run", "night", *rubric, *_ASKING)
    status, told = typed("agreement", "night", *rubric)
    assert (3, True) == (status, "harness annotate night" in told)
    status, told = typed("calibrate", "night", *rubric, *_ASKING)
    assert (3, True) == (status, "'prices'" in told)
    assert 2 == typed("agreement", "night", *rubric, "--against", "verifier:none")[0]
    assert 2 == typed("agreement", "night", *rubric, "--against", "opinion")[0]
