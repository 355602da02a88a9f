"""Little runs written by hand: a shop with orders, an agent that reads and changes them, a user who asks."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from harness.scoring.evidence import Evidence, Verdict
from harness.scoring.findings.facts import diagnose
from harness.scoring.scorecard import Diagnosis
from harness.suite.cases import Case, ReferenceCall
from harness.suite.tools import ToolSpec
from harness.traces.trajectory import Observation, Step, ToolCall, ToolFailure, Trajectory
from harness.traces.trial import Trial

Turn = tuple[Any, ...]
"""("user", text), ("agent", text), or ("call", name, arguments, answer[, error message])."""


def _tool(name: str, effect: str, *parameters: str) -> ToolSpec:
    return ToolSpec.model_validate(
        {
            "name": name,
            "effect": effect,
            "server": "shop",
            "http": {"path": f"/{name}"},
            "parameters": {"type": "object", "properties": {one: {"type": "string"} for one in parameters}},
        }
    )


TOOLS = (
    _tool("find_customer", "read", "email"),
    _tool("get_order", "read", "order_id"),
    _tool("get_stock", "read", "item_id"),
    _tool("cancel_order", "write", "order_id", "reason"),
    _tool("update_order", "write", "order_id", "address"),
    _tool("run_tests", "read"),
    _tool("edit_file", "write", "text"),
    _tool("shell", "write", "command"),
)
TASK = "Please cancel my order W1000001 and tell me when the money comes back."


def _steps(turns: Sequence[Turn]) -> list[Step]:
    steps = []
    for index, turn in enumerate(turns):
        match turn:
            case ("call", name, arguments, *answer):
                call = ToolCall(
                    id=f"c{index}",
                    name=name,
                    arguments=arguments if isinstance(arguments, dict) else None,
                    unparsed=None if isinstance(arguments, dict) else arguments,
                )
                error = ToolFailure(type="tool_error", message=answer[1]) if len(answer) > 1 else None
                seen = (Observation(call_id=call.id, content=answer[0], error=error),) if answer else ()
                steps.append(Step(index=index, source="agent", calls=(call,), observations=seen))
            case (source, text):
                steps.append(Step(index=index, source=source, message=text))
    return steps


@pytest.fixture(scope="session")
def told() -> Callable[..., Evidence]:
    """Evidence of the turns; keyword arguments: task, reference (tool, arguments), tools, failed."""

    def build(
        *turns: Turn,
        task: str = TASK,
        reference: Sequence[tuple[str, dict[str, Any]]] | None = None,
        tools: Sequence[ToolSpec] = TOOLS,
        failed: bool = False,
    ) -> Evidence:
        calls = None
        if reference is not None:
            calls = tuple(ReferenceCall(id=str(n), tool=name, arguments=a) for n, (name, a) in enumerate(reference))
        case = Case(id="order", task=task, reference=calls)
        trial = Trial(
            case_id="order",
            attempt=1,
            outcome="finished",
            trajectory=Trajectory(trace_id="t", agent="a", steps=tuple(_steps(turns))),
        )
        verdict = Verdict(check="state", verifier="state", version="1", passed=False, reason="the order still stands")
        return Evidence(case=case, trial=trial, tools=tuple(tools), verdicts=(verdict,) if failed else ())

    return build


@pytest.fixture(scope="session")
def found(told: Callable[..., Evidence]) -> Callable[..., list[tuple[str, int | None]]]:
    """(kind, origin step) of every finding in the turns."""

    def run(*turns: Turn, **options: Any) -> list[tuple[str, int | None]]:
        return [(one.kind, one.origin_step) for one in diagnose(told(*turns, **options))]

    return run


@pytest.fixture(scope="session")
def diagnosed(told: Callable[..., Evidence]) -> Callable[..., tuple[Diagnosis, ...]]:
    """Every finding in the turns."""

    def run(*turns: Turn, **options: Any) -> tuple[Diagnosis, ...]:
        return diagnose(told(*turns, **options))

    return run
