"""`harness judge` as it is typed: calibrated, certified, held against people and rewards."""

import json
import os
from pathlib import Path

import pytest

from harness.reports.judged import judged_rubric, judged_run
from harness.reports.render.sections import judged_section
from harness.reports.trend import trend
from harness.runs.rescore import judged_criteria
from harness.runs.store.folder import RunFolder
from harness.scoring.evidence import Evidence
from harness.scoring.statistics.intervals import wilson
from harness.scoring.verifiers.answers import CriterionMet
from harness.suite.cases import Case
from tests.judging.verbs.stored import TOLD, WRONG, label_all, store


@pytest.fixture
def rubric(tmp_path: Path) -> tuple[str, str]:
    return "--rubric", str(tmp_path / "prices.yaml")


_ASKING = ("--model", "rule-model")


_REVISING = ("--reflector", "rule-reflector", "--minibatch", "6")


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return store(tmp_path, cases=40)


def _uncertified(project: Path) -> list[str | None]:
    score = judged_rubric(project / "runs" / "night", "prices")
    assert score is not None
    return [one.uncertified for one in score.criteria]


def test_a_prompt_is_calibrated_used_and_then_agrees(tmp_path, run, model, typed, rubric) -> None:
    label_all(tmp_path, run, "ann", "ben")
    calibrating = ("calibrate", "night", *rubric, *_ASKING, *_REVISING, "--json")
    status, done = typed(*calibrating)
    assert (0, "2") == (status, done["after"])
    accepted = (tmp_path / "prompts" / "judge" / "2.md").read_text()
    assert (True, False) == (TOLD in accepted, WRONG in accepted)
    assert 1.0 == done["outcome"]["held_out"]["after"]["agreement"]
    assert done["outcome"]["held_out"]["before"]["agreement"] < 1.0

    asked = model.requests
    status, again = typed(*calibrating)
    assert (3, True) == (status, "0 cases" in again), "labels that decided once are not a test again"
    assert asked == model.requests

    assert 0 == typed("run", "night", *rubric, *_ASKING, "--label", "candidate")[0]
    status, report = typed("agreement", "night", *rubric, "--json")
    assert (0, 1.0, 1.0) == (
        status,
        report["overall"]["verdict"]["agreement"]["value"],
        report["overall"]["verdict"]["kappa"],
    )
    assert 1.0 == report["overall"]["people"]["verdict"]["agreement"]
    status, told = typed("agreement", "night", *rubric, "--certify")
    assert (1, True) == (status, "not certified" in told)
    assert (
        _uncertified(tmp_path)[0] == "not certified: 16 labels 'pass' and 16 labels 'fail' of other cases are missing"
    )


@pytest.fixture
def certified(tmp_path, run, model, typed, rubric) -> Path:
    """A judge that decides `grounded` as people do, on labels that nothing used before."""
    label_all(tmp_path, run, "ann")
    (tmp_path / "prompts" / "judge").mkdir(parents=True)
    (tmp_path / "prompts" / "judge" / "2.md").write_text(f"You judge. {TOLD}")
    typed("run", "night", *rubric, *_ASKING, "--prompt", "2")
    status, told = typed("agreement", "night", *rubric, "--certify")
    assert (1, True) == (status, "refunded: not certified: 16 labels 'pass' and 16 labels 'fail'" in told)
    assert _uncertified(tmp_path)[0] is None
    return tmp_path


def test_a_certificate_uses_its_labels_up(certified, run, typed, rubric) -> None:
    records = certified / "suites" / "shop" / "labels" / "prices.judges.jsonl"
    before = records.read_bytes()
    assert 40 == len(json.loads(before)["used"])
    typed("agreement", "night", *rubric, "--certify")
    assert before == records.read_bytes(), "a judge that is certified is not tested again"
    (certified / "prompts" / "judge" / "3.md").write_text(f"You judge with care. {TOLD}")
    typed("run", "night", *rubric, *_ASKING, "--prompt", "3")
    status, told = typed("agreement", "night", *rubric, "--certify")
    assert (1, True) == (status, "grounded: not certified: 16 labels 'pass' and 16 labels 'fail'" in told)
    again = store(certified, cases=35, name="next", first=40)
    label_all(certified, again, "ann")
    typed("run", "next", *rubric, *_ASKING, "--prompt", "3")
    assert "grounded" not in typed("agreement", "next", *rubric, "--certify")[1].partition("not certified")[2]


def test_a_judge_that_errs_is_not_certified_and_too_few_labels_are_not_looked_at(
    tmp_path, run, model, typed, rubric
) -> None:
    label_all(tmp_path, run, "ann")
    typed("run", "night", *rubric, *_ASKING)
    typed("agreement", "night", *rubric, "--certify")
    assert "finds 0 of 20 'fail'" in str(_uncertified(tmp_path)[0])

    few = store(tmp_path, cases=20, name="few", first=100)
    label_all(tmp_path, few, "ann")
    (tmp_path / "prompts" / "judge").mkdir(parents=True)
    (tmp_path / "prompts" / "judge" / "2.md").write_text(f"You judge. {TOLD}")
    typed("run", "few", *rubric, *_ASKING, "--prompt", "2")
    records = tmp_path / "suites" / "shop" / "labels" / "prices.judges.jsonl"
    before = records.read_bytes()
    status, told = typed("agreement", "few", *rubric, "--certify")
    assert (1, True) == (status, "6 labels 'pass' and 6 labels 'fail' of other cases are missing" in told)
    assert before == records.read_bytes()


def test_the_best_of_several_judges_needs_more_labels(tmp_path, run, model, typed, rubric) -> None:
    label_all(tmp_path, run, "ann")
    (tmp_path / "prompts" / "judge").mkdir(parents=True)
    for version in ("7", "8", "9"):
        (tmp_path / "prompts" / "judge" / f"{version}.md").write_text(f"You judge ({version}). {TOLD}")
        typed("run", "night", *rubric, *_ASKING, "--prompt", version)
    told = typed("agreement", "night", *rubric, "--certify")[1]
    assert "grounded: not certified: 3 labels 'pass' and 3 labels 'fail' of other cases are missing, because 3" in told
    assert not (tmp_path / "suites" / "shop" / "labels" / "prices.judges.jsonl").exists()

    more = store(tmp_path, cases=6, name="more", first=100)
    label_all(tmp_path, more, "ann")
    typed("run", "more", *rubric, *_ASKING, "--prompt", "9")
    told = typed("agreement", "night", "more", *rubric, "--certify")[1]
    assert "grounded: not certified" not in told


@pytest.mark.parametrize("other", ["prompt", "model", "samples", "sampling", "provider", "host"])
def test_another_judge_than_the_certified_one_is_marked(certified, typed, rubric, other) -> None:
    (certified / "prompts" / "judge" / "9.md").write_text("You judge.")
    judge = {
        "prompt": ("--model", "rule-model", "--prompt", "9"),
        "model": ("--model", "another-model", "--prompt", "2"),
        "samples": ("--model", "rule-model", "--prompt", "2", "--samples", "3"),
    }
    address = os.environ["OPENAI_BASE_URL"]
    settings = {
        "sampling": {"sampling": {"temperature": 1}, "base_url": address},
        "provider": {"provider": "anthropic", "base_url": address.removesuffix("/v1")},
        "host": {"base_url": address.replace("127.0.0.1", "localhost")},
    }
    if other in settings:
        (certified / "judge.yaml").write_text(json.dumps({"model": "rule-model", **settings[other]}))
    typed("run", "night", *rubric, *judge.get(other, ("--prompt", "2")))
    assert None not in _uncertified(certified)


def test_the_best_of_several_samplings_needs_more_labels(tmp_path, run, model, typed, rubric) -> None:
    label_all(tmp_path, run, "ann")
    (tmp_path / "prompts" / "judge").mkdir(parents=True)
    (tmp_path / "prompts" / "judge" / "2.md").write_text(f"You judge. {TOLD}")
    for seed in (1, 2, 3):
        settings = {"model": "rule-model", "base_url": os.environ["OPENAI_BASE_URL"], "sampling": {"seed": seed}}
        (tmp_path / "judge.yaml").write_text(json.dumps(settings))
        typed("run", "night", *rubric, "--prompt", "2")
    assert "because 3 judges have answered the same labels" in typed("agreement", "night", *rubric, "--certify")[1]


def test_a_judge_that_fails_at_what_is_hard_is_not_certified_by_the_rest(tmp_path, run, model, typed, rubric) -> None:
    """It is right about all that it answers, 20 passes and 17 failures; without the other 3 it would be certified."""
    label_all(tmp_path, run, "ann")
    (tmp_path / "prompts" / "judge").mkdir(parents=True)
    (tmp_path / "prompts" / "judge" / "2.md").write_text(f"You judge. {TOLD}")
    model.silent_about = r"drink (0|2|4)\b"
    typed("run", "night", *rubric, *_ASKING, "--prompt", "2")
    status, told = typed("agreement", "night", *rubric, "--certify")
    assert (1, True) == (status, "finds 17 of 20 'fail' and gives no answer to 3" in told)
    assert "6 failed judgements (8" in told, "of both criteria"
    found = judged_rubric(run.path, "prices")
    assert found is not None
    corrected = found.criteria[0].corrected
    assert corrected is not None
    assert corrected.interval is not None
    assert corrected.interval.high - corrected.interval.low > 3 / 40, "they may be passes or failures"


def test_a_criterion_that_asks_something_else_is_marked_and_one_that_only_weighs_more_is_not(
    certified, typed, rubric
) -> None:
    path = certified / "prices.yaml"
    path.write_text(path.read_text().replace("critical: true", "points: 9"))
    typed("run", "night", *rubric, *_ASKING, "--prompt", "2")
    assert _uncertified(certified)[0] is None
    path.write_text(path.read_text().replace("The price is the one", "The price is nearly the one"))
    typed("run", "night", *rubric, *_ASKING, "--prompt", "2")
    assert _uncertified(certified)[0] is not None


def test_two_judges_have_two_scores(certified, typed, rubric) -> None:
    (certified / "prompts" / "judge" / "9.md").write_text("You judge.")
    _, done = typed("run", "night", *rubric, *_ASKING, "--prompt", "9", "--json")
    assert [0.5, 1.0] == [one["criteria"][0]["passed"] / 40 for one in done["scores"]]
    assert [["2"], ["9"]] == [[judge["prompt_version"] for judge in one["judges"]] for one in done["scores"]]
    # A few answers of one judge are no part of the other's score.
    typed("run", "night", *rubric, *_ASKING, "--prompt", "2", "--again", "--case", "case-01")
    found = judged_run(RunFolder.open(certified / "runs" / "night"))
    assert [40, 20] == [one.criteria[0].passed for one in found]


def test_rates_are_corrected_in_reports_and_trends(certified, run, typed, rubric) -> None:
    (score,) = judged_run(run)
    grounded, refunded = score.criteria
    assert refunded.corrected is None, "no labels tested the judge there"
    assert grounded.corrected is not None
    assert grounded.corrected.interval is not None
    plain = wilson(0.5, 40)
    assert plain is not None
    assert (0.5, 0.5) == (grounded.rate, grounded.corrected.share)
    assert grounded.corrected.interval.high - grounded.corrected.interval.low > plain.high - plain.low
    assert ["50 %", "50 %"] == [cell.partition(" (")[0] for cell in judged_section(score).rows[1][1:3]]
    [agent] = trend("shop", [run]).agents
    assert {"prices/grounded": grounded.corrected} == {
        line.name.partition(",")[0]: point.corrected for line in agent.judged for point in line.points if point
    }
    (certified / "prompts" / "judge" / "9.md").write_text("You judge.")
    typed("run", "night", *rubric, *_ASKING, "--prompt", "9")
    assert [True, False] == [one.criteria[0].corrected is not None for one in judged_run(run)]


def test_only_a_certified_judge_decides_a_check(certified, run, typed, rubric) -> None:
    check = CriterionMet(rubric="prices", criterion="grounded")

    def decided() -> list[bool | None]:
        judged = judged_criteria(run.path)
        return [
            check.verify(Evidence(case=Case(id="c", task="x"), trial=one.trial, tools=(), judged=judged[key][digest]))[
                0
            ]
            for one in run.trials()
            for key in [(one.trial.case_id, one.trial.attempt)]
            for digest in judged[key]
        ]

    assert {True, False} == set(decided())
    (certified / "prompts" / "judge" / "9.md").write_text("You judge.")
    typed("run", "night", *rubric, *_ASKING, "--prompt", "9")
    assert {None} == set(decided())


def test_where_no_revision_helps_nothing_is_accepted(tmp_path, run, model, typed, rubric) -> None:
    label_all(tmp_path, run, "ann")
    model.revisions = {"*": [WRONG]}
    revising = ("--reflector", "rule-reflector", "--max-calls", "100")
    status, done = typed("calibrate", "night", *rubric, *_ASKING, *revising, "--json")
    assert (0, None) == (status, done["after"])
    assert not (tmp_path / "prompts").exists()


def test_agreement_names_both_sides(tmp_path, run, model, typed, rubric) -> None:
    label_all(tmp_path, run, "ann")
    typed("run", "night", *rubric, *_ASKING)
    status, report = typed("agreement", "night", *rubric, "--json")
    assert 0 == status
    assert 0.5 == report["overall"]["verdict"]["agreement"]["value"]
    assert 0.5 == report["overall"]["verdict"]["constant"]
    assert report["overall"]["verdict"]["beats_constant"] is False
    assert 0.5 == report["overall"]["verdict"]["shift"]
    assert {("fail", "pass")} == {(one["right"], one["judged"]) for one in report["disagreements"]}
    assert "harness explain night case-00" in typed("agreement", "night", *rubric)[1]


def test_agreement_is_taken_against_rewards(run, model, typed, rubric) -> None:
    typed("run", "night", *rubric, *_ASKING)
    status, report = typed("agreement", "night", *rubric, "--against", "reward", "--json")
    assert (0, "reward") == (status, report["against"])
    assert (0.5, 40) == tuple(report["criteria"][0]["verdict"]["agreement"][key] for key in ("value", "n"))
    assert 0 == report["overall"]["eligibility"]["agreement"]["n"]


def test_what_cannot_be_compared_is_said(tmp_path, run, model, typed, rubric) -> None:
    status, told = typed("agreement", "night", *rubric)
    assert (3, True) == (status, "harness judge run" in told)
    typed("run", "night", *rubric, *_ASKING)
    status, told = typed("agreement", "night", *rubric)
    assert (3, True) == (status, "harness annotate night" in told)
    status, told = typed("calibrate", "night", *rubric, *_ASKING)
    assert (3, True) == (status, "'prices'" in told)
