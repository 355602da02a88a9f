"""The baseline that is kept of a run, and what refuses one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import NotMeasured, UsageError
from harness.runs.store.baseline import (
    baseline_of,
    read_baseline,
    write_baseline,
)
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import RunManifest

Manifest = Callable[..., RunManifest]
Record = Callable[..., Any]
OUTCOMES = ("finished", "limit_reached", "agent_failed", "inconclusive")


@pytest.fixture
def run(runs: Path, manifest: Manifest, record: Record) -> RunFolder:
    """Four trials, of which one was not measured."""
    with RunFolder.create(runs, manifest()) as made:
        keys = [(case, attempt) for case in ("a", "b") for attempt in (1, 2)]
        for (case, attempt), outcome in zip(keys, OUTCOMES, strict=True):
            made.commit(*record(case, attempt, outcome, None if outcome == "inconclusive" else 1.0))
        return made


def test_a_run_with_unmeasured_trials_is_a_baseline_only_where_so_many_are_allowed(
    run: RunFolder, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as refused:
        baseline_of(run)
    assert "--allow-unmeasured 1" in str(refused.value.remedy)
    kept = baseline_of(run, 1)
    assert 4 == len(kept.scorecards)
    write_baseline(tmp_path, kept)
    assert kept == read_baseline(tmp_path, "s", "d1")


def test_a_baseline_that_stores_every_default_is_read_and_rewritten_without_them(
    run: RunFolder, tmp_path: Path
) -> None:
    kept = baseline_of(run, 1)
    path = write_baseline(tmp_path, kept)
    short = path.read_bytes()
    full = json.loads(short)
    full["scorecards"] = [card.model_dump(mode="json") for card in kept.scorecards]
    assert not {"tool_use", "diagnoses"} & set().union(*json.loads(short)["scorecards"])
    path.write_text(json.dumps(full))
    assert kept == read_baseline(tmp_path, "s", "d1")
    assert short == write_baseline(tmp_path, read_baseline(tmp_path, "s", "d1")).read_bytes()


def test_a_run_that_measured_nothing_is_no_baseline_whatever_is_allowed(
    runs: Path, manifest: Manifest, record: Record
) -> None:
    with RunFolder.create(runs, manifest()) as run:
        run.commit(*record("a", 1, "inconclusive", None))
        with pytest.raises(UsageError):
            baseline_of(run, 4)


def test_an_outdated_or_missing_baseline_are_refused(run: RunFolder, tmp_path: Path) -> None:
    for digest in ("d1", None):
        with pytest.raises(NotMeasured):
            read_baseline(tmp_path, "s", digest)
    path = write_baseline(tmp_path, baseline_of(run, 1))
    with pytest.raises(NotMeasured):
        read_baseline(tmp_path, "s", "d2")
    assert "run" == read_baseline(tmp_path, "s").manifest.run
    path.rename(tmp_path / "elsewhere.json")
    path.symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(NotMeasured):
        read_baseline(tmp_path, "s", "d1")
