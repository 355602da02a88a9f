"""Manifests, trials and scorecards to put on disk."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.runs.store.manifest import PlannedTrial, RunManifest
from harness.scoring.scorecard import Score, Scorecard
from harness.traces.spans import Span
from harness.traces.trajectory import Trajectory
from harness.traces.trial import Trial
from tests.reports.html.runs import manifest as stored_manifest

PLAN = tuple(PlannedTrial(case_id=case, attempt=attempt) for case in ("b", "a") for attempt in (1, 2))


@pytest.fixture
def manifest() -> Callable[..., RunManifest]:
    def build(run: str = "run", **fields: Any) -> RunManifest:
        known: dict[str, Any] = {"scorer_versions": {"metric:m": "1"}, "planned": PLAN}
        return stored_manifest((), run, **known | fields)

    return build


Record = tuple[Trial, tuple[Span, ...], Scorecard]


@pytest.fixture
def record() -> Callable[..., Record]:
    def build(case_id: str = "a", attempt: int = 1, outcome: Any = "finished", value: float | None = 1.0) -> Record:
        trajectory = Trajectory(trace_id="t", agent="s", steps=(), final_output="caf\u00e9 \udcff \x00")
        trial = Trial(case_id=case_id, attempt=attempt, outcome=outcome, trajectory=trajectory)
        spans = (Span(trace_id="t", span_id="1", name="turn", start_ns=1, end_ns=2, attributes={"m": "a\nb"}),) * 2
        card = Scorecard(
            case_id=case_id,
            attempt=attempt,
            category="general",
            outcome=outcome,
            success=None if value is None else value == 1.0,
            scores=(Score(metric="m", version="1", value=value),),
            digest=trajectory.digest,
        )
        return trial, spans, card

    return build


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"
