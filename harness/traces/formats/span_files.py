"""Files of spans as `Span` values: OTLP JSON, this harness's spans.jsonl, printed SDK spans, exports of platforms."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from pydantic import JsonValue

from harness.traces import names
from harness.traces.foreign_json import Record, kind_of
from harness.traces.formats.dialects import dumped, opened
from harness.traces.formats.found import Source, wall_ns
from harness.traces.names import STATUS_MESSAGE
from harness.traces.otlp import RawRecord, Rejected, json_log, json_span
from harness.traces.spans import Span
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
        names.STEP_COUNT, names.ATTEMPT, names.COST_USD, names.STARTED_MONOTONIC, names.ENDED_MONOTONIC, names.INJECTED,
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


# Log records that belong to a span become its events: content moved there and back between versions of the conventions.


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
        yield _otlp(_printed_by_sdk(record))
    elif record.value("traceId", "start_time_unix_nano", "startTimeUnixNano") is not None:
        yield _otlp(record)
    elif record.value("trace_id") is not None:
        yield _otlp(_printed_by_sdk(record)) if record.value("start_ns") is None else record.shaped(Span)
    else:
        raise record.refusal("resourceSpans", f"is {kind_of(None)}: neither OTLP JSON nor a span")


def _otlp(span: Record) -> Span:
    found = _read(span, json_span)
    for identifier, name in ((found.trace_id, "traceId"), (found.span_id, "spanId")):
        if not identifier:
            raise span.refusal(name, "is missing")
    return found.span()


def _read(record: Record, read: Callable[[JsonObject, JsonObject], RawRecord]) -> RawRecord:
    try:
        return read(record.data, {})
    except Rejected as reason:
        raise record.refusal(reason.place, str(reason)) from None


def _logs(record: Record) -> Iterator[tuple[tuple[str, str], JsonObject]]:
    for resource in record.records("resourceLogs", "resource_logs"):
        for scope in resource.records("scopeLogs", "scope_logs"):
            for log in scope.records("logRecords", "log_records"):
                found = _read(log, json_log)
                yield (found.trace_id, found.span_id), found.event()


def _with_events(span: Span, events: list[JsonObject]) -> Span:
    return span.model_copy(update={"events": (*span.events, *events)}) if events else span


def _printed_by_sdk(span: Record) -> Record:
    """A span as the Python SDK prints it, under the names of OTLP."""
    status = span.record("status")
    context = span.fields("context")
    code = status.text("status_code", "code") if status else None
    facts: JsonObject = {
        "startTimeUnixNano": wall_ns(span.value("start_time")),
        "endTimeUnixNano": wall_ns(span.value("end_time")),
        "status": {"code": code, "message": status.text("description") if status else None},
        "events": [{**one.data, "timeUnixNano": wall_ns(one.value("timestamp"))} for one in span.records("events")],
    }
    return replace(span, data={**span.data, **context, **facts})
