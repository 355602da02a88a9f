"""The tasks of a domain of tau2-bench, as its `tasks.json` holds them."""

import re
from collections.abc import Collection, Sequence
from typing import Final

from harness.values import JsonObject, JsonValue

OPENING: Final = "Hello, I need your help."
"""What the user of a scenario says first. In tau2 the agent greets, and the user answers why they call."""

_INSTRUCTIONS: Final = {
    "reason_for_call": "Why you call: {}",
    "known_info": "What you know: {}",
    "unknown_info": "What you do not know: {}",
    "task_instructions": "{}",
}


def case_of_task(task: JsonObject, reads: Collection[str] = ()) -> JsonObject:
    """The case as plain values. Raises ValueError for a task that a case cannot represent.

    The actions are the reference, each after the one before it. What has to be communicated is looked for in the
    answer. A task with a `ticket` is given as it is, every other one is a scenario for a simulated user. `reads` are
    the tools that change nothing: with no other call and nothing to say, an agent that does nothing passes.
    """
    criteria = _object(task, "evaluation_criteria") or {}
    if task.get("initial_state"):
        raise ValueError("the task changes the database before it begins (`initial_state`)")
    if criteria.get("env_assertions"):
        raise ValueError("the task is decided by functions of its domain (`env_assertions`)")
    case: JsonObject = {"id": _id(task.get("id"))}
    if purpose := (_object(task, "description") or {}).get("purpose"):
        case["description"] = str(purpose).strip()
    case |= _asked(task)
    reference = _reference(_list(criteria, "actions"))
    case["reference"] = [*reference]
    told = [str(one) for one in _list(criteria, "communicate_info")]
    if told:
        case["expected_output"] = ", ".join(told)
        case["checks"] = [
            {
                "name": f"told-{number}",
                "verifier": "final_answer",
                "with": {"regex": re.escape(one), "ignore_case": True},
            }
            for number, one in enumerate(told, start=1)
        ]
    if not told and all(call["tool"] in reads for call in reference):
        case["nop_passes"] = True
    asserted: list[JsonValue] = [str(one) for one in _list(criteria, "nl_assertions")]
    if asserted:
        case["expected"] = {"nl_assertions": asserted}
    return case


def _id(given: JsonValue) -> str:
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", str(given or "")).strip(".-_")[:100]
    if not name:
        raise ValueError("the task has no `id`")
    return name


def _asked(task: JsonObject) -> JsonObject:
    if isinstance(ticket := task.get("ticket"), str) and ticket.strip():
        return {"task": ticket.strip()}
    scenario = _object(task, "user_scenario")
    if scenario is None:
        raise ValueError("the task has neither `ticket` nor `user_scenario`")
    plan = _plan(scenario.get("instructions"))
    if persona := scenario.get("persona"):
        plan = f"{plan}\nWho you are: {str(persona).strip()}"
    return {"task": OPENING, "conversation": {"opening": OPENING, "plan": plan, "max_turns": 30}}


def _plan(instructions: JsonValue) -> str:
    if isinstance(instructions, str) and instructions.strip():
        return instructions.strip()
    if not isinstance(instructions, dict):
        raise ValueError("the task's `user_scenario.instructions` are neither a text nor an object")
    lines = [
        form.format(str(value).strip())
        for name, form in _INSTRUCTIONS.items()
        if (value := instructions.get(name)) not in (None, "")
    ]
    if not lines:
        raise ValueError("the task's `user_scenario.instructions` are empty")
    return "\n".join(lines)


def _reference(actions: Sequence[JsonValue]) -> list[JsonObject]:
    calls: list[JsonObject] = []
    for number, action in enumerate(actions, start=1):
        if not isinstance(action, dict) or not isinstance(action.get("name"), str):
            raise ValueError(f"action {number} of the task has no `name`")
        if action.get("requestor") not in (None, "assistant"):
            raise ValueError("the user of the task has tools of its own (`requestor: user`)")
        call: JsonObject = {"id": f"a{number}", "tool": action["name"], "arguments": action.get("arguments") or {}}
        if calls:
            call["after"] = [f"a{number - 1}"]
        calls.append(call)
    return calls


def _object(of: JsonObject, name: str) -> JsonObject | None:
    value = of.get(name)
    if value is not None and not isinstance(value, dict):
        raise ValueError(f"the task's `{name}` is not an object")
    return value


def _list(of: JsonObject, name: str) -> list[JsonValue]:
    value = of.get(name) or []
    if not isinstance(value, list):
        raise ValueError(f"the task's `{name}` is not a list")
    return value
