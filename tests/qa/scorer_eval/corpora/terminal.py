"""Runs in a terminal: kimi's Terminal-Bench runs (ATIF) and SWE-agent's demonstrations."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpus import Run, call, evidence_of, observation

from harness.trace import Observation, Step, ToolCall


def kimi(data: Path) -> Iterator[Run]:
    """19 runs; tool errors are flagged by the recorder."""
    for folder in sorted((data / "kimi_terminal_bench").iterdir()):
        if not folder.is_dir():
            continue
        raw = json.loads((folder / "agent" / "trajectory.json").read_text())
        result = json.loads((folder / "result.json").read_text())
        rewards = ((result.get("verifier_result") or {}).get("rewards")) or {}
        steps = [_atif(step) for step in raw["steps"]]
        task = next((step.message for step in steps if step.source == "user" and step.message), "")
        yield Run(
            dataset="kimi",
            id=folder.name,
            domain="terminal",
            success=None if "reward" not in rewards else rewards["reward"] == 1.0,
            evidence=evidence_of(folder.name, task, steps),
        )


def sweagent(data: Path) -> Iterator[Run]:
    """Demonstrations, all of which reached their goal."""
    for path in sorted((data / "sweagent").rglob("*.traj")):
        raw = json.loads(path.read_text())
        if "trajectory" not in raw:  # a history alone, without observations told apart
            continue
        yield Run(
            dataset="sweagent",
            id=f"{path.parent.name}/{path.stem}",
            domain="repair",
            success=True,
            evidence=evidence_of(path.stem, "solve the issue", _turns(raw["trajectory"])),
        )


def _atif(raw: dict[str, Any]) -> Step:
    failed = bool((raw.get("extra") or {}).get("tool_result_is_error"))
    calls = tuple(
        call(one["tool_call_id"], one["function_name"], one["arguments"]) for one in raw.get("tool_calls") or ()
    )
    results = (raw.get("observation") or {}).get("results") or ()
    message = raw.get("message")
    narrated = isinstance(message, str) and message.startswith("Executed ") and calls
    return Step(
        index=raw["step_id"],
        source=raw["source"],
        message=None if narrated or not isinstance(message, str) else message or None,
        thought=raw.get("reasoning_content") or None,
        calls=calls,
        observations=tuple(
            observation(one.get("source_call_id") or calls[0].id, one.get("content"), error=failed) for one in results
        )
        if calls
        else (),
    )


def _turns(turns: list[dict[str, Any]]) -> Iterator[Step]:
    for index, turn in enumerate(turns):
        action = (turn.get("action") or "").strip()
        one = ToolCall(
            id=str(index), name=action.split(maxsplit=1)[0] if action else "none", arguments={"command": action}
        )
        seen = Observation(call_id=str(index), content=turn.get("observation") or "")
        yield Step(
            index=index,
            source="agent",
            thought=turn.get("thought") or None,
            calls=(one,) if action else (),
            observations=(seen,) if action else (),
        )
