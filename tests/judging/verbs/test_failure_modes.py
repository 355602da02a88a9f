"""The rubric `failure_modes`: a served model reads transcript and log, and names the step that decided the failure."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli.main import harness
from harness.errors import UsageError
from harness.judging.labels import Label, append_line, label_path
from harness.judging.rubrics import load_rubric
from harness.judging.verdicts import JudgeIdentity, Judgement, unjudged
from harness.runs.judge_calibration import Runs
from harness.runs.store.folder import RunFolder
from harness.runs.store.judgements import read_judgements
from harness.scoring.rules.learned import RuleResult
from harness.scoring.scorecard import fact
from qa.doubles.rule_model import Fault, RuleModel
from qa.doubles.rules import ModelRule, RuleSet
from tests.judging.verbs.stored import is_wrong, shop_card, shop_manifest, shop_trial, store

RUBRIC = load_rubric("failure_modes")
CASES = 36
MIND = RuleSet(
    rules=(
        ModelRule(
            criterion="decisive_step",
            who="agent|shop|log",
            finds=r"9\.99|wrong price",
            says="fail",
            mode="tool_hallucination",
        ),
    )
)
JUDGE_RUN = ("run", "night", "--rubric", "failure_modes", "--model", "rule-model")


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[RuleModel]:
    with RuleModel(MIND) as own:
        monkeypatch.setenv("OPENAI_BASE_URL", own.url)
        yield own


def _typed(project: Path, *words: str) -> str:
    return CliRunner().invoke(harness, ["--project", str(project), *words], standalone_mode=False).stdout


def _judged(project: Path, case: str, *options: str) -> list[dict[str, Any]]:
    line = ["--project", str(project), "explain", "night", case, "--json", *options]
    done = CliRunner().invoke(harness, line, standalone_mode=False, catch_exceptions=False)
    found = json.loads(done.stdout)["scorecard"].get("diagnoses", [])
    return [one for one in found if one["kind"] == "judged"]


def _label(project: Path, folder: RunFolder, step: int) -> None:
    """What is true, at that step."""
    file = label_path(project, "shop", "failure_modes")
    for work in Runs(project, (folder,), RUBRIC).work:
        wrong = is_wrong(int(work.item.case_id[5:]))
        fields = work.item.model_dump() | {"rubric": "failure_modes", "criterion_version": "1", "annotator": "ann"}
        fields |= {"answer": "fail", "step": step} if wrong else {"answer": "pass"}
        append_line(
            file, Label.model_validate(fields | {"run": "night", "attempt": 1, "time": "2026-01-01T00:00:00+00:00"})
        )


def test_findings_of_a_judge_enter_every_table_once_it_is_certified(
    tmp_path: Path, typed: Any, model: RuleModel
) -> None:
    run = store(tmp_path, cases=CASES)
    with pytest.raises(UsageError, match="judge"):
        _judged(tmp_path, "case-00", "--judged")
    assert "harness judge run night --rubric failure_modes" in _typed(tmp_path, "explain", "night", "case-00")
    assert 0 == typed(*JUDGE_RUN)[0]
    asked = model.requests
    assert 0 == typed(*JUDGE_RUN, "--again")[0]
    assert asked == model.requests, "verdicts that name a step are recorded, too"
    assert [] == _judged(tmp_path, "case-00")
    [found] = _judged(tmp_path, "case-00", "--judged")
    assert ("tool_hallucination", 2, 0.2) == (found["failure"], found["origin_step"], found["confidence"])
    assert "not certified" in found["evidence"]
    assert [] == _judged(tmp_path, "case-01", "--judged")
    _typed(tmp_path, "score", "night")
    assert [] == _judged(tmp_path, "case-00")

    _label(tmp_path, run, step=2)
    assert 0 == typed("agreement", "night", "--rubric", "failure_modes", "--certify")[0]
    _typed(tmp_path, "score", "night")
    [found] = _judged(tmp_path, "case-00")
    assert (2, 1.0, False) == (found["origin_step"], found["confidence"], "not certified" in found["evidence"])
    [mode] = json.loads(_typed(tmp_path, "report", "night", "--json"))["failure_modes"]
    assert ("tool_hallucination", CASES // 2) == (mode["failure"], mode["trials"])


def test_a_judge_that_names_other_steps_than_people_is_not_certified(
    tmp_path: Path, typed: Any, model: RuleModel
) -> None:
    _label(tmp_path, store(tmp_path, cases=CASES), step=1)
    typed(*JUDGE_RUN)
    typed("agreement", "night", "--rubric", "failure_modes", "--certify")
    _typed(tmp_path, "score", "night")
    assert [] == _judged(tmp_path, "case-00")
    assert "not certified" in _judged(tmp_path, "case-00", "--judged")[0]["evidence"]


def test_facts_and_broken_rules_are_the_log_and_the_entries_that_support_it_are_kept(
    tmp_path: Path, typed: Any, model: RuleModel
) -> None:
    ids = ["case-00", "case-01"]
    rule = RuleResult(
        rule="lookup before answer", scope="suite", state="broken", cases=9, trials=9, step=2, reason="a wrong price"
    )
    card = shop_card("case-00", 0).model_copy(
        update={"diagnoses": (fact("loop_trap", "repeated_call", 1, "once more"),), "rules": (rule,)}
    )
    with RunFolder.create(tmp_path / "runs", shop_manifest("night", ids)) as folder:
        folder.keep_suite(store(tmp_path / "other").suite)
        folder.commit(shop_trial("case-00", 0), (), card)
        folder.commit(shop_trial("case-01", 1), (), shop_card("case-01", 1))
    typed(*JUDGE_RUN)
    found = {one.case_id: one for one in read_judgements(tmp_path / "runs" / "night", "failure_modes")}
    assert (f"step 2: rule broken: lookup before answer: a wrong price ({rule.support})",) == found["case-00"].log
    assert (2, "tool_hallucination", "fail") == (found["case-00"].step, found["case-00"].mode, found["case-00"].answer)
    assert (None, None, "pass") == (found["case-01"].step, found["case-01"].mode, found["case-01"].answer)
    assert 0 == typed(*JUDGE_RUN, "--json")[1]["judged"]["judged"]  # the same log
    asked = model.asked["decisive_step"]
    _typed(tmp_path, "score", "night")  # without the facts of these scorecards: another log for one of them
    assert 1 == typed(*JUDGE_RUN, "--json")[1]["judged"]["judged"]
    assert asked + 1 == model.asked["decisive_step"]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [("prose", "not JSON"), ("wrong_id", "decisive_step_of_another_kind"), ("refusal", "not JSON")],
)
def test_an_answer_that_is_no_verdict_is_named_with_its_reason(
    tmp_path: Path, run: RunFolder, typed: Any, fault: Fault, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RuleModel(MIND, faults={"decisive_step": fault}) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.url)
        status, told = typed(*JUDGE_RUN, "--case", "case-00")
    assert status == 1
    assert "no verdict (1 x): " in told
    assert reason in told
    said = _typed(tmp_path, "explain", "night", "case-00", "--judged")
    [named] = [one for one in said.splitlines() if one.startswith("not judged: ")]
    assert named.startswith("not judged: decisive step: ")
    assert reason in named


def test_a_verdict_without_a_step_is_named() -> None:
    verdict = Judgement(
        run="r", case_id="c", attempt=1, trajectory="d", rubric="failure_modes", rubric_version="1",
        rubric_digest=RUBRIC.digest, criterion="manners", criterion_version="1", eligible=True, passed=False,
        judge=JudgeIdentity(model="m"),
    )  # fmt: skip
    named = unjudged([verdict, verdict.model_copy(update={"criterion": "other", "passed": True})])
    assert {"manners"} == set(named)
