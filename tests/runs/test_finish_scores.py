"""At the end of a run: what only all of its trials can say."""

from pathlib import Path

from harness.runs.rescore import finish_scores
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import PlannedTrial, RunManifest
from harness.scoring.evidence import Evidence
from harness.scoring.scorer import build_scorer
from harness.suite.agents import AgentVersion
from harness.suite.cases import Case, CheckSpec
from harness.suite.suites import Suite
from harness.traces.trajectory import Step, ToolCall, Trajectory
from harness.traces.trial import Trial

STEPS = {1: 4, 2: 2, 3: 3}
"""Attempt -> steps with a call."""
SUITE = Suite(
    name="s",
    folder=Path(),
    agents={"v1": AgentVersion(command=("true",), files=".")},
    tools=(),
    cases=(Case(id="c", task="do it"),),
    checks=(CheckSpec.model_validate({"name": "said", "verifier": "final_answer", "with": {"contains": "done"}}),),
    digest="d",
)


def _trial(attempt: int) -> Trial:
    calls = [ToolCall(id=str(number), name="look", arguments={"at": number}) for number in range(STEPS[attempt])]
    steps = tuple(Step(index=number, source="agent", calls=(call,)) for number, call in enumerate(calls))
    trajectory = Trajectory(trace_id="t", agent="a", steps=steps, final_output="done" if attempt > 1 else "no")
    return Trial(case_id="c", attempt=attempt, outcome="finished", trajectory=trajectory)


def _run(runs: Path, *attempts: int) -> RunFolder:
    """A run of which these attempts were made, of three that were planned."""
    scorer = build_scorer(SUITE)
    manifest = RunManifest(
        run="run",
        created="2026-01-31T12:00:00Z",
        harness_version="0.1.0",
        suite="s",
        suite_digest="d",
        agent="v1",
        agent_digest="a",
        snapshot_digest="s",
        tools_digest="t",
        tool_mode="replay",
        provider="docker",
        isolates=True,
        scorer_versions=scorer.versions,
        planned=tuple(PlannedTrial(case_id="c", attempt=attempt) for attempt in STEPS),
    )
    with RunFolder.create(runs, manifest) as folder:
        for attempt in attempts:
            trial = _trial(attempt)
            folder.commit(trial, (), scorer.score(Evidence(case=SUITE.cases[0], trial=trial, tools=())))
        finish_scores(folder, SUITE, scorer)
    return RunFolder.open(folder.path)


def test_a_case_without_an_optimum_takes_the_best_success_of_the_run(tmp_path: Path) -> None:
    run = _run(tmp_path, 1, 2, 3)
    found = {card.attempt: card for card in run.scorecards()}
    # a trial that failed says nothing by its length
    assert {1: None, 2: 1.0, 3: 2 / 3} == {key: card.value("step_efficiency") for key, card in found.items()}
    assert {1: None, 2: 1.0, 3: 1.5} == {key: card.value("step_ratio") for key, card in found.items()}
    (why,) = [score.explanation for score in found[3].scores if score.metric == "step_efficiency"]
    assert "2 needed, 3 made (steps, by the best known success)" == why
    assert len(build_scorer(SUITE).metrics) == len(found[3].scores)
    run.verify()


def test_a_run_that_is_to_be_resumed_is_not_scored_again(tmp_path: Path) -> None:
    run = _run(tmp_path, 1, 2)
    assert [None, None] == [card.value("step_efficiency") for card in run.scorecards()]
    with RunFolder.resume(run.path) as folder:
        scorer, trial = build_scorer(SUITE), _trial(3)
        folder.commit(trial, (), scorer.score(Evidence(case=SUITE.cases[0], trial=trial, tools=())))
        finish_scores(folder, SUITE, scorer)
        assert [None, 1.0, 2 / 3] == [card.value("step_efficiency") for card in folder.scorecards()]
