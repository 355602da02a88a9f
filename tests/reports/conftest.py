"""Runs in memory: a manifest and scorecards with chosen successes and values."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from harness.runs.store.manifest import PlannedTrial, RunManifest
from harness.scoring.evidence import Verdict
from harness.scoring.scorecard import Score, Scorecard


@pytest.fixture
def card() -> Callable[..., Scorecard]:
    def build(case: str, success: bool | None = True, attempt: int = 1, **fields: Any) -> Scorecard:
        measured = fields.get("outcome", "finished") not in ("inconclusive", "harness_failed")
        figures = fields.pop("figures", {"own_figure": None if success is None else float(success)})
        values: dict[str, Any] = {
            "category": "simple",
            "outcome": "finished",
            "success": success if measured else None,
            "verdicts": (Verdict(check="k", verifier="v", version="1", passed=success, reason="as seen"),),
            "scores": tuple(
                Score(metric=name, version="1", value=value if measured else None) for name, value in figures.items()
            ),
            "digest": "d",
        }
        return Scorecard(case_id=case, attempt=attempt, **{**values, **fields})

    return build


@pytest.fixture
def manifest() -> Callable[..., RunManifest]:
    def build(cards: Sequence[Scorecard] = (), run: str = "run", **fields: Any) -> RunManifest:
        values = {
            "run": run,
            "created": "2026-01-31T12:00:00Z",
            "harness_version": "0.1.0",
            "suite": "drive_thru",
            "suite_digest": "d" * 64,
            "agent": "v1",
            "agent_digest": "a" * 64,
            "snapshot": "breakfast",
            "snapshot_digest": "e" * 64,
            "tools_digest": "f" * 64,
            "tool_mode": "replay",
            "provider": "docker",
            "isolates": True,
            "scorer_versions": {"verifier:v": "1", "metric:own_figure": "1"},
            "planned": tuple(PlannedTrial(case_id=one.case_id, attempt=one.attempt) for one in cards),
            **fields,
        }
        return RunManifest.model_validate(values)

    return build
