"""What readers outside of the harness find in a run: judges' events, and the file of a baseline."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ResultsError, UsageError
from harness.judging.verdicts import Judgement
from harness.runs.store.baseline import (
    baseline_of,
    latest_comparable,
    read_baseline,
    real_durations,
    runs_in,
    write_baseline,
)
from harness.runs.store.folder import RunFolder, run_path
from harness.runs.store.judgements import (
    JudgementWriter,
    keep_rubric,
    kept_rubric,
)
from harness.runs.store.manifest import PlannedTrial, RunManifest, differences
from harness.scoring.evidence import Verdict
from harness.scoring.scorecard import Score
from tests.judging.labelling import RUBRIC, judgement

Manifest = Callable[..., RunManifest]
Record = Callable[..., Any]


@pytest.fixture
def folder(runs: Path, manifest: Manifest) -> RunFolder:
    with RunFolder.create(runs, manifest()) as made:
        return made


def events(folder: RunFolder, *judged: Judgement) -> list[dict[str, Any]]:
    with JudgementWriter(folder.path, RUBRIC.name) as writer:
        for one in judged:
            writer.add(one)
    lines = (folder.path / "judgements" / f"{RUBRIC.name}.jsonl").read_text().splitlines()
    return [json.loads(line)["attributes"] | {"span": json.loads(line)["span_id"]} for line in lines]


def test_the_event_of_a_judgement_has_its_score_label_and_span(folder: RunFolder) -> None:
    one = judgement("a")
    passed, failed, unknown = events(
        folder,
        one.model_copy(update={"passed": True, "spans": ("step:2", "s1", "s2"), "rationale": "it is there"}),
        one.model_copy(update={"passed": False, "spans": ("step:2",), "rationale": ""}),
        one.model_copy(update={"passed": None, "eligible": None, "failure": "no answer", "spans": ()}),
    )
    score = next(name for name, value in passed.items() if value == 1.0)
    assert (0.0, None) == (failed[score], unknown.get(score))
    assert ["s1", "", ""] == [event["span"] for event in (passed, failed, unknown)]
    assert "it is there" in passed.values()
    assert "" not in {value for name, value in failed.items() if name != "span"}  # no rationale is not an attribute
    assert "judge_failed" in unknown.values()
    assert "judge_failed" not in passed.values()
    assert f"{one.rubric}@{one.rubric_version}/{one.criterion_version}" in passed.values()


def test_a_rubric_is_kept_once_and_a_digest_that_is_no_name_is_refused(folder: RunFolder) -> None:
    with JudgementWriter(folder.path, RUBRIC.name):
        pass
    for _ in range(2):
        keep_rubric(folder.path, RUBRIC)
    assert RUBRIC == kept_rubric(folder.path, RUBRIC.name, RUBRIC.digest)
    for digest in ("../../etc", ""):
        with pytest.raises(ResultsError, match="rubric_digest"):
            kept_rubric(folder.path, RUBRIC.name, digest)


def test_a_baseline_keeps_verdicts_and_values_and_neither_evidence_nor_long_reasons(
    runs: Path, manifest: Manifest, record: Record, tmp_path: Path
) -> None:
    trial, spans, card = record()
    verdicts = (
        Verdict(check="v", verifier="v", version="1", passed=True, reason="fine", evidence={"found": 3}),
        Verdict(check="w", verifier="w", version="1", passed=False, reason="x" * 300, evidence={"found": 4}),
    )
    card = card.model_copy(
        update={
            "reason": "y" * 200 + "z",
            "success": False,
            "verdicts": verdicts,
            "scores": (Score(metric="m", version="1", value=0.5, explanation="half"),),
        }
    )
    with RunFolder.create(runs, manifest(planned=(PlannedTrial(case_id="a", attempt=1),))) as run:
        run.commit(trial, spans, card)
    write_baseline(tmp_path, baseline_of(run))
    (kept,) = read_baseline(tmp_path, "s").scorecards
    assert "y" * 200 == kept.reason
    assert [("", {}), ("x" * 200, {})] == [(one.reason, one.evidence) for one in kept.verdicts]
    assert [(0.5, "")] == [(one.value, one.explanation) for one in kept.scores]


def test_the_file_of_a_baseline_has_a_line_a_trial_and_reads_the_same(
    runs: Path, manifest: Manifest, record: Record, tmp_path: Path
) -> None:
    with RunFolder.create(runs, manifest(tool_mode="live")) as run:
        for case in ("a", "b"):
            for attempt in (1, 2):
                trial, spans, card = record(case, attempt)
                run.commit(trial.model_copy(update={"duration_s": attempt + 0.1234567}), spans, card)
    path = write_baseline(tmp_path, baseline_of(run))
    content = json.loads(path.read_text())
    assert ["version", "manifest", "durations", "scorecards"] == list(content)
    assert 4 == sum('"case_id"' in line and '"success"' in line for line in path.read_text().splitlines())
    kept = read_baseline(tmp_path, "s", "d1")
    assert {"b/1": 1.123457, "b/2": 2.123457, "a/1": 1.123457, "a/2": 2.123457} == kept.durations
    assert run.scorecards()[0].success == kept.scorecards[0].success
    assert sorted(content["manifest"]) == list(content["manifest"])


@pytest.mark.parametrize(
    ("tool_mode", "model_mode", "timed"),
    [
        ("replay", "none", False),
        ("replay", "replay", False),
        ("replay", "live", True),
        ("live", "none", True),
        ("live", "live", True),
    ],
)
def test_times_count_where_tools_or_a_model_answered_by_themselves(
    runs: Path, manifest: Manifest, record: Record, *, tool_mode: str, model_mode: str, timed: bool
) -> None:
    with RunFolder.create(runs, manifest(tool_mode=tool_mode, model_mode=model_mode)) as run:
        for key, outcome, duration in ((("a", 1), "finished", 2.0), (("a", 2), "inconclusive", 3.0)):
            trial, spans, card = record(*key, outcome)
            run.commit(trial.model_copy(update={"duration_s": duration}), spans, card)
        run.commit(*record("b", 1))  # its time is not known
    assert ({"a/1": 2.0} if timed else {}) == real_durations(run)


def test_of_runs_of_one_time_the_later_name_is_compared_with_and_hidden_folders_are_no_runs(
    runs: Path, manifest: Manifest, record: Record
) -> None:
    one = (PlannedTrial(case_id="a", attempt=1),)
    for name, created in (("b", "2"), ("c", "2"), ("a", "2"), ("z", "1")):
        with RunFolder.create(runs, manifest(name, planned=one, created=created)) as run:
            run.commit(*record())
    (runs / "z").rename(runs / ".z")
    (runs / "file").write_text("")
    assert ["a", "b", "c"] == [run.manifest.run for run in runs_in(runs)]
    found = latest_comparable(runs, manifest("mine", planned=one))
    assert found is not None
    assert "c" == found.manifest.run
    assert None is latest_comparable(runs, manifest("mine", planned=()))
    damaged = runs / "c" / "trials" / "a" / "1" / "scorecard.json"
    damaged.write_bytes(damaged.read_bytes()[:-9])
    found = latest_comparable(runs, manifest("mine", planned=one))
    assert found is not None
    assert "b" == found.manifest.run


def test_what_differs_is_shown_short_for_digests_and_whole_for_the_rest(manifest: Manifest) -> None:
    long = "0123456789abcdef"
    (agent, digest, variables) = differences(
        manifest(), manifest(agent=long, agent_digest=long, variables={"b": "2", "a": "1"})
    )
    assert (long, long[:12], "a=1, b=2") == (agent.after, digest.after, variables.after)
    assert "none" == variables.before
    assert () == differences(manifest(), manifest("other", created="later", planned=()))


def test_a_run_is_found_by_its_name_or_its_path_and_the_nearest_names_are_offered(
    runs: Path, folder: RunFolder
) -> None:
    assert folder.path == run_path(runs.parent, "run")
    assert folder.path == run_path(runs.parent / "elsewhere", str(folder.path))
    (runs / ".run").mkdir()
    (runs / "runs").write_text("")
    with pytest.raises(UsageError) as refused:
        run_path(runs.parent, "rum")
    remedy = str(refused.value.remedy)
    assert "run" in remedy
    assert "runs" not in remedy
    assert ".run" not in remedy
