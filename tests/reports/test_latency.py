"""Durations of a run: only those of live answers, and as they were measured."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.reports.summarising import summarise_run
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import PlannedTrial, RunManifest
from harness.scoring.scorecard import Scorecard, ToolUse
from harness.traces import names
from harness.traces.spans import Span
from harness.traces.trajectory import Observation, Step, ToolCall, Trajectory
from harness.traces.trial import Trial

SECOND = 10**9


def step(index: int, source: Any, ended_s: float | None, **fields: Any) -> Step:
    ended = None if ended_s is None else int(ended_s * SECOND)
    return Step(index=index, source=source, ended_ns=ended, message=fields.pop("message", "x"), **fields)


def calls(*answers: dict[str, Any]) -> Step:
    made = tuple(
        ToolCall(id=str(place), name=one.pop("tool", "find"), arguments={}) for place, one in enumerate(answers)
    )
    seen = tuple(Observation(call_id=str(place), content={}, **one) for place, one in enumerate(answers))
    return step(1, "agent", 3, calls=made, observations=seen)


STEPS = (
    step(0, "user", 1),
    calls(
        {"duration_ms": 10.0, "replayed": "live"},
        {"duration_ms": 20.0},
        {"duration_ms": 30.0, "replayed": "sealed"},
        {"duration_ms": 99.0, "replayed": "exact"},
        {"duration_ms": 98.0, "injected": "late"},
        {"duration_ms": None},
        {"duration_ms": 7.0, "tool": "add"},
    ),
    step(2, "agent", 4.5),  # answers the user after 3.5 s
    step(3, "agent", 9),  # nobody had asked
    Step(index=4, source="user", started_ns=10 * SECOND, message="and?"),
    step(5, "agent", None),  # when it ended is not known
    step(6, "user", 20),
    step(7, "agent", 21.25),
)


@pytest.fixture
def measured(tmp_path: Path, card: Callable[..., Scorecard], manifest: Callable[..., RunManifest]) -> Any:
    def build(tools: str, model: str) -> Any:
        plan = (PlannedTrial(case_id="a", attempt=1),)
        own = manifest(run=f"{tools}-{model}", planned=plan, tool_mode=tools, model_mode=model)
        chunks = [0.25, 0.5, "late", None]
        spans = [
            Span(trace_id="t", span_id=str(n), name="chat", start_ns=1, end_ns=2, attributes={names.FIRST_CHUNK_S: one})
            for n, one in enumerate(chunks)
        ]
        trajectory = Trajectory(trace_id="t", agent="a", steps=STEPS)
        trial = Trial(case_id="a", attempt=1, outcome="finished", trajectory=trajectory, duration_s=1.5)
        with RunFolder.create(tmp_path, own) as folder:
            folder.commit(trial, spans, card("a", tool_use=(ToolUse(tool="find", calls=6),)))
        return summarise_run(RunFolder.open(folder.path))

    return build


@pytest.mark.parametrize(
    ("tools", "model", "first", "turns", "of_tools"),
    [
        ("live", "live", (2, 250, 500), (2, 1250, 3500), (3, 20, 30)),
        ("live", "none", None, (2, 1250, 3500), (3, 20, 30)),
        ("live", "replay", None, (2, 1250, 3500), (3, 20, 30)),
        ("replay", "live", (2, 250, 500), (2, 1250, 3500), None),
        ("replay", "replay", None, None, None),
    ],
)
def test_durations_are_those_of_what_was_live(
    measured: Any, tools: str, model: str, first: Any, turns: Any, of_tools: Any
) -> None:
    found = measured(tools, model)
    shown = None if found.latency is None else (found.latency.first_token, found.latency.turn, found.latency.trial)
    expected = None if first is turns is None else (first, turns, (1, 1500, 1500))
    assert expected == (None if shown is None else tuple(map(spread, shown)))
    by_name = {row.name: spread(row.latency) for row in found.tools}
    assert of_tools == by_name.get("find")


def spread(one: Any) -> Any:
    return None if one is None else (one.n, one.p50_ms, one.p95_ms)
