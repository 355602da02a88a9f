"""Files of spans as `Span` values: OTLP JSON, this harness's spans.jsonl, printed SDK spans, exports of platforms."""

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Final

from pydantic import JsonValue

from harness.traces import names
from harness.traces import step_names as own_names
from harness.traces.foreign_json import Record, kind_of
from harness.traces.formats.dialects import dumped, opened
from harness.traces.formats.found import Source, wall_ns
from harness.traces.otlp import attributes_of, plain_value
from harness.traces.spans import Span
from harness.traces.step_names import STATUS_MESSAGE
from harness.values import JsonObject

# The attributes of spans that its own SDK did not make are below `attributes` in the metadata, flat or nested, each
# value as a text; the attributes that Langfuse reads as input and output are left out there.

_OBSERVED: Final = (
    "GENERATION",
    "SPAN",
    "TOOL",
    "AGENT",
    "EVENT",
    "CHAIN",
    "RETRIEVER",
    "EVALUATOR",
    "EMBEDDING",
    "GUARDRAIL",
)
_ATTRIBUTES: Final = "attributes"
_NOT_TEXTS: Final = frozenset(
    (
        own_names.STEP_INDEX, own_names.STEP_PARENT, own_names.STEP_ASKED_IN, own_names.STEP_COUNT,
        own_names.CALL_ORDER, own_names.OBSERVATION_ORDER, own_names.DURATION,
        names.ATTEMPT, names.COST_USD, names.STARTED_MONOTONIC, names.ENDED_MONOTONIC, names.INJECTED,
        names.INPUT_TOKENS, names.OUTPUT_TOKENS, names.CACHE_READ_TOKENS, names.CACHE_WRITE_TOKENS,
        names.FIRST_CHUNK_S, names.HTTP_STATUS, names.FINISH_REASONS, names.EVALUATION_SCORE,
    )
)  # fmt: skip
"""Attributes whose values are numbers, booleans or lists."""


def exported_spans(record: Record) -> list[Span] | None:
    """The spans of a trace or an observation of Langfuse; None: the record is neither."""
    data = record.data
    if isinstance(data.get("observations"), list) and "id" in data:
        root = _langfuse_span(record, None, str(data["id"]))
        return [root, *(_langfuse_span(one, root.span_id, root.trace_id) for one in record.records("observations"))]
    if data.get("type") in _OBSERVED and "traceId" in data and "id" in data:
        return [_langfuse_span(record, None, str(data["traceId"]))]
    return None


def _langfuse_span(record: Record, parent: str | None, trace: str) -> Span:
    """A trace or an observation of Langfuse, under the attributes that its own OTLP export has."""
    kind = str(record.value("type") or "agent").casefold()
    facts: JsonObject = {
        **span_attributes(record),
        STATUS_MESSAGE: record.value("statusMessage"),
        "langfuse.observation.type": kind,
        "langfuse.observation.input": record.value("input"),
        "langfuse.observation.output": record.value("output"),
        "langfuse.observation.model.name": record.value("model"),
        "langfuse.observation.usage_details": record.value("usageDetails", "usage"),
    }
    if kind == "agent" and parent is None:
        facts |= {
            "input.value": _json_text_of(record.value("input")),
            "output.value": _json_text_of(record.value("output")),
        }
    above = record.value("parentObservationId")
    return Span(
        trace_id=str(record.value("traceId") or trace),
        span_id=str(record.value("id")),
        parent_id=str(above) if above else parent,
        name=str(record.value("name") or ""),
        start_ns=wall_ns(record.value("startTime", "start_time", "timestamp")) or 0,
        end_ns=wall_ns(record.value("endTime", "end_time")) or 0,
        attributes={name: value for name, value in facts.items() if value is not None},
        status="error" if record.value("level") == "ERROR" else "unset",
    )


def _json_text_of(value: JsonValue) -> JsonValue:
    return dumped(value) if isinstance(value, dict | list) else value


def span_attributes(observation: Record) -> JsonObject:
    """Attributes by name; none if the metadata has none."""
    given = observation.value("metadata")
    found = _below_attributes(given) if isinstance(given, dict) else {}
    found = {name: opened(value) if name in _NOT_TEXTS else value for name, value in found.items()}
    match found.get(names.OPERATION):
        case names.CHAT:
            carried = {names.INPUT_MESSAGES: "input", names.OUTPUT_MESSAGES: "output"}
        case names.EXECUTE_TOOL:
            carried = {names.TOOL_ARGUMENTS: "input", names.TOOL_RESULT: "output"}
        case _:
            carried = {}
    read = {name: observation.value(field) for name, field in carried.items()}
    return {**{name: value for name, value in read.items() if value is not None}, **found}


def _below_attributes(metadata: JsonObject) -> JsonObject:
    nested = opened(metadata.get(_ATTRIBUTES))
    found = dict(nested) if isinstance(nested, dict) else {}
    prefix = f"{_ATTRIBUTES}."
    found |= {name.removeprefix(prefix): value for name, value in metadata.items() if name.startswith(prefix)}
    return {name: value for name, value in found.items() if _is_kept(name, value)}


def _is_kept(name: str, value: JsonValue) -> bool:
    """What Langfuse itself records about the observation is no attribute of the span."""
    return value is not None and not name.startswith("langfuse.")


# OTLP JSON writes ids in hexadecimal (protobuf's own JSON mapping would write base64, and some writers do), 64-bit
# numbers as text and enumerations as numbers or names. Log records that belong to a span become its events: content
# moved there and back between versions of the conventions.

_HEX = re.compile(r"[0-9a-f]*")
_STATUS = {0: "unset", 1: "ok", 2: "error"}


def spans_in(source: Source) -> list[Span]:
    """All spans of the file, in their order, with the log records that belong to them."""
    spans: list[Span] = []
    logs: dict[tuple[str, str], list[JsonObject]] = {}
    for record in source.records():
        for span in _spans(record):
            spans.append(span)
        for key, event in _logs(record):
            logs.setdefault(key, []).append(event)
    joined = [_with_events(span, logs.pop((span.trace_id, span.span_id), [])) for span in spans]
    if logs:
        source.note(None, "log records belong to no span of the file; they are left out", field="resourceLogs")
    return joined


def _spans(record: Record) -> Iterator[Span]:
    if record.value("resourceSpans", "resource_spans", "batches") is not None:
        for resource in record.records("resourceSpans", "resource_spans", "batches"):
            for scope in resource.records("scopeSpans", "scope_spans", "instrumentationLibrarySpans"):
                yield from (_otlp(span) for span in scope.records("spans"))
        return
    inside = _contained_traces(record)
    if inside is not None:
        for each in inside:
            yield from _spans(each)
    elif isinstance(record.value("spans"), list):
        yield from (span for each in record.records("spans") for span in _single_spans(each))
    elif record.value("resourceLogs", "resource_logs") is None:
        yield from _single_spans(record)


def _contained_traces(record: Record) -> list[Record] | None:
    """The traces that a record holds, in a list or alone; None: it holds none."""
    name = next((one for one in ("trace", "data", "traces") if record.value(one) is not None), None)
    if name is None:
        return None
    inner = record.value(name)
    return record.records(name) if isinstance(inner, list) else [record.within(name, inner)]


def _single_spans(record: Record) -> Iterator[Span]:
    """A span that is by itself, or what Langfuse exports."""
    held = next((name for name in ("child_spans", "children") if name in record.data), None)
    if held is not None:
        raise record.refusal(held, "spans that hold their children are no format of OpenTelemetry")
    exported = exported_spans(record)
    if exported is not None:
        yield from exported
    elif record.value("context") is not None:
        yield _python_sdk_span(record)
    elif record.value("traceId", "start_time_unix_nano", "startTimeUnixNano") is not None:
        yield _otlp(record)
    elif record.value("trace_id") is not None:
        yield _python_sdk_span(record) if record.value("start_ns") is None else record.shaped(Span)
    else:
        raise record.refusal("resourceSpans", f"is {kind_of(None)}: neither OTLP JSON nor a span")


def _otlp(span: Record) -> Span:
    status = span.record("status")
    attributes = attributes_of(span)
    message = status.text("message") if status else None
    if message:
        attributes[STATUS_MESSAGE] = message
    return Span(
        trace_id=_required_id(span, "traceId", "trace_id"),
        span_id=_required_id(span, "spanId", "span_id"),
        parent_id=_id(span, "parentSpanId", "parent_span_id", "parent_id") or None,
        name=span.text("name") or "",
        start_ns=_time(span, "startTimeUnixNano", "start_time_unix_nano"),
        end_ns=_time(span, "endTimeUnixNano", "end_time_unix_nano"),
        attributes=attributes,
        events=tuple(_otlp_event(event) for event in span.records("events")),
        status=_otlp_status(status),
    )


def _otlp_event(event: Record) -> JsonObject:
    return {
        "name": event.text("name") or "",
        "time_ns": _time(event, "timeUnixNano", "time_unix_nano"),
        "attributes": attributes_of(event),
    }


def _otlp_status(status: Record | None) -> str:
    code = status.value("code") if status else None
    if isinstance(code, int):
        return _STATUS.get(code, "unset")
    return str(code).removeprefix("STATUS_CODE_").lower() if code is not None else "unset"


def _logs(record: Record) -> Iterator[tuple[tuple[str, str], JsonObject]]:
    for resource in record.records("resourceLogs", "resource_logs"):
        for scope in resource.records("scopeLogs", "scope_logs"):
            for log in scope.records("logRecords", "log_records"):
                attributes = attributes_of(log)
                name = log.text("eventName", "event_name") or attributes.get("event.name")
                body = plain_value(log.record("body"))
                content: JsonObject = body if isinstance(body, dict) else {"content": body}
                event: JsonObject = {
                    "name": str(name or ""),
                    "time_ns": _time(log, "timeUnixNano", "observedTimeUnixNano"),
                    "attributes": {**content, **attributes} if body is not None else attributes,
                }
                key = (_id(log, "traceId", "trace_id"), _id(log, "spanId", "span_id"))
                yield key, event


def _with_events(span: Span, events: list[JsonObject]) -> Span:
    return span.model_copy(update={"events": (*span.events, *events)}) if events else span


def _python_sdk_span(record: Record) -> Span:
    """A span as the Python SDK prints it."""
    context = record.record("context") or record
    attributes = record.record("attributes")
    status = record.record("status")
    parent = record.text("parent_id", "parent_span_id")
    return Span(
        trace_id=_required_id(context, "trace_id"),
        span_id=_required_id(context, "span_id"),
        parent_id=parent.removeprefix("0x") if parent else None,
        name=record.text("name") or "",
        start_ns=wall_ns(record.value("start_time")) or 0,
        end_ns=wall_ns(record.value("end_time")) or 0,
        attributes=dict(attributes.data) if attributes else {},
        events=tuple(_printed_event(event) for event in record.records("events")),
        status=(status.text("status_code", "code") or "unset").lower() if status else "unset",
    )


def _printed_event(event: Record) -> JsonObject:
    attributes = event.record("attributes")
    return {
        "name": event.text("name") or "",
        "time_ns": wall_ns(event.value("timestamp")) or 0,
        "attributes": attributes.data if attributes else {},
    }


def _required_id(record: Record, *names: str) -> str:
    found = _id(record, *names)
    if not found:
        raise record.refusal(names[0], "is missing")
    return found


def _id(record: Record, *names: str) -> str:
    """Lower-case hexadecimal digits, also of an id that is written in base64."""
    identifier = (record.text(*names) or "").strip().removeprefix("0x")
    if _HEX.fullmatch(identifier.lower()):
        return identifier.lower()
    try:
        return base64.b64decode(identifier, validate=True).hex()
    except (binascii.Error, ValueError):
        raise record.refusal(names[0], f"{identifier!r} is not an id in hexadecimal digits") from None


def _time(record: Record, *names: str) -> int:
    raw: JsonValue = record.value(*names)
    if raw is None:
        return 0
    if isinstance(raw, str) and raw.isascii() and raw.isdigit() and len(raw) < 30:
        return int(raw)
    if isinstance(raw, int) and not isinstance(raw, bool) and 0 <= raw < 10**30:
        return raw
    raise record.refusal(names[0], f"{raw!r} is not a time in nanoseconds")
