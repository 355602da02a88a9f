"""A trial as an ATIF document: data without a field in the format is stored under `extra.harness`."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from harness.case import Case, ToolSpec
from harness.ingest.atif_own import OWN, OwnResult, OwnRun
from harness.trace import Observation, Span, Step, Trial
from harness.values import JsonObject, JsonValue

VERSION = "ATIF-v1.7"
_NOT_IN_ATIF = ("agent", "parent", "plan", "started_ns", "ended_ns", "span_id")


def export_atif(
    trial: Trial, *, case: Case | None = None, tools: Iterable[ToolSpec] = (), spans: Sequence[Span] = ()
) -> JsonObject:
    """The document. With `spans` the steps have their wall times; with `case` the import gives the same case again."""
    trajectory = trial.trajectory
    own = OwnRun(
        case_id=trial.case_id,
        attempt=trial.attempt,
        outcome=trial.outcome,
        reason=trial.reason,
        duration_s=trial.duration_s,
        trace_id=trajectory.trace_id,
        version=trajectory.version,
        final_output=trajectory.final_output,
        case=case,
    )
    agent: JsonObject = {"name": trajectory.agent, "version": trajectory.version or "unknown"}
    definitions: list[JsonValue] = [_definition(tool) for tool in tools]
    if definitions:
        agent["tool_definitions"] = definitions
    began_ns = spans[0].start_ns if spans and spans[0].start_ns else None
    return {
        "schema_version": VERSION,
        "session_id": trajectory.trace_id or f"{trial.case_id}.{trial.attempt}",
        "agent": agent,
        "steps": [_step(step, began_ns) for step in trajectory.steps],
        "final_metrics": {"total_steps": len(trajectory.steps)},
        "extra": {OWN: own.model_dump(mode="json", by_alias=True, exclude_none=True)},
    }


def _definition(tool: ToolSpec) -> JsonObject:
    function: JsonObject = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _step(step: Step, began_ns: int | None) -> JsonObject:
    plain: JsonObject = {"step_id": step.index + 1, "source": step.source, "message": step.message or ""}
    if began_ns is not None and step.started_ns is not None:
        moment = datetime.fromtimestamp((began_ns + step.started_ns) / 1e9, UTC)
        plain["timestamp"] = moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
    own = _beside(step)
    if step.source == "agent":
        plain |= _agents_own(step)
    if step.observations and "observations" not in own:
        plain["observation"] = {"results": [_result(seen) for seen in step.observations]}
    return {**plain, "extra": {OWN: own}} if own else plain


def _agents_own(step: Step) -> JsonObject:
    """Fields that only steps of the agent may have."""
    facts: JsonObject = {}
    if step.model is not None:
        facts["model_name"] = step.model
    if step.thought is not None:
        facts["reasoning_content"] = step.thought
    if step.calls:
        facts["tool_calls"] = [
            {"tool_call_id": call.id, "function_name": call.name, "arguments": call.arguments or {}}
            for call in step.calls
        ]
    if step.usage is not None:
        fields = {
            "prompt_tokens": step.usage.input_tokens,
            "completion_tokens": step.usage.output_tokens,
            "cost_usd": step.usage.cost_usd,
        }
        facts["metrics"] = {name: value for name, value in fields.items() if value is not None}
    return facts


def _beside(step: Step) -> JsonObject:
    """The fields of the step that ATIF cannot represent, or would not preserve."""
    plain = step.model_dump(mode="json")
    names = [name for name in _NOT_IN_ATIF if plain[name] is not None]
    calls = {call.id for call in step.calls}
    if step.source != "agent":
        names += [name for name in ("model", "thought", "usage", "calls", "observations") if plain[name]]
    else:
        names += ["calls"] if any(call.arguments is None for call in step.calls) else []
        fits = all(seen.call_id in calls for seen in step.observations)
        names += [] if fits else ["observations"]
    return {name: plain[name] for name in dict.fromkeys(names)}


def _result(seen: Observation) -> JsonObject:
    is_text = seen.content is None or isinstance(seen.content, str)
    result: JsonObject = {"source_call_id": seen.call_id}
    if seen.content is not None:
        result["content"] = seen.content if is_text else json.dumps(seen.content, ensure_ascii=False)
    own = OwnResult(error=seen.error, replayed=seen.replayed, duration_ms=seen.duration_ms, json_text=not is_text)
    extra = own.model_dump(mode="json", exclude_defaults=True)
    return {**result, "extra": {OWN: extra}} if extra else result
