"""Cases that flip without a change: found over nights, shown apart, never hiding a loss, and released again."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.errors import NotMeasured, ResultsError
from harness.report import compare_runs, find_quarantine, summarise_run
from harness.report.comparison.baseline import compare_with_baseline, hold_against
from harness.report.comparison.trend import trend
from harness.report.render.junit import junit_xml
from harness.report.render.sections import sections
from harness.results import PlannedTrial, Quarantine, RunFolder, RunManifest, write_quarantine
from harness.results.baseline import baseline_of
from harness.score import Scorecard, Verdict
from harness.trace import Trajectory, Trial

Night = Callable[..., RunFolder]


@pytest.fixture
def night(tmp_path: Path) -> Night:
    numbers = iter(range(1, 1000))

    def build(
        results: Mapping[str, Sequence[bool]], quarantine: Quarantine | None = None, **fields: object
    ) -> RunFolder:
        """One night's run: of each case whether its attempts succeeded."""
        number = next(numbers)
        planned = [PlannedTrial(case_id=case, attempt=n + 1) for case, own in results.items() for n in range(len(own))]
        said = {
            "run": f"night-{number}", "created": f"2026-11-22T00:{number:02}:00Z", "harness_version": "0.1.0",
            "suite": "s", "suite_digest": "d" * 64, "agent": "v1", "agent_digest": "a" * 64,
            "snapshot_digest": "e" * 64, "tools_digest": "f" * 64, "tool_mode": "replay", "provider": "docker",
            "isolates": True, "planned": planned, **fields,
        }  # fmt: skip
        with RunFolder.create(tmp_path / "runs", RunManifest.model_validate(said)) as folder:
            for one in planned:
                folder.commit(*_record(one, results[one.case_id][one.attempt - 1]))
            if quarantine is not None:
                write_quarantine(folder, quarantine)
        return RunFolder.open(folder.path)

    return build


def _record(one: PlannedTrial, success: bool) -> tuple[Trial, tuple[()], Scorecard]:
    trajectory = Trajectory(trace_id="t", agent="s", steps=())
    card = Scorecard(
        case_id=one.case_id, attempt=one.attempt, category="c", difficulty="easy", outcome="finished", success=success,
        verdicts=(Verdict(check="k", verifier="v", version="1", passed=success, reason="seen"),),
        scores=(), digest=trajectory.digest,
    )  # fmt: skip
    trial = Trial(case_id=one.case_id, attempt=one.attempt, outcome="finished", trajectory=trajectory)
    return trial, (), card


def inside(runs: Sequence[RunFolder]) -> list[str]:
    return [one.case_id for one in find_quarantine(runs, "s", "v1", 1).cases]


def test_a_stored_quarantine_with_more_failures_than_trials_is_refused(night: Night) -> None:
    folder = night({"a": [True]}, Quarantine(usual_attempts=1, cases=()))
    one = {"case_id": "a", "failures": 5, "trials": 1, "agreeing": 0, "leaves_after": 1, "attempts": 1, "level": 0.05}
    (folder.path / "quarantine.json").write_text(json.dumps({"usual_attempts": 1, "cases": [one]}))
    with pytest.raises(ResultsError, match=r"quarantine\.json.*\b5\b.*\b1\b"):
        summarise_run(RunFolder.open(folder.path))


def test_a_case_that_flips_between_nights_without_a_change_is_found(night: Night) -> None:
    runs = [night({"moody": [ok], "calm": [True]}) for ok in (True, True, False)]
    assert ["moody"] == inside(runs)


def test_the_cases_stand_in_the_order_of_their_names_and_share_one_level(night: Night) -> None:
    found = find_quarantine([night({"b": [ok], "a": [not ok], "c": [True]}) for ok in (True, False)], "s", "v1", 1)
    assert ["a", "b"] == [one.case_id for one in found.cases]
    assert [0.025, 0.025] == [one.level for one in found.cases]


def test_a_case_that_changes_with_its_agent_is_no_flip(night: Night) -> None:
    runs = [night({"case": [True]}), night({"case": [False]}, agent_digest="b" * 64)]
    assert [] == inside(runs)


def test_it_leaves_quarantine_once_its_trials_ended_alike_often_enough(night: Night) -> None:
    runs = [night({"moody": [ok]}) for ok in (True, False)]
    left = find_quarantine(runs, "s", "v1", 1).cases[0].leaves_after
    assert 5 == left  # one of two flipped: log 0.05 / log 0.5
    while inside(runs):
        runs.append(night({"moody": [False]}))
    assert 1 + left == len(runs)
    assert ["moody"] == inside([*runs, night({"moody": [True]}), night({"moody": [False]})])


def test_a_flip_is_shown_apart_and_fails_no_gate(night: Night) -> None:
    runs = [night({"moody": [ok], "calm": [True]}) for ok in (True, True, False, True)]
    found = find_quarantine(runs, "s", "v1", 1)
    attempts = found.cases[0].attempts
    tonight = night({"moody": [False, *[True] * (attempts - 1)], "calm": [True]}, found)
    summary = summarise_run(tonight)
    assert (1, 1) == (summary.success.successes, summary.success.n)
    assert 1 == summary.counts.planned
    assert [("moody", False)] == [(one.case_id, one.lost) for one in summary.quarantine]
    assert "quarantine" in [section.title for section in sections(summary)]
    baseline = baseline_of(runs[0])
    gate = hold_against(baseline, tonight, compare_with_baseline(baseline, tonight))
    assert ("holds", ()) == (gate.holding, gate.lost)
    assert re.search(r"\b1\b[^0-9]*quarantine", gate.reason)


def test_a_real_loss_is_never_hidden(night: Night) -> None:
    runs = [night({"moody": [ok], "calm": [True]}) for ok in (True, True, False, True)]
    found = find_quarantine(runs, "s", "v1", 1)
    tonight = night({"moody": [False] * found.cases[0].attempts, "calm": [True]}, found, agent_digest="b" * 64)
    summary = summarise_run(tonight)
    assert [("moody", True)] == [(one.case_id, one.lost) for one in summary.quarantine]
    assert (1, 2) == (summary.success.successes, summary.success.n)
    baseline = baseline_of(runs[0])
    gate = hold_against(baseline, tonight, compare_with_baseline(baseline, tonight))
    assert "fails" == gate.holding


def test_a_case_without_any_success_is_lost_however_few_its_trials(night: Night) -> None:
    runs = [night({"moody": [ok], "calm": [True]}) for ok in (True, True, False, True)]
    found = find_quarantine(runs, "s", "v1", 1)
    tonight = night({"moody": [False], "calm": [True]}, found)
    assert [(1, True)] == [(one.trials, one.lost) for one in summarise_run(tonight).quarantine]


def test_a_loss_that_goes_on_does_not_become_what_is_expected(night: Night) -> None:
    before = [night({"moody": [True] * 9 + [False]})]
    worse = [night({"moody": [False] * 7 + [True] * 3}, agent_digest="b" * 64) for _ in range(3)]
    case = find_quarantine([*before, *worse], "s", "v1", 1).cases[0]
    assert (1, 10) == (case.failures, case.trials)
    assert case.attempts <= 3


@pytest.mark.parametrize(
    ("tonight", "left"),
    [((True,), 4), ((False, False), 3), ((True, False), 5), ((False,) * 9, 0)],
    ids=["one alike", "two alike", "both ways", "more alike than needed"],
)
def test_trials_that_end_alike_bring_a_case_nearer_to_leaving(
    night: Night, tonight: tuple[bool, ...], left: int
) -> None:
    found = find_quarantine([night({"moody": [ok]}) for ok in (True, False)], "s", "v1", 1)
    assert 5 == found.cases[0].leaves_after
    (result,) = summarise_run(night({"moody": list(tonight)}, found)).quarantine
    assert left == result.leaves_after


def test_a_flip_is_skipped_in_junit_and_a_loss_is_a_failure(night: Night) -> None:
    found = find_quarantine([night({"moody": [ok], "calm": [True]}) for ok in (True, True, False, True)], "s", "v1", 1)
    attempts = found.cases[0].attempts
    flip = night({"moody": [False, *[True] * (attempts - 1)], "calm": [False]}, found)
    assert [("moody/1", "skipped"), ("calm/1", "failure")] == _marked(flip)
    lost = night({"moody": [False] * attempts, "calm": [True]}, found)
    assert [(f"moody/{n + 1}", "failure") for n in range(attempts)] == _marked(lost)


def _marked(folder: RunFolder) -> list[tuple[str, str]]:
    root = ElementTree.fromstring(junit_xml(summarise_run(folder), folder.scorecards()))
    return [(test.attrib["name"], mark.tag) for test in root.iter("testcase") for mark in test]


def test_a_flip_stands_in_no_comparison_and_no_trend(night: Night) -> None:
    runs = [night({"moody": [ok], "calm": [True]}) for ok in (True, True, False, True)]
    found = find_quarantine(runs, "s", "v1", 1)
    tonight = night({"moody": [False, *[True] * (found.cases[0].attempts - 1)], "calm": [True]}, found)
    comparison = compare_runs(runs[0], tonight)
    assert (1, ()) == (comparison.success.pairs, comparison.changed)
    (success,) = [line for line in trend("s", [*runs, tonight]).lines if line.name == "task_success"]
    assert (1, 1.0) == (success.points[-1].n, success.points[-1].value)


def test_where_nothing_but_flips_is_shared_with_the_baseline_the_gate_is_not_measured(night: Night) -> None:
    runs = [night({"moody": [ok]}) for ok in (True, True, False, True)]
    found = find_quarantine(runs, "s", "v1", 1)
    tonight = night({"moody": [False, *[True] * (found.cases[0].attempts - 1)]}, found)
    with pytest.raises(NotMeasured):
        compare_with_baseline(baseline_of(runs[0]), tonight)
