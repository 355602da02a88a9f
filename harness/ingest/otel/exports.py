"""Traces and observations as Langfuse exports them, as the spans that they were.

The attributes of spans that its own SDK did not make stand below `attributes` in the metadata, flat or nested, each
value as a text; the attributes that Langfuse reads as input and output are left out there.
"""

from typing import Final

from harness.ingest import names as ours
from harness.ingest.names import STATUS_MESSAGE
from harness.ingest.naming import wall_ns
from harness.ingest.otel.dumped import dumped, opened
from harness.ingest.reading import Record
from harness.trace import Span, names
from harness.values import JsonObject, JsonValue

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
        ours.STEP_INDEX, ours.STEP_PARENT, ours.CALL_ORDER, ours.OBSERVATION_ORDER, ours.DURATION, ours.STEP_COUNT,
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
        root = _observed(record, None, str(data["id"]))
        return [root, *(_observed(one, root.span_id, root.trace_id) for one in record.records("observations"))]
    if data.get("type") in _OBSERVED and "traceId" in data and "id" in data:
        return [_observed(record, None, str(data["traceId"]))]
    return None


def _observed(record: Record, parent: str | None, trace: str) -> Span:
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
        facts |= {"input.value": _worded(record.value("input")), "output.value": _worded(record.value("output"))}
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


def _worded(value: JsonValue) -> JsonValue:
    return dumped(value) if isinstance(value, dict | list) else value


def span_attributes(observation: Record) -> JsonObject:
    """Attributes by name; none where the metadata has none."""
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
    """What Langfuse itself tells of the observation is no attribute of the span."""
    return value is not None and not name.startswith("langfuse.")
