"""Runs of tau-bench and tau2: agent, user and tools; gold actions as the reference, reward as the label."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from corpus import Run, call, evidence_of, observation, tool

from harness.case import ReferenceCall, ToolSpec
from harness.trace import Step

_READING_VERBS = ("get_", "search_", "find_", "list_", "check_", "can_", "run_speed", "calculate", "think")
_NO_STATE = ("transfer_to_human_agents",)


def writes(name: str) -> bool:
    """The benchmark's documentation names the writes; by verb they are these."""
    return not name.startswith(_READING_VERBS) and name not in _NO_STATE


def taubench(data: Path) -> Iterator[Run]:
    """200 airline runs of gpt-4o."""
    for number, raw in enumerate(
        json.loads((data / "taubench/historical_trajectories/gpt-4o-airline.json").read_text())
    ):
        task = raw["info"]["task"]
        steps = list(_steps(raw["traj"]))
        yield Run(
            dataset="taubench",
            id=f"airline-{raw['task_id']}-{raw['trial']}-{number}",
            domain="airline",
            success=raw["reward"] == 1.0,
            evidence=evidence_of(
                f"airline-{number}",
                _first_user(steps),
                steps,
                tools=declared(data, "airline"),
                reference=_reference([(a["name"], a["kwargs"]) for a in task["actions"]]),
                final=_final(steps),
            ),
            label={"user": task["user_id"], "instruction": task["instruction"], "said": task["outputs"]},
        )


def tau2(data: Path) -> Iterator[Run]:
    """350 runs in airline, retail and telecom."""
    for path in sorted((data / "tau2").glob("*.json")):
        document = json.loads(path.read_text())
        domain = next(name for name in ("airline", "retail", "telecom") if name in path.name)
        tasks = {task["id"]: task for task in document["tasks"]}
        for raw in document["simulations"]:
            task = tasks[raw["task_id"]]
            steps = list(_steps(raw["messages"]))
            criteria = task["evaluation_criteria"] or {}
            yield Run(
                dataset="tau2",
                id=f"{path.stem}-{raw['task_id']}-{raw['trial']}",
                domain=domain,
                success=raw["reward_info"]["reward"] == 1.0,
                evidence=evidence_of(
                    f"{path.stem}-{raw['task_id']}",
                    _first_user(steps) or task.get("ticket") or "",
                    steps,
                    tools=declared(data, domain),
                    reference=_reference(
                        [
                            (action["name"], action["arguments"])
                            for action in criteria.get("actions") or ()
                            # what a user has to do himself is not a call of the agent's
                            if "no-user" in path.name or action.get("requestor", "assistant") == "assistant"
                        ]
                    ),
                    final=_final(steps),
                ),
                label={
                    "user": task["id"] if domain == "telecom" else _user_of(task),
                    "instruction": task["user_scenario"]["instructions"],
                    "said": criteria.get("communicate_info") or [],
                },
            )


@cache
def declared(data: Path, domain: str) -> tuple[ToolSpec, ...]:
    """The domain's tools; of those that ship no declaration (telecom's, one of airline's), what ever answered."""
    if domain == "telecom":
        return _answered_tools(data, domain)
    listed = json.loads((data / "taubench" / f"{domain}_tools.json").read_text())
    tools = [
        tool(
            entry["function"]["name"],
            entry["function"]["parameters"],
            writes=writes(entry["function"]["name"]),
            description=entry["function"]["description"],
        )
        for entry in listed
    ]
    names = {one.name for one in tools}
    return (*tools, *(one for one in _answered_tools(data, domain) if one.name not in names))


def _answered_tools(data: Path, domain: str) -> tuple[ToolSpec, ...]:
    arguments: dict[str, set[str]] = defaultdict(set)
    for path in sorted((data / "tau2").glob(f"*{domain}*.json")):
        for raw in json.loads(path.read_text())["simulations"]:
            good = {m["id"] for m in raw["messages"] if m["role"] == "tool" and not m.get("error")}
            for message in raw["messages"]:
                for one in message.get("tool_calls") or ():
                    if one["id"] in good:
                        arguments[one["name"]] |= set(one["arguments"])
    return tuple(
        tool(name, {"type": "object", "properties": {key: {} for key in sorted(keys)}}, writes=writes(name))
        for name, keys in sorted(arguments.items())
    )


def _steps(messages: Sequence[Mapping[str, Any]]) -> Iterator[Step]:
    """One step a message; tool messages are the observations of the step before."""
    pending: dict[str, Any] | None = None
    for index, message in enumerate(messages):
        role = message["role"]
        if role == "tool":
            if pending is not None:
                failed = bool(message.get("error")) or str(message["content"]).startswith("Error")
                pending["observations"].append(
                    observation(
                        message.get("id") or message.get("tool_call_id") or "", message["content"], error=failed
                    )
                )
            continue
        if pending is not None:
            yield Step(**pending)
            pending = None
        if role == "system":
            yield Step(index=index, source="system", message=message["content"])
            continue
        pending = {
            "index": index,
            "source": "user" if role == "user" else "agent",
            "message": message.get("content") or None,
            "calls": tuple(_call(one) for one in message.get("tool_calls") or ()),
            "observations": [],
        }
    if pending is not None:
        yield Step(**pending)


def _call(raw: Mapping[str, Any]) -> Any:
    function = raw.get("function") or raw
    return call(raw.get("id") or "", function["name"], function["arguments"])


def _first_user(steps: Sequence[Step]) -> str:
    return next((step.message for step in steps if step.source == "user" and step.message), "")


def _final(steps: Sequence[Step]) -> str | None:
    return next((step.message for step in reversed(steps) if step.source == "agent" and step.message), None)


def _reference(actions: Sequence[tuple[str, Any]]) -> list[ReferenceCall]:
    return [ReferenceCall(id=str(n), tool=name, arguments=arguments) for n, (name, arguments) in enumerate(actions)]


def _user_of(task: Mapping[str, Any]) -> str:
    known = task["user_scenario"]["instructions"]["known_info"]
    return known if isinstance(known, str) else task["id"]
