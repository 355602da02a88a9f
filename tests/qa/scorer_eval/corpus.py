"""The runs that the detectors are evaluated on: where they are, how they are read in common, and how they are split.

Nothing of the data is copied into the repository; HARNESS_REAL_DATA says where it is.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from harness.case import Case, HttpRoute, ReferenceCall, ToolSpec
from harness.score.evidence import Evidence, Verdict
from harness.trace import Observation, Step, ToolCall, ToolFailure, Trajectory, Trial

Split = Literal["development", "held-out"]
DEVELOPMENT_SHARE = 0.8


def data_folder() -> Path:
    """The folder of real runs; may be absent."""
    default = Path(__file__).resolve().parents[4] / "shared" / "data"
    return Path(os.environ.get("HARNESS_REAL_DATA", default))


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of somebody's agent, as evidence without verdicts: no detector sees whether it succeeded."""

    dataset: str
    id: str
    evidence: Evidence
    success: bool | None = None
    domain: str = ""
    label: Mapping[str, Any] = field(default_factory=dict)

    @property
    def split(self) -> Split:
        """By the hash of the run's id: fixed, and independent of what is in the run."""
        return split_of(f"{self.dataset}/{self.id}")


def split_of(name: str) -> Split:
    """80 % of the runs are for development: thresholds are chosen on these alone."""
    share = int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) / 0x1_0000_0000
    return "development" if share < DEVELOPMENT_SHARE else "held-out"


def failed(evidence: Evidence) -> Evidence:
    """The same evidence with a check that failed, for detectors that explain a failure."""
    verdict = Verdict(check="reward", verifier="recorded", version="1", passed=False, reason="recorded as failed")
    return evidence.model_copy(update={"verdicts": (verdict,)})


def evidence_of(
    id: str,
    task: str,
    steps: Iterable[Step],
    *,
    tools: Iterable[ToolSpec] = (),
    reference: Iterable[ReferenceCall] | None = None,
    final: str | None = None,
) -> Evidence:
    """Evidence of a finished trial."""
    case = Case(
        id=re.sub(r"[^A-Za-z0-9._-]", "-", id)[:99].lstrip("-._") or "x",
        task=task or "(no task)",
        reference=None if reference is None else tuple(reference),
    )
    trajectory = Trajectory(trace_id=id, agent="recorded", steps=tuple(steps), final_output=final)
    trial = Trial(case_id=case.id, attempt=1, outcome="finished", trajectory=trajectory)
    return Evidence(case=case, trial=trial, tools=tuple(tools))


def tool(name: str, parameters: Mapping[str, Any] | None = None, *, writes: bool, description: str = "") -> ToolSpec:
    """A declaration; `parameters` None: the schema is not known, so that it is open."""
    schema = {"type": "object", "additionalProperties": True} if parameters is None else dict(parameters)
    return ToolSpec(
        name=name,
        description=description,
        parameters=schema,
        effect="write" if writes else "read",
        server="recorded",
        http=HttpRoute(path="/"),
    )


def call(id: str, name: str, arguments: object) -> ToolCall:
    """A call whose arguments are an object or text."""
    if isinstance(arguments, str):
        try:
            parsed = json.loads(arguments)
        except ValueError:
            parsed = None
        if not isinstance(parsed, dict):
            return ToolCall(id=id, name=name, arguments=None, unparsed=arguments)
        arguments = parsed
    if not isinstance(arguments, dict):
        return ToolCall(id=id, name=name, arguments=None, unparsed=repr(arguments))
    return ToolCall(id=id, name=name, arguments=arguments)


def observation(id: str, content: object, *, error: bool) -> Observation:
    """An answer; JSON text is read as JSON."""
    value: Any = content
    if isinstance(content, str):
        try:
            value = json.loads(content)
        except ValueError:
            value = content
    failure = ToolFailure(type="tool_error", message=str(content)[:500]) if error else None
    return Observation(call_id=id, content=value, error=failure)
