"""The trips of the evaluation are those of the pipeline, and few of them show what it shows."""

from pathlib import Path

import pytest

from harness.improve.candidates import candidate_of
from harness.improve.trial_verdict import TrialJudge, open_judge
from harness.improve.whole_trials import open_whole_trials
from harness.judging.rubrics import load_rubric
from harness.suite.loading import load_suite
from qa.optimise_eval.__main__ import Bench, run_setting, tempts
from qa.optimise_eval.settings import ROOT, SETTINGS
from qa.optimise_eval.speed import with_cases
from tests.improve.prompts.conftest import grocery


def bench(name: str, folder: Path) -> Bench:
    (setting,) = [one for one in SETTINGS if one.name == name]
    return Bench.of(setting, load_suite(ROOT, "grocery"), folder)


@pytest.mark.slow
def test_trips_in_this_process_are_judged_as_whole_trials(tmp_path: Path):
    here = bench("bait-diet", tmp_path / "texts")
    start = candidate_of(here.setting.texts())
    cases = here.cases[:4]
    found = here.trips.run(start, [case.id for case in cases])
    with grocery(tmp_path / "project") as plan:
        rubric = load_rubric(here.setting.rubric, plan.suite.folder)
        judge = TrialJudge(judge=open_judge(plan.project, plan.suite, rubric))
        with open_whole_trials(with_cases(plan, cases), judge) as whole:
            piped = sorted(whole.run(start, [case.id for case in cases]), key=lambda one: one.case)
    assert [(one.case, one.domains, one.vetoes) for one in piped] == [
        (one.case, one.domains, one.vetoes) for one in found
    ]


@pytest.mark.slow
def test_agent_mode_mends_no_coordination_fault(tmp_path: Path):
    (row,) = run_setting(bench("budget-withheld", tmp_path), 1, "agent")
    assert row["end"] == "not"


@pytest.mark.slow
def test_joint_mode_mends_a_coordination_fault_and_takes_no_bait(tmp_path: Path):
    row, _ = run_setting(bench("budget-withheld", tmp_path / "budget"), 1, "joint")
    assert row["end"] == "mended"
    lure = bench("bait-alcohol", tmp_path / "bait")
    rows = run_setting(lure, 1, "joint")
    assert [one["broken"] for one in rows] == [[], []]
    assert tempts(lure, 1), "the bait is taken where nothing forbids it"
