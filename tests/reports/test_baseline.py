"""Baselines: what is kept, what a run is held against, and what is refused."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.cli.main import harness
from harness.errors import ExitCode, NotMeasured, UsageError
from harness.reports.compare import BaselineGate, compare_with_baseline, hold_against
from harness.reports.gates import gate
from harness.reports.margin import no_worse_than
from harness.reports.render.wording import measured_words, success_words
from harness.reports.summarising import summarise_run
from harness.reports.trend import trend
from harness.runs.store.baseline import (
    baseline_of,
    read_baseline,
    write_baseline,
)
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import PlannedTrial, RunManifest
from harness.scoring.evidence import Verdict
from harness.scoring.scorecard import Score, Scorecard
from harness.suite.loading import load_suite
from harness.traces.outcomes import Outcome
from harness.traces.trajectory import Trajectory
from harness.traces.trial import Trial

Make = Callable[..., RunFolder]
VERSIONS = {"verifier:v": "1", "metric:m": "1"}


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def build(run: str, successes: Mapping[str, bool | str | None], **fields: object) -> RunFolder:
        """A stored run; None: the trial met a replay miss; `undecided`: its check could not tell; else an outcome."""
        said = {
            "run": run, "created": "2026-11-22T00:00:00Z", "harness_version": "0.1.0", "suite": "s",
            "suite_digest": "d" * 64, "agent": "v1", "agent_digest": "a" * 64, "snapshot_digest": "e" * 64,
            "tools_digest": "f" * 64, "tool_mode": "replay", "provider": "docker", "isolates": True,
            "scorer_versions": VERSIONS,
            "planned": [PlannedTrial(case_id=case, attempt=1) for case in successes], **fields,
        }  # fmt: skip
        with RunFolder.create(tmp_path / "runs", RunManifest.model_validate(said)) as folder:
            for case, success in successes.items():
                trial, card = _trial(case, success)
                folder.commit(trial, (), card)
        return RunFolder.open(folder.path)

    return build


def _trial(case: str, told: bool | str | None) -> tuple[Trial, Scorecard]:
    success = told if isinstance(told, bool) else None
    outcome: Outcome = "inconclusive" if told is None else "finished"
    if told == "harness_failed":
        outcome = "harness_failed"
    trajectory = Trajectory(trace_id="t", agent="s", steps=(), final_output="the agent's own words")
    card = Scorecard(
        case_id=case,
        attempt=1,
        category="c",
        outcome=outcome,
        success=success,
        verdicts=(Verdict(check="k", verifier="v", version="1", passed=success, reason="seen", evidence={"e": 1}),),
        scores=(Score(metric="m", version="1", value=1.0, explanation="the agent's own words"),),
        digest=trajectory.digest,
    )
    return Trial(case_id=case, attempt=1, outcome=outcome, trajectory=trajectory), card


def held(before: RunFolder, after: RunFolder, allow: int = 0) -> BaselineGate:
    baseline = baseline_of(before)
    return hold_against(baseline, after, compare_with_baseline(baseline, after), allow)


def cases(*failing: int, of: int = 12) -> dict[str, bool | str | None]:
    return {f"case-{number}": number not in failing for number in range(of)}


def test_it_keeps_scores_and_digests_and_no_words_of_the_agent(make: Make, tmp_path: Path) -> None:
    path = write_baseline(tmp_path, baseline_of(make("one", cases(3))))
    text = path.read_text()
    assert "own words" not in text
    assert 12 == len([line for line in text.splitlines() if line.startswith('{"case_id"')])
    again = read_baseline(tmp_path, "s", "d" * 64)
    assert [number != 3 for number in range(12)] == [card.success for card in again.scorecards]
    assert path.read_text() == write_baseline(tmp_path, again).read_text()


def test_a_run_with_unmeasured_trials_is_no_baseline_unless_allowed(make: Make) -> None:
    run = make("one", {**cases(), "missed": None})
    with pytest.raises(UsageError, match="--allow-unmeasured 1"):
        baseline_of(run)
    assert 13 == len(baseline_of(run, 1).scorecards)


def test_a_replayed_run_may_lose_no_trial_and_may_win_some(make: Make) -> None:
    before = make("before", cases(0, 1))
    lost = held(before, make("lost", cases(0, 5)))
    assert ("fails", ExitCode.VERDICT, ["case-5"]) == (lost.holding, lost.exit_code, [one.case_id for one in lost.lost])
    assert "holds" == held(before, make("same", cases(0, 1))).holding
    assert "holds" == held(before, make("better", cases(0))).holding


def test_where_a_model_was_live_a_loss_must_be_more_than_chance(make: Make) -> None:
    before = make("before", cases(), model_mode="live")
    assert "holds" == held(before, make("one", cases(1), model_mode="live")).holding
    assert "fails" == held(before, make("many", cases(*range(8)), model_mode="live")).holding


def test_what_could_not_be_measured_is_no_pass(make: Make) -> None:
    before = make("before", cases())
    missed = make("missed", {**cases(), "case-1": None})
    assert ("not_measured", ExitCode.COULD_NOT) == (held(before, missed).holding, held(before, missed).exit_code)
    lost = held(before, missed, allow=1)
    assert ("fails", ["case-1"]) == (lost.holding, [one.case_id for one in lost.lost])
    before_too = make("before-too", cases(1))
    assert "holds" == held(before_too, missed, allow=1).holding


def test_a_success_that_turned_unknown_is_lost_in_every_gate(make: Make) -> None:
    before = make("before", cases())
    hidden = make("hidden", {**cases(), "case-2": "undecided"})
    lost = held(before, hidden)
    assert ("fails", ExitCode.VERDICT, ["case-2"]) == (lost.holding, lost.exit_code, [one.case_id for one in lost.lost])
    assert None is not re.search(r"\b1 of\b", lost.reason)  # how many of the lost are unknown
    comparison = compare_with_baseline(baseline_of(before), hidden)
    assert ([], ["case-2"]) == (list(comparison.changed), [one.case_id for one in comparison.hidden])
    many = make("many", dict.fromkeys(cases(), "undecided"))
    checked = no_worse_than(compare_with_baseline(baseline_of(before), many), ["task_success=0.05"])
    assert ["worse"] == [one.standing for one in checked]
    summary = summarise_run(hidden)
    assert "11/11 passed = 100 %" in success_words(summary.success)
    assert success_words(summary.success).endswith("; unknown for 1 of 12")
    assert "11 of 12 trials measured; 1 more are undecided by their checks" == measured_words(summary)
    assert "not_measured" == gate(summary, ["task_success=0.95"]).holding
    assert "fails" == gate(summary, ["task_success=0.95"], allow_unmeasured=1).holding
    assert "holds" == gate(summary, ["task_success=0.9"], allow_unmeasured=1).holding
    (line,) = (one for one in trend("s", [before, hidden]).agents[0].lines if one.name == "task_success")
    assert [1.0, 11 / 12] == [pytest.approx(point.value) for point in line.points]


def test_trials_that_the_harness_could_not_run_are_not_lost(make: Make) -> None:
    failed = make("failed", {**cases(), "case-1": "harness_failed"})
    assert ("holds", ()) == ((found := held(make("before", cases()), failed, allow=1)).holding, found.lost)


def test_a_part_of_the_suite_is_held_against_its_part(make: Make) -> None:
    assert "holds" == held(make("before", cases(9)), make("part", cases(of=4))).holding


def test_another_suite_or_verifier_is_refused_and_another_metric_left_out(make: Make) -> None:
    before = make("before", cases())
    with pytest.raises(NotMeasured, match="harness baseline"):
        held(before, make("suite", cases(), suite_digest="0" * 64))
    with pytest.raises(NotMeasured, match="verifier:v"):
        held(before, make("verifier", cases(), scorer_versions={**VERSIONS, "verifier:v": "2"}))
    gate = held(before, make("metric", cases(), scorer_versions={**VERSIONS, "metric:m": "2"}))
    assert ("holds", ("m",)) == (gate.holding, gate.left_out)
    after = make("both", cases(), scorer_versions={**VERSIONS, "metric:m": "2", "detector:late": "1"})
    compared = compare_with_baseline(baseline_of(before), after)
    assert ((), ()) == (compared.metrics, compared.failures)


def typed(project: Path, *arguments: str) -> Result:
    return CliRunner().invoke(harness, ["--project", str(project), *arguments])


def test_it_is_typed_from_the_first_run_to_the_gate(tmp_path: Path) -> None:
    project = tmp_path / "evals"
    assert 0 == CliRunner().invoke(harness, ["init", str(project)]).exit_code
    run = ["run", "hello", "--sandbox", "local", "--against-baseline", "--run-name"]
    missing = typed(project, *run, "early")
    assert isinstance(missing.exception, NotMeasured)
    assert "harness baseline" in str(missing.exception)
    assert not (project / "runs" / "early").exists()
    assert 0 == typed(project, "run", "hello", "--sandbox", "local", "--run-name", "good").exit_code
    assert 0 == typed(project, "baseline", "good").exit_code
    assert [] == json.loads(typed(project, "compare", "baseline:hello", "--json").stdout)["outdated"]
    kept = project / "baselines/hello.json"
    newest, older = kept.read_text(), kept.read_text().replace('"detector:facts":"', '"detector:facts":"0.')
    kept.write_text(older)
    assert "detector:facts 0." in typed(project, "compare", "baseline:hello").stdout
    kept.write_text(newest)
    assert 0 == typed(project, *run, "same").exit_code
    agent = project / "suites/hello/agents/v1/main.py"
    agent.write_text(agent.read_text().replace("Hello, ", "Goodbye, "))
    worse = typed(project, *run, "worse")
    assert (1, True) == (worse.exit_code, "lost hello-world/1: greets" in worse.stdout)
    compared = typed(project, "compare", "baseline:hello", "worse", "--json")
    assert ["hello-world"] == [one["case_id"] for one in json.loads(compared.stdout)["changed"]]
    suite = project / "suites/hello/cases.yaml"
    suite.write_text(suite.read_text().replace("whoever is there", "everybody"))
    stale = typed(project, *run, "stale")
    assert isinstance(stale.exception, NotMeasured)
    assert "harness baseline" in str(stale.exception)
    assert isinstance(typed(project, "compare", "baseline:hello").exception, NotMeasured)


def test_the_committed_baseline_is_of_the_suite_as_it_is(project: Path) -> None:
    suite = load_suite(project, "drive_thru")
    assert len(suite.cases) == len(read_baseline(project, "drive_thru", suite.digest).scorecards)
