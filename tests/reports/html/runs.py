"""Stored runs with chosen trials, some of which were written by somebody who wishes the reader ill."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.runs.store.drift_report import DriftFinding, DriftReport, write_drift
from harness.runs.store.folder import RunFolder
from harness.runs.store.judgements import JudgementWriter, keep_rubric
from harness.runs.store.manifest import PlannedTrial, RunManifest
from harness.scoring.evidence import Verdict
from harness.scoring.scorecard import Diagnosis, Score, Scorecard, ToolUse
from harness.traces.trajectory import Observation, Step, ToolCall, ToolFailure, Trajectory
from harness.traces.trial import Trial
from tests.judging.labelling import RUBRIC, judgement

HOSTILE = (
    "</script><script>window.hacked=1</script><!-- <img src=x onerror=window.hacked=1> \u2028 \u202e \udcff &lt;"
    " \x1b[2J \x9b2J \x00 \x7f \u2066gnp\u2069 \u200f \u061c \ufeff"
)
"""Markup, and each kind of character that steers a display: C0, C1, line separators, bidirectional controls."""


def manifest(keys: Sequence[tuple[str, int]], run: str = "tour", **fields: Any) -> RunManifest:
    values = {
        "run": run,
        "created": "2026-01-31T12:00:00Z",
        "harness_version": "0.1.0",
        "suite": "s",
        "suite_digest": "d1",
        "agent": "v1",
        "agent_digest": "a1",
        "snapshot_digest": "s1",
        "tools_digest": "t1",
        "tool_mode": "replay",
        "provider": "docker",
        "isolates": True,
        "scorer_versions": {"metric:steps": "1"},
        "planned": tuple(PlannedTrial(case_id=case, attempt=attempt) for case, attempt in keys),
        **fields,
    }
    return RunManifest.model_validate(values)


def steps(said: str, result: Any, *, error: bool = False) -> tuple[Step, ...]:
    """The user asks; the agent thinks, plans, calls a tool and answers."""
    failure = ToolFailure(type="tool_error", message=f"refused: {said}") if error else None
    call = ToolCall(id="c", name="look_up", arguments={"query": said, "at": 12345678901234567890})
    seen = Observation(call_id="c", content=result, error=failure, replayed="exact", duration_ms=0.5)
    return (
        Step(index=0, source="user", message=said, started_ns=0, ended_ns=1_000_000),
        Step(
            index=1,
            source="agent",
            thought=f"thinking of {said}",
            plan=("look it up", said),
            calls=(call,),
            observations=(seen,),
            started_ns=2_000_000,
            ended_ns=9_000_000,
        ),
        Step(index=2, source="agent", message=f"Here: {said}", started_ns=9_000_000, ended_ns=9_500_000),
    )


def trial(case: str, attempt: int, said: str, result: Any, *, error: bool = False) -> Trial:
    trajectory = Trajectory(trace_id="t1", agent="s", steps=steps(said, result, error=error), final_output=said)
    states = {"order": {"items": [said]}}
    return Trial(
        case_id=case,
        attempt=attempt,
        outcome="finished",
        duration_s=1.0 + len(said) % 7 + attempt,
        trajectory=trajectory,
        states=states,
        tiers={"exact": 1},
    )


def card(case: str, attempt: int, *, success: bool, said: str, category: str = "simple_order") -> Scorecard:
    found = Diagnosis(
        failure="loop_trap",
        kind="repeated_call",
        origin_step=1,
        dependent_steps=(2,),
        evidence=f"seen: {said}",
        confidence=0.9,
        version="1",
    )
    return Scorecard(
        case_id=case,
        attempt=attempt,
        category=category,
        tags=("breakfast",),
        outcome="finished",
        success=success,
        verdicts=(Verdict(check="order", verifier="v", version="1", passed=success, reason=f"reason: {said}"),),
        scores=(
            Score(metric="step_efficiency", version="1", value=1.0 if success else 0.5, explanation=said),
            Score(metric="steps", version="1", value=2.0, lower_is_better=True),
        ),
        diagnoses=() if success else (found,),
        tool_use=(ToolUse(tool="look_up", calls=1),),
        digest="d",
    )


def store(root: Path, run: str = "tour", trials: int = 6, said: str = "an egg", **fields: Any) -> RunFolder:
    """A run in which every third trial fails, or those that are `failing`, in two categories; of those that are
    `undecided` nobody knows whether they succeeded.
    """
    keys = [(f"case-{number:04d}", 1) for number in range(trials)]
    failing = fields.pop("failing", range(2, trials, 3))
    undecided = fields.pop("undecided", ())
    result = fields.pop("result", {"items": [{"id": "egg", "price": 1.0}], "note": said})
    with RunFolder.create(root, manifest(keys, run, **fields)) as folder:
        for number, (case, attempt) in enumerate(keys):
            category = "simple_order" if number % 2 else "multi_item"
            fails = number in failing
            own = trial(case, attempt, said, result, error=fails)
            scored = card(case, attempt, success=not fails, said=said, category=category)
            if number in undecided:
                verdicts = tuple(one.model_copy(update={"passed": None}) for one in scored.verdicts)
                scored = scored.model_copy(update={"success": None, "verdicts": verdicts})
            folder.commit(own, (), scored)
    return RunFolder.open(root / run)


def judge(folder: RunFolder, said: str = "no greeting") -> RunFolder:
    """Of the first trial the order is complete and the guest not greeted; of the second the judge could not tell."""
    given = [("case-0000", "polite", "fail"), ("case-0000", "complete", "pass")]
    given += [("case-0001", "complete", "judge_failed"), ("case-0001", "polite", "not_eligible")]
    keep_rubric(folder.path, RUBRIC)
    with JudgementWriter(folder.path, RUBRIC.name) as writer:
        for case, criterion, answer in given:
            one = judgement(case, answer, criterion=criterion)
            writer.add(one.model_copy(update={"rationale": said, "spans": ("step:2", "elsewhere")}))
    return folder


def died(root: Path, logs: dict[str, str]) -> RunFolder:
    """A run of one trial that the harness failed for a service."""
    why = "service 'desk' ended"
    nothing = Trajectory(trace_id="", agent="s", steps=())
    own = Trial(
        case_id="case-0000", attempt=1, outcome="harness_failed", reason=why, trajectory=nothing, service_logs=logs
    )
    failed = Scorecard(
        case_id="case-0000",
        attempt=1,
        category="simple_order",
        outcome="harness_failed",
        reason=why,
        success=None,
        verdicts=(),
        scores=(),
        digest="d",
    )
    with RunFolder.create(root, manifest([("case-0000", 1)], "died")) as folder:
        folder.commit(own, (), failed)
    return RunFolder.open(root / "died")


def mocked_and_live(root: Path) -> tuple[RunFolder, RunFolder]:
    """A tool lost a field, and with it a case its success; another case failed for reasons of its own."""
    mocked, live = store(root, "mock", failing=()), store(root, "live", failing=(1, 4), tool_mode="live")
    finding = DriftFinding(
        tool="look_up",
        operation="look_up",
        change="schema.removed",
        severity="breaking",
        path="$.price",
        old_kind="number",
        new_kind="absent",
        cases=("case-0001",),
        flips=("case-0001",),
    )
    report = DriftReport(
        suite="s",
        run="live",
        seen=datetime(2026, 1, 31, tzinfo=UTC),
        command="harness drift compare live",
        findings=(finding,),
        exercised={"look_up": ("look_up $.price",)},
    )
    write_drift(live.path, report)
    return mocked, live
