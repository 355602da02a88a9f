"""Evidence built by hand: a case, what was called, and what came back."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.scoring.evidence import Evidence
from harness.suite.agents import AgentVersion
from harness.suite.cases import Case
from harness.suite.suites import Suite
from harness.suite.tools import ToolSpec
from harness.traces.trajectory import Observation, Step, ToolCall, ToolFailure, Trajectory
from harness.traces.trial import Trial

READ = {"type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "default": 5}}}
WRITE = {
    "type": "object",
    "properties": {
        "item": {"type": "string"},
        "quantity": {"type": "integer", "default": 1},
        "tags": {"type": "array", "items": {"type": "string"}, "x-unordered": True},
    },
    "required": ["item"],
    "additionalProperties": False,
}
TOOLS = (
    ToolSpec.model_validate(
        {"name": "find", "effect": "read", "server": "s", "http": {"path": "/find"}, "parameters": READ}
    ),
    ToolSpec.model_validate(
        {"name": "look", "effect": "read", "server": "s", "http": {"path": "/look"}, "parameters": READ}
    ),
    ToolSpec.model_validate(
        {"name": "add", "effect": "write", "server": "s", "http": {"path": "/add"}, "parameters": WRITE}
    ),
    ToolSpec.model_validate({"name": "close", "effect": "write", "server": "s", "http": {"path": "/close"}}),
)

Made = tuple[str, Any] | tuple[str, Any, str]
"""Tool, arguments (a text: what could not be parsed), and the type of the error that came back."""


def _step(index: int, made: Made) -> Step:
    name, arguments, *error = made
    parsed = arguments if isinstance(arguments, dict) else None
    unparsed = None if parsed is not None else arguments
    failure = ToolFailure.model_validate({"type": error[0], "message": "no"}) if error else None
    return Step(
        index=index,
        source="agent",
        calls=(ToolCall(id=str(index), name=name, arguments=parsed, unparsed=unparsed),),
        observations=(Observation(call_id=str(index), content={}, error=failure),),
    )


@pytest.fixture
def evidence() -> Callable[..., Evidence]:
    def build(
        calls: Sequence[Made] = (), case: dict[str, Any] | None = None, answer: Any = "done", **trial: Any
    ) -> Evidence:
        trajectory = Trajectory(
            trace_id="t", agent="a", steps=tuple(_step(i, made) for i, made in enumerate(calls)), final_output=answer
        )
        return Evidence(
            case=Case.model_validate({"id": "c", "task": "do it", **(case or {})}),
            trial=Trial.model_validate(
                {"case_id": "c", "attempt": 1, "outcome": "finished", "trajectory": trajectory, **trial}
            ),
            tools=TOOLS,
        )

    return build


@pytest.fixture
def suite(tmp_path: Path) -> Callable[..., Suite]:
    def build(cases: Sequence[dict[str, Any]] = ({},), **fields: Any) -> Suite:
        return Suite(
            name="s",
            folder=tmp_path,
            agents={"v1": AgentVersion(command=("true",), files=".")},
            tools=TOOLS,
            cases=tuple(Case.model_validate({"id": "c", "task": "do it", **case}) for case in cases),
            digest="d",
            **fields,
        )

    return build
