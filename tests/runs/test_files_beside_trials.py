"""What a run folder holds beside its trials: why it stopped, what it was allowed, causes, drift, judgements."""

import gc
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ResultsError, UsageError
from harness.judging.verdicts import JudgeIdentity, Judgement
from harness.runs.store.beside_trials import (
    KeptCause,
    Stop,
    cause_of,
    keep_cause,
    stop_of,
    stop_reason,
    write_stop,
)
from harness.runs.store.drift_report import DriftFinding, DriftReport, read_drift, write_drift
from harness.runs.store.folder import RunFolder, gc_paused
from harness.runs.store.judgements import JudgementWriter, judged_rubrics, latest, read_judgements
from harness.runs.store.manifest import RunManifest

Manifest = Callable[..., RunManifest]
Record = Callable[..., Any]


@pytest.fixture
def folder(runs: Path, manifest: Manifest, record: Record) -> RunFolder:
    with RunFolder.create(runs, manifest()) as made:
        made.commit(*record())
        return made


def cause(**fields: Any) -> KeptCause:
    values = {
        "case_id": "a",
        "attempt": 1,
        "symptom": "check",
        "steps": (3,),
        "kinds": ("tool",),
        "words": "the price",
        "mended": 3,
        "repeats": 3,
        "p_value": 0.05,
    }
    return KeptCause.model_validate(values | fields)


def test_a_cause_is_kept_until_a_later_answer_replaces_or_removes_it(folder: RunFolder) -> None:
    assert None is cause_of(folder, "a", 1)
    for kept in (cause(), cause(words="the date"), None, None):
        keep_cause(folder, "a", 1, kept)
        assert kept == cause_of(folder, "a", 1)
    assert None is cause_of(folder, "a", 2)


def test_why_a_run_stopped_is_known_until_a_later_part_of_it_ends_whole(folder: RunFolder) -> None:
    assert (None, None) == (stop_of(folder), stop_reason(folder))
    stop = Stop(reason="budget")
    write_stop(folder, stop)
    assert (stop, stop.reason) == (stop_of(folder), stop_reason(folder))
    for _ in range(2):
        write_stop(folder, None)
        assert None is stop_reason(folder)


def finding(path: str = "$.total", **fields: Any) -> DriftFinding:
    values = {
        "tool": "menu",
        "operation": "GET /menu",
        "change": "schema.removed",
        "severity": "breaking",
        "path": path,
        "old_kind": "number",
        "new_kind": "absent",
    }
    return DriftFinding.model_validate(values | fields)


def drift_report(*covered: str) -> DriftReport:
    return DriftReport(
        suite="s",
        run="run",
        seen=datetime(2026, 1, 31, tzinfo=UTC),
        command="harness drift compare run",
        findings=(finding(before=3, cases=("a",)),),
        exercised={"menu": covered},
    )


@pytest.mark.parametrize(
    ("path", "covered", "expected"),
    [
        ("$.items.price", "GET /menu $.items.price", True),
        ("$.items.price", "GET /menu $.items", True),
        ("$.items.price", "GET /menu $", False),
        ("$.items.price", "POST /menu $.items.price", False),
        ("$.items[]", "GET /menu $.items[]", True),
        ("$.items[]", "GET /menu $.items", False),
        ("$.of['a.b']", "GET /menu $.of", True),
        ("$.of['a.b']", "GET /menu $.of['a", False),
    ],
)
def test_a_check_covers_a_finding_whose_path_or_holder_was_answered(path: str, covered: str, *, expected: bool) -> None:
    assert expected == drift_report(covered).covers(finding(path))
    assert not drift_report(covered).covers(finding(path, tool="order"))


def test_a_fingerprint_says_what_changed_and_not_where_it_was_seen() -> None:
    same = finding(before=1, after=2, cases=("a", "b"), samples=4, severity="info")
    assert finding().fingerprint == same.fingerprint
    others = [finding("$.sum"), finding(tool="order"), finding(new_kind="text"), finding(change="schema.added")]
    assert 5 == len({finding().fingerprint, *(one.fingerprint for one in others)})


def test_a_drift_report_is_read_from_its_folder_or_file_and_its_absence_names_the_remedy(folder: RunFolder) -> None:
    with pytest.raises(UsageError) as refused:
        read_drift(folder.path)
    assert "harness drift compare" in str(refused.value.remedy)
    path = write_drift(folder.path, drift_report("GET /menu $"))
    assert drift_report("GET /menu $") == read_drift(folder.path) == read_drift(path)
    path.unlink()
    path.symlink_to(folder.path / "manifest.json")
    with pytest.raises(ResultsError):
        read_drift(folder.path)


def judgement(criterion: str = "polite", **fields: Any) -> Judgement:
    values = {
        "run": "run",
        "case_id": "a",
        "attempt": 1,
        "trajectory": "t",
        "rubric": "counter",
        "rubric_version": "1",
        "rubric_digest": "d",
        "criterion": criterion,
        "criterion_version": "1",
        "eligible": True,
        "passed": True,
        "judge": JudgeIdentity(model="m"),
    }
    return Judgement.model_validate(values | fields)


def test_the_line_that_a_killed_judge_left_unfinished_is_passed_over_and_ended_by_the_next(folder: RunFolder) -> None:
    first, second = judgement(), judgement(passed=False)
    with JudgementWriter(folder.path, "counter") as writer:
        writer.add(first)
    path = folder.path / "judgements" / "counter.jsonl"
    with path.open("ab") as stream:
        stream.write(path.read_bytes()[:20])
    for one in (second, judgement("brief")):
        with JudgementWriter(folder.path, "counter") as writer:
            writer.add(one)
    read = list(read_judgements(folder.path, "counter"))
    assert [first, second, judgement("brief")] == read
    assert [second, judgement("brief")] == list(latest(read).values())
    assert 4 == path.read_bytes().count(b"\n")
    assert ("counter",) == judged_rubrics(folder.path)


def test_two_judges_do_not_write_one_file_and_a_damaged_line_is_named(folder: RunFolder) -> None:
    with JudgementWriter(folder.path, "counter") as writer:
        writer.add(judgement())
        with pytest.raises(ResultsError) as refused:
            JudgementWriter(folder.path, "counter")
        assert "wait" in str(refused.value.remedy)
    path = folder.path / "judgements" / "counter.jsonl"
    path.write_bytes(path.read_bytes() + path.read_bytes().replace(b'"attempt":1', b'"attempt":"x"'))
    with pytest.raises(ResultsError, match=r"counter\.jsonl:2: field 'judgement\.attempt'"):
        list(read_judgements(folder.path, "counter"))
    assert [] == list(read_judgements(folder.path, "other"))


def test_the_search_for_cycles_goes_on_after_the_outermost_pause_alone() -> None:
    assert gc.isenabled()
    with gc_paused():
        with gc_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
