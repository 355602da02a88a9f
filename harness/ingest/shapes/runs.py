"""Whole runs whose steps stand in a form of their own, as chat messages or turns.

Known are the intermediate steps of LangChain's executors, the numbered fields of DSPy's ReAct, the memory of
smolagents, ToolBench's answer trees, and a request of the Responses API with the output beside its input.
"""

from collections.abc import Callable, Sequence
from typing import Final

from harness.ingest.shapes.trees import tree_messages
from harness.values import JsonObject, JsonValue

_Read = Callable[[JsonObject], list[JsonValue] | None]


def run_messages(record: JsonObject) -> list[JsonValue] | None:
    """The messages or turns that a record's own form amounts to; None: it has none of these forms."""
    return next((found for read in _READERS if (found := read(record)) is not None), None)


def _responses(record: JsonObject) -> list[JsonValue] | None:
    """The input and what was generated of it: a text or items, and items."""
    given, output = record.get("input"), record.get("output")
    if not isinstance(output, list) or not output or not all(isinstance(one, dict) and "type" in one for one in output):
        return None
    if isinstance(given, str):
        return [{"role": "user", "content": given}, *output]
    return [*given, *output] if isinstance(given, list) else None


def _intermediate(record: JsonObject) -> list[JsonValue] | None:
    pairs = record.get("intermediate_steps")
    if not isinstance(pairs, list) or not pairs:
        return None
    said: list[JsonValue] = (
        [{"role": "user", "content": record["input"]}] if isinstance(record.get("input"), str) else []
    )
    for number, pair in enumerate(pairs):
        if not isinstance(pair, list) or len(pair) != 2:
            return None
        action = pair[0]
        inner = action.get("kwargs") if isinstance(action, dict) and isinstance(action.get("kwargs"), dict) else action
        if not isinstance(inner, dict) or not isinstance(inner.get("tool"), str):
            return None
        said += _called(f"step {number}", inner["tool"], inner.get("tool_input"), pair[1], inner.get("log"))
    answer = record.get("output", record.get("answer"))
    return [*said, {"role": "assistant", "content": answer}] if isinstance(answer, str) else said


def _numbered(record: JsonObject) -> list[JsonValue] | None:
    steps = record.get("trajectory")
    if not isinstance(steps, dict) or "tool_name_0" not in steps:
        return None
    asked = next(
        (record[name] for name in ("question", "task", "input", "query") if isinstance(record.get(name), str)), None
    )
    said: list[JsonValue] = [] if asked is None else [{"role": "user", "content": asked}]
    number = 0
    while isinstance(name := steps.get(f"tool_name_{number}"), str):
        told = (steps.get(f"{field}_{number}") for field in ("tool_args", "observation", "thought"))
        said += _called(f"step {number}", name, *told) if name != "finish" else []
        number += 1
    answer = next(
        (record[name] for name in ("answer", "output", "prediction") if isinstance(record.get(name), str)), None
    )
    return said if answer is None else [*said, {"role": "assistant", "content": answer}]


def _memory(record: JsonObject) -> list[JsonValue] | None:
    steps = record.get("steps", record.get("memory"))
    if not isinstance(steps, list) or not any(
        isinstance(step, dict) and "step_number" in step and ("model_output" in step or "tool_calls" in step)
        for step in steps[:3]
    ):
        return None
    said: list[JsonValue] = []
    for step in steps:
        if not isinstance(step, dict):
            continue
        if isinstance(step.get("task"), str):
            said.append({"role": "user", "content": step["task"]})
        elif isinstance(step.get("system_prompt"), str):
            said.append({"role": "system", "content": step["system_prompt"]})
        elif isinstance(step.get("plan"), str):
            said.append({"role": "assistant", "reasoning": step["plan"]})
        else:
            said += _remembered(step)
    return said


def _remembered(step: JsonObject) -> list[JsonValue]:
    output, raised = step.get("model_output"), step.get("error")
    said: JsonObject = {"role": "assistant", "reasoning": output if isinstance(output, str) else None}
    listed = step.get("tool_calls")
    calls = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    answer: list[JsonValue] = []
    for call in calls:
        failed: JsonObject = {"is_error": True} if raised else {}
        seen = raised.get("message") if isinstance(raised, dict) else raised or step.get("observations")
        answer.append({"role": "tool", "tool_call_id": call.get("id"), "content": seen, **failed})
    return [{**said, "tool_calls": [*calls]}, *answer] if calls else [{**said, "content": step.get("observations")}]


def _called(id: str, name: JsonValue, arguments: JsonValue, seen: JsonValue, thought: JsonValue) -> list[JsonValue]:
    asked: JsonObject = arguments if isinstance(arguments, dict) else {"input": arguments}
    function: JsonObject = {"name": name, "arguments": asked}
    call: JsonObject = {"id": id, "function": function}
    reply: JsonObject = {"role": "assistant", "reasoning": thought if isinstance(thought, str) else None}
    return [{**reply, "tool_calls": [call]}, {"role": "tool", "tool_call_id": id, "content": seen}]


_READERS: Final[Sequence[_Read]] = (_intermediate, _numbered, _memory, _responses, tree_messages)
