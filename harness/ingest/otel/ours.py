"""Spans that this harness wrote, read back as exactly the steps that they were made of."""

import json
from collections.abc import Sequence

from harness.errors import InvalidDocument, ResultsError
from harness.ingest import names as ours
from harness.ingest.found import Source
from harness.ingest.reading import Record
from harness.trace import Span, Step, Trajectory, names, trajectory_from
from harness.values import JsonObject, JsonValue


def is_ours(spans: Sequence[Span]) -> bool:
    """Whether the trace has the marks of a trial of this harness, recorded or imported."""
    return any(names.CASE_ID in span.attributes for span in spans)


def trajectory_of_ours(source: Source, spans: Sequence[Span]) -> Trajectory:
    """Of an imported trial its steps as they were; of a recorded one the projection that the harness itself uses."""
    if not any(ours.STEP_INDEX in span.attributes or ours.STEP_COUNT in span.attributes for span in spans):
        try:
            return trajectory_from(spans)
        except ResultsError as error:
            raise InvalidDocument(source.path, error.message) from None
    root = next((span for span in spans if span.attributes.get(names.OPERATION) == names.INVOKE_AGENT), None)
    if root is None:
        raise InvalidDocument(source.path, "holds steps of a trial without its root span")
    by_index: dict[int, JsonObject] = {}
    for span in spans:
        index = span.attributes.get(ours.STEP_INDEX)
        if isinstance(index, int):
            _collect(source, by_index.setdefault(index, {"calls": {}, "observations": {}}), span)
    if len(by_index) != root.attributes.get(ours.STEP_COUNT):
        raise InvalidDocument(
            source.path, f"holds {len(by_index)} of a trial's {root.attributes.get(ours.STEP_COUNT)} steps"
        )
    final = root.attributes.get(ours.FINAL_OUTPUT)
    return Trajectory(
        trace_id=root.trace_id,
        agent=str(root.attributes.get(names.AGENT_NAME) or ""),
        version=_text(root, names.AGENT_VERSION),
        steps=tuple(_step(source, index, by_index[index]) for index in sorted(by_index)),
        final_output=None if final is None else _opened(source, root, ours.FINAL_OUTPUT),
    )


def _collect(source: Source, step: JsonObject, span: Span) -> None:
    facts = span.attributes
    if facts.get(names.OPERATION) != names.EXECUTE_TOOL:
        tokens = {
            "input_tokens": facts.get(ours.INPUT_TOKENS),
            "output_tokens": facts.get(ours.OUTPUT_TOKENS),
            "cost_usd": facts.get(ours.COST),
        }
        step |= {
            "source": facts.get(ours.STEP_SOURCE),
            "agent": facts.get(ours.STEP_AGENT),
            "parent": facts.get(ours.STEP_PARENT),
            "span_id": facts.get(ours.STEP_SPAN),
            "message": facts.get(names.MESSAGE),
            "thought": facts.get(names.THOUGHT),
            "plan": _opened(source, span, names.PLAN),
            "model": facts.get(ours.MODEL),
            "usage": None if set(tokens.values()) == {None} else tokens,
            "started_ns": facts.get(names.STARTED_MONOTONIC),
            "ended_ns": facts.get(names.ENDED_MONOTONIC),
        }
        return
    _numbered(step, "calls", facts.get(ours.CALL_ORDER), _call(source, span))
    _numbered(step, "observations", facts.get(ours.OBSERVATION_ORDER), _observation(source, span))


def _numbered(step: JsonObject, name: str, order: JsonValue, value: JsonObject) -> None:
    held = step[name]
    if isinstance(order, int) and isinstance(held, dict):
        held[f"{order:09d}"] = value


def _call(source: Source, span: Span) -> JsonObject:
    return {
        "id": _text(span, names.TOOL_CALL_ID) or span.span_id,
        "name": _text(span, names.TOOL_NAME) or "",
        "arguments": _opened(source, span, names.TOOL_ARGUMENTS),
        "unparsed": span.attributes.get(names.TOOL_UNPARSED),
    }


def _observation(source: Source, span: Span) -> JsonObject:
    kind = span.attributes.get(names.ERROR_TYPE)
    return {
        "call_id": _text(span, names.TOOL_CALL_ID) or span.span_id,
        "content": _opened(source, span, names.TOOL_RESULT),
        "error": None if kind is None else {"type": kind, "message": _text(span, names.TOOL_ERROR_MESSAGE) or ""},
        "replayed": span.attributes.get(names.REPLAY_TIER),
        "duration_ms": span.attributes.get(ours.DURATION),
    }


def _step(source: Source, index: int, attributes: JsonObject) -> Step:
    for name in ("calls", "observations"):
        held = attributes[name]
        attributes[name] = [held[order] for order in sorted(held)] if isinstance(held, dict) else []
    return Record(path=source.path, data={"index": index, **attributes}, at=f"step {index}").shaped(Step)


def _opened(source: Source, span: Span, name: str) -> JsonValue:
    raw = span.attributes.get(name)
    if not isinstance(raw, str):
        return raw
    try:
        value: JsonValue = json.loads(raw)
    except (ValueError, RecursionError):
        raise InvalidDocument(source.path, "is not JSON", field=f"span {span.span_id}.{name}") from None
    return value


def _text(span: Span, name: str) -> str | None:
    found = span.attributes.get(name)
    return None if found is None else str(found)
