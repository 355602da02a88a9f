"""A stored run to judge, and the rule model to judge it."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from harness.judging.prompts import Prompt, PromptRegistry
from harness.judging.rubrics import Rubric
from harness.judging.settings import JudgeSettings
from harness.runs.judging import Judged, JudgeRequest, judge_run
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import PlannedTrial, RunManifest
from harness.scoring.scorecard import Scorecard
from harness.suite.agents import AgentVersion
from harness.suite.cases import Case
from harness.suite.suites import Suite
from harness.traces.outcomes import Outcome
from harness.traces.trajectory import Trajectory
from harness.traces.trial import Trial
from qa.doubles.rule_model import RuleModel
from tests.judging.judge.material import MIND, RUBRIC, Steps

StoredRun = Callable[..., RunFolder]


@pytest.fixture
def stored_run(tmp_path: Path) -> StoredRun:
    """A run folder of an imported suite: one trial for each case."""

    def build(trials: dict[str, Steps], name: str = "run", outcome: Outcome = "finished", models=()) -> RunFolder:
        cases = tuple(Case(id=case, task="x") for case in trials)
        agents = {"a": AgentVersion(command=("true",), files=".")}
        suite = Suite(name="shop", folder=tmp_path, agents=agents, cases=cases, digest="d")
        planned = tuple(PlannedTrial(case_id=case, attempt=1) for case in trials)
        with RunFolder.create(tmp_path / "runs", _manifest(name, planned)) as folder:
            folder.keep_suite(suite)
            for case, steps in trials.items():
                trajectory = Trajectory(trace_id=f"trace-{case}", agent="shop", steps=tuple(steps))
                trial = Trial(case_id=case, attempt=1, outcome=outcome, trajectory=trajectory)
                folder.commit(trial, (), _card(case, outcome, models))
        return RunFolder.open(folder.path)

    return build


def _manifest(name: str, planned: tuple[PlannedTrial, ...]) -> RunManifest:
    return RunManifest(
        run=name,
        created="2026-01-31T12:00:00Z",
        harness_version="0",
        suite="shop",
        suite_digest="d",
        agent="a",
        agent_digest="a",
        snapshot_digest="s",
        tools_digest="t",
        tool_mode="replay",
        provider="docker",
        isolates=True,
        planned=planned,
    )


def _card(case: str, outcome: Outcome, models: Sequence[str]) -> Scorecard:
    return Scorecard(
        case_id=case,
        attempt=1,
        category="c",
        outcome=outcome,
        success=None,
        digest="",
        models=tuple(models),
    )


@pytest.fixture
def prompt(tmp_path: Path) -> Prompt:
    return PromptRegistry(tmp_path).get("judge")


@pytest.fixture
def judging(tmp_path: Path, prompt: Prompt):
    """Judges a run with a served rule model."""

    def judge(folder: RunFolder, model: RuleModel, rubric: Rubric = RUBRIC, **fields) -> Judged:
        settings = {
            "model": "rule-model",
            "base_url": model.url,
            "first_wait_s": 0.01,
            "tries": 3,
            **fields.pop("settings", {}),
        }
        request = {"rubric": rubric, "prompt": prompt, "settings": JudgeSettings(**settings), **fields}
        return judge_run(tmp_path, folder, JudgeRequest(**request))

    return judge


@pytest.fixture
def rule_model():
    with RuleModel(MIND) as model:
        yield model
