"""A good trial perturbed in one way at a time, and the metrics that each perturbation moves: a table for people too.

What a row does not name keeps the value of the unperturbed trial.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.scoring.evidence import Evidence
from harness.scoring.registry import METRICS
from harness.scoring.scorecard import Scorecard
from harness.scoring.scorer import build_scorer
from harness.suite.agents import AgentVersion
from harness.suite.cases import Case, CheckSpec
from harness.suite.suites import Suite
from harness.traces.trajectory import Observation, Step, ToolCall, ToolFailure, Trajectory, Usage
from harness.traces.trial import Trial
from tests.scoring.conftest import TOOLS

REFERENCE = [
    {"id": "1", "tool": "find", "arguments": {"query": "egg"}},
    {"id": "2", "tool": "look", "arguments": {"query": "ham"}},
    {"id": "3", "tool": "add", "arguments": {"item": "egg", "quantity": 2}, "after": ["1", "2"]},
    {"id": "4", "tool": "close", "after": ["3"]},
]
ROUTES = [{"when": 1, "agents": []}]
PLAN = ("find the egg", "look for ham", "add the egg", "close it")
FIND, LOOK = ("find", {"query": "egg"}), ("look", {"query": "ham"})
ADD, CLOSE = ("add", {"item": "egg", "quantity": 2}), ("close", {})
GOOD = (FIND, LOOK, ADD, CLOSE)


@dataclass(frozen=True, kw_only=True)
class Told:
    """One trial as it is told: what is not said is as in the good one."""

    calls: Sequence[tuple[Any, ...]] = GOOD
    plan: tuple[str, ...] | None = PLAN
    answer: str | None = "done"
    outcome: str = "finished"
    tokens: int = 100
    replies: int = 1
    passed_to: str | None = None
    """The sub-agent that makes the calls; the case's route expects none."""
    case: dict[str, Any] = field(default_factory=dict)


def scorecard(told: Told) -> Scorecard:
    """The trial as it is told, scored with all metrics and two checks."""
    case = Case.model_validate({"id": "c", "task": "do it", "reference": REFERENCE, "routes": ROUTES, **told.case})
    steps = [Step(index=0, source="user", message="do it")]
    steps += [_step(index, told, made) for index, made in enumerate(told.calls, start=1)]
    for _ in range(told.replies if told.answer is not None else 0):
        usage = Usage(input_tokens=told.tokens // 2, output_tokens=told.tokens // 2, cost_usd=told.tokens / 1000)
        steps.append(Step(index=len(steps), source="agent", message=told.answer, usage=usage))
    trajectory = Trajectory(trace_id="t", agent="a", steps=tuple(steps), final_output=told.answer)
    trial = Trial.model_validate({"case_id": "c", "attempt": 1, "outcome": told.outcome, "trajectory": trajectory})
    suite = Suite(
        name="s",
        folder=Path(),
        agents={"v1": AgentVersion(command=("true",), files=".")},
        tools=TOOLS,
        cases=(case,),
        checks=(
            CheckSpec.model_validate({"name": "way", "verifier": "trajectory", "with": {"mode": "dag"}}),
            CheckSpec.model_validate({"name": "said", "verifier": "final_answer", "with": {"contains": "done"}}),
        ),
        digest="d",
    )
    return build_scorer(suite).score(Evidence(case=case, trial=trial, tools=TOOLS))


def values(told: Told) -> dict[str, float | None]:
    """Metric -> value, to three digits."""
    return {one.metric: None if one.value is None else round(one.value, 3) for one in scorecard(told).scores}


def expected(told: Told, moved: dict[str, float | None]) -> dict[str, float | None]:
    """Every metric's value: that of the good trial, but for those that move."""
    without_plan = dict.fromkeys(("plan_quality", "plan_coverage", "plan_order", "plan_adherence"))
    return GOOD_VALUES | (without_plan if told.plan is None else {}) | moved


def _step(index: int, told: Told, made: tuple[Any, ...]) -> Step:
    name, arguments, *error = made
    parsed = arguments if isinstance(arguments, dict) else None
    failure = ToolFailure.model_validate({"type": error[0], "message": "no"}) if error else None
    return Step(
        index=index,
        source="agent",
        agent=told.passed_to,
        plan=told.plan if index == 1 else None,
        calls=(
            ToolCall(id=str(index), name=name, arguments=parsed, unparsed=None if parsed is not None else arguments),
        ),
        observations=(Observation(call_id=str(index), content={"of": name}, error=failure),),
    )


GOOD_VALUES = {
    **dict.fromkeys(METRICS, 1.0),
    "redundancy": 0.0,
    "recovery": None,  # no error was met
    "steps": 4.0,
    "tokens": 100.0,
    "cost_usd": 0.1,
}


FAILS = {"task_success": 0.0, "step_efficiency": None}  # a failed trial's length says nothing

TABLE: dict[str, tuple[Told, dict[str, float | None]]] = {
    "swap two calls that have no order": (
        Told(calls=(LOOK, FIND, ADD, CLOSE)),
        {"plan_adherence": 0.75, "plan_quality": 0.917},
    ),
    "swap two calls that have one": (
        Told(calls=(FIND, LOOK, CLOSE, ADD), plan=None),
        {
            **FAILS,
            "effect_match": 0.0,
            "call_match": 0.75,
            "call_precision": 0.75,
            "call_recall": 0.75,
            "partial_credit": 0.75,
            "termination": 0.0,
        },
    ),
    "drop a milestone": (
        Told(calls=(FIND, LOOK, CLOSE), plan=None),
        {
            **FAILS,
            "effect_match": 0.0,
            "call_match": 0.857,
            "call_recall": 0.75,
            "partial_credit": 0.857,
            "termination": 0.0,
            "steps": 3.0,
        },
    ),
    "repeat a read": (
        Told(calls=(FIND, FIND, LOOK, ADD, CLOSE)),
        {
            **FAILS,
            "redundancy": 0.2,
            "call_match": 0.889,
            "call_precision": 0.8,
            "partial_credit": 0.889,
            "steps": 5.0,
        },
    ),
    "look at something else": (
        Told(calls=(FIND, ("find", {"query": "tea"}), LOOK, ADD, CLOSE)),
        {"steps": 5.0, "step_efficiency": 0.8},
    ),
    "break an argument": (
        Told(calls=(FIND, LOOK, ("add", {"item": 7, "quantity": 2}), CLOSE), plan=None),
        {
            **FAILS,
            "effect_match": 0.0,
            "parameter_validity": 0.75,
            "call_match": 0.75,
            "call_precision": 0.75,
            "call_recall": 0.75,
            "partial_credit": 0.75,
            "termination": 0.0,
        },
    ),
    "another valid argument": (
        Told(calls=(FIND, LOOK, ("add", {"item": "egg", "quantity": 3}), CLOSE), plan=None),
        {
            **FAILS,
            "effect_match": 0.0,
            "call_match": 0.75,
            "call_precision": 0.75,
            "call_recall": 0.75,
            "partial_credit": 0.75,
            "termination": 0.0,
        },
    ),
    "call a tool that is not allowed": (
        Told(calls=(FIND, LOOK, ("peek", {}), ADD, CLOSE)),
        {
            **FAILS,
            "effect_match": None,
            "tool_allowed": 0.8,
            "tool_selection": 0.8,
            "call_match": 0.889,
            "call_precision": 0.8,
            "partial_credit": 0.889,
            "steps": 5.0,
        },
    ),
    "abandon the plan": (
        Told(plan=("find the egg", "add the egg", "look for ham", "close it"), calls=GOOD),
        {"plan_order": 0.8, "plan_adherence": 0.75, "plan_quality": 0.85},
    ),
    "plan too little": (Told(plan=("find the egg", "add the egg")), {"plan_coverage": 0.5, "plan_quality": 0.833}),
    "state no plan": (
        Told(plan=None),
        dict.fromkeys(("plan_quality", "plan_coverage", "plan_order", "plan_adherence")),
    ),
    "meet an error and get over it": (
        Told(calls=(FIND, LOOK, (*ADD, "timeout"), ADD, CLOSE)),
        {
            **FAILS,
            "recovery": 1.0,
            "steps": 5.0,
            "call_match": 0.889,
            "call_precision": 0.8,
            "partial_credit": 0.889,
        },
    ),
    "meet an error and pass over it": (
        Told(calls=(FIND, LOOK, ADD, (*CLOSE, "timeout"))),
        {"recovery": 0.0, "effect_match": 0.0},
    ),
    "go on after the end": (
        Told(calls=(*GOOD, CLOSE)),
        {
            **FAILS,
            "effect_match": 0.0,
            "termination": 0.0,
            "steps": 5.0,
            "call_match": 0.889,
            "call_precision": 0.8,
            "partial_credit": 0.889,
        },
    ),
    "give another answer": (Told(answer="no"), FAILS),
    "give no answer": (
        Told(answer=None),
        {**FAILS, "completion": 0.0, "termination": 0.0, "turns": None, "tokens": None, "cost_usd": None},
    ),
    "reach the limit": (Told(outcome="limit_reached"), {"completion": 0.0, "termination": 0.0}),
    "use more tokens": (Told(tokens=400), {"tokens": 400.0, "cost_usd": 0.4}),
    "say it twice": (Told(replies=2, tokens=50), {"turns": 2.0}),
    "pass the turn to a sub-agent": (Told(passed_to="helper"), {"routing": 0.0}),
}
