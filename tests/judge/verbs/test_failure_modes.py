"""The rubric `failure_modes`: a served model's verdicts become findings, marked until people have spoken."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli.main import harness
from harness.errors import UsageError
from harness.judging.certification import (
    ClassRate,
    CriterionRates,
    JudgeRecord,
    add_record,
    asked_by,
    certified_accuracy,
    record_path,
)
from harness.judging.rubrics import load_rubric
from harness.judging.verdicts import JudgeIdentity, Judgement, judged_findings, merged_findings, unjudged_modes
from harness.runs.store.folder import RunFolder
from harness.runs.store.judgements import read_judgements
from harness.scoring.scorecard import Diagnosis
from harness.traces.trajectory import Step, Trajectory
from qa.doubles.rule_model import Fault, RuleModel
from qa.doubles.rules import ModelRule, RuleSet

RUBRIC = load_rubric("failure_modes")
MIND = RuleSet(rules=(ModelRule(criterion="tool_hallucination", who="agent|shop", finds=r"9\.99", says="fail"),))


def _explained(project: Path, case: str, *options: str) -> Any:
    line = ["--project", str(project), "explain", "night", case, "--json", *options]
    done = CliRunner().invoke(harness, line, standalone_mode=False, catch_exceptions=False)
    return json.loads(done.stdout)["scorecard"].get("diagnoses", [])


def _judged(project: Path, case: str) -> list[dict[str, Any]]:
    return [one for one in _explained(project, case, "--judged") if one["kind"] == "judged"]


def test_a_judges_verdicts_are_findings_only_where_they_are_asked_for(
    tmp_path: Path, run: RunFolder, typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="judge"):
        _explained(tmp_path, "case-00", "--judged")
    with RuleModel(MIND) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.url)
        typed("run", "night", "--rubric", "failure_modes", "--model", "rule-model")

    assert [] == [one for one in _explained(tmp_path, "case-00") if one["kind"] == "judged"]
    assert [] == _judged(tmp_path, "case-01")
    [found] = _judged(tmp_path, "case-00")
    assert ("tool_hallucination", 0.2) == (found["failure"], found["confidence"])
    assert found["origin_step"] is not None
    assert "uncalibrated" in found["evidence"]

    judgement = next(one for one in read_judgements(run.path, "failure_modes") if one.criterion == "tool_hallucination")
    add_record(record_path(tmp_path, run.manifest.suite, "failure_modes"), _record(judgement.judge, 38))
    [found] = _judged(tmp_path, "case-00")
    assert 0.975 == found["confidence"]
    assert "uncalibrated" not in found["evidence"]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [("prose", "not JSON"), ("wrong_id", "tool_hallucination_of_another_kind"), ("refusal", "not JSON")],
)
def test_an_answer_that_is_no_verdict_is_named_with_its_reason(
    tmp_path: Path, run: RunFolder, typed: Any, fault: Fault, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RuleModel(MIND, faults={"tool_hallucination": fault}) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.url)
        line = ("run", "night", "--rubric", "failure_modes", "--model", "rule-model")
        status, told = typed(*line, "--case", "case-00")
    assert status == 1
    assert "no verdict (1 x): " in told
    assert reason in told

    shown = ["--project", str(tmp_path), "explain", "night", "case-00", "--judged"]
    said = CliRunner().invoke(harness, shown, standalone_mode=False, catch_exceptions=False).stdout
    [named] = [one for one in said.splitlines() if one.startswith("not judged: ")]
    assert named.startswith("not judged: tool hallucination: ")
    assert reason in named


def test_a_failed_criterion_that_is_no_mode_and_evidence_that_does_not_exist_are_named() -> None:
    invented = _verdict("goal_drift").model_copy(
        update={"failure": "the judge cites evidence that does not exist: s99"}
    )
    named = unjudged_modes(
        [invented, _verdict("manners"), _verdict("loop_trap"), _verdict("other_manners", passed=True)]
    )
    assert {"goal_drift", "manners"} == set(named)
    assert "s99" in named["goal_drift"]
    assert "'manners'" in named["manners"]


def _record(judge: JudgeIdentity, found: int = 40) -> JudgeRecord:
    criterion = RUBRIC.criterion("tool_hallucination")
    assert criterion is not None
    passes = ClassRate(labels=40, right=40, effective=40)
    fails = ClassRate(labels=40, right=found, effective=40)
    return JudgeRecord(
        time="2026-01-01T00:00:00+00:00",
        purpose="certification",
        rubric="failure_modes",
        rubric_version="1",
        judge=judge,
        annotators=("ann",),
        criteria={
            "tool_hallucination": CriterionRates(question=asked_by(RUBRIC, criterion), passes=passes, fails=fails)
        },
        used=("0", "1"),
    )


JUDGE = JudgeIdentity(prompt="judge", prompt_version="1", prompt_digest="p", model="m")
WALK = Trajectory(
    trace_id="t", agent="a", steps=tuple(Step(index=n, source="agent", span_id=f"span-{n}") for n in range(5))
)
RULE = Diagnosis(
    failure="goal_drift", kind="forbidden_call", origin_step=2, evidence="strange", confidence=0.5, version="1"
)


def _verdict(criterion: str, *spans: str, passed: bool = False) -> Judgement:
    return Judgement(
        run="r", case_id="c", attempt=1, trajectory="d", rubric="failure_modes", rubric_version="1",
        rubric_digest=RUBRIC.digest, criterion=criterion, criterion_version="1", eligible=True, passed=passed,
        rationale="it turned away", spans=spans, judge=JUDGE,
    )  # fmt: skip


def test_the_first_cited_step_is_the_origin_and_later_ones_depend_on_it() -> None:
    verdicts = [_verdict("goal_drift", "step:4", "span-2", "elsewhere"), _verdict("loop_trap", passed=True)]
    [one] = judged_findings(verdicts, WALK, {})
    assert ("goal_drift", 2, (4,)) == (one.failure, one.origin_step, one.dependent_steps)
    [nowhere] = judged_findings([_verdict("goal_drift")], WALK, {})
    assert nowhere.origin_step is None


@pytest.mark.parametrize(
    ("agreement", "spans", "confidences"),
    [
        ({"goal_drift": 0.8}, ("step:2",), [0.9]),  # 1 - 0.5 x 0.2
        ({}, ("step:2",), [0.5, 0.2]),  # uncalibrated: it stands beside, and changes nothing
        ({"goal_drift": 0.8}, ("step:3",), [0.5, 0.8]),  # at another step
        ({"loop_trap": 0.8}, ("step:2",), [0.5, 0.2]),
    ],
)
def test_rules_and_judge_are_merged_by_calibrated_confidence(
    agreement: dict[str, float], spans: tuple[str, ...], confidences: list[float]
) -> None:
    judged = judged_findings([_verdict("goal_drift", *spans)], WALK, agreement)
    found = merged_findings([RULE], judged, agreement)
    assert confidences == [pytest.approx(one.confidence) for one in found]


def test_only_the_certified_judge_in_use_counts(tmp_path: Path) -> None:
    verdict = _verdict("tool_hallucination")
    add_record(record_path(tmp_path, "shop", "failure_modes"), _record(JUDGE))
    assert {"tool_hallucination": 1.0} == certified_accuracy(tmp_path, "shop", RUBRIC, [verdict])
    other = verdict.model_copy(update={"judge": JUDGE.model_copy(update={"model": "another"})})
    assert {} == certified_accuracy(tmp_path, "shop", RUBRIC, [other])
    add_record(record_path(tmp_path, "shop", "failure_modes"), _record(JUDGE, 33))  # 82 %, but 68 % at least
    assert {} == certified_accuracy(tmp_path, "shop", RUBRIC, [verdict])
