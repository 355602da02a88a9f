"""Harbor's `result.json`, which is stored beside a trajectory: the task's name, the reward, and how the trial ended."""

from dataclasses import dataclass
from pathlib import Path

from harness.ingest.naming import wall_ns
from harness.ingest.reading import Record, kind_of, read_json
from harness.trace import Outcome


@dataclass(frozen=True, kw_only=True)
class HarborResult:
    """The content of the result; empty where no result exists."""

    task_name: str | None = None
    trial_name: str | None = None
    reward: float | None = None
    outcome: Outcome = "finished"
    reason: str | None = None
    duration_s: float | None = None


def harbor_result(trajectory: Path) -> HarborResult:
    """The result next to the trajectory, or one folder up where the trajectory is in `agent/`."""
    folders = (
        (trajectory.parent, trajectory.parent.parent) if trajectory.parent.name == "agent" else (trajectory.parent,)
    )
    for folder in folders:
        path = folder / "result.json"
        if path.is_file() and path != trajectory:
            return _result(path)
    return HarborResult()


def _result(path: Path) -> HarborResult:
    document = read_json(path)
    if not isinstance(document, dict):
        raise Record(path=path, data={}).refusal("", f"the document is {kind_of(document)}, not a result")
    result = Record(path=path, data=document)
    verifier = result.record("verifier_result")
    rewards = verifier.record("rewards") if verifier else None
    exception = result.record("exception_info")
    kind = (exception.text("exception_type") or "an exception") if exception else None
    times = result.record("agent_execution")
    began, ended = (wall_ns(times.value(name)) if times else None for name in ("started_at", "finished_at"))
    return HarborResult(
        task_name=result.text("task_name"),
        trial_name=result.text("trial_name"),
        reward=rewards.number("reward", *rewards.data) if rewards else None,
        outcome=_outcome(kind),
        reason=kind,
        duration_s=None if began is None or ended is None else (ended - began) / 1e9,
    )


def _outcome(exception: str | None) -> Outcome:
    if exception is None:
        return "finished"
    if "Timeout" in exception:
        return "limit_reached"
    return "agent_failed" if "Agent" in exception else "harness_failed"
