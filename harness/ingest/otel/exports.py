"""Traces as platforms export them by their own interfaces, as spans under the names of the conventions.

Known are runs of LangSmith (`run_type`, nested in `child_runs` or flat), traces and observations of Langfuse, Jaeger's
JSON, and rows of Phoenix (`context.span_id`, `attributes.llm...`). Trees are read without recursion.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from harness.ingest.names import STATUS_MESSAGE
from harness.ingest.naming import wall_ns
from harness.ingest.otel.dumped import dumped
from harness.ingest.otel.langfuse_metadata import span_attributes
from harness.ingest.python_text import object_in
from harness.ingest.reading import Record
from harness.ingest.shapes.frameworks import framework_messages
from harness.trace import Span, names
from harness.values import JsonObject, JsonValue

_RUNS: Final[Mapping[str, str]] = MappingProxyType(
    {"llm": names.CHAT, "chat_model": names.CHAT, "tool": names.EXECUTE_TOOL, "chain": names.INVOKE_AGENT}
)
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


def exported_spans(record: Record) -> list[Span] | None:
    """The spans of a record that a platform exported; None: it is of none that is known here."""
    data = record.data
    if "run_type" in data and "id" in data:
        return list(_langsmith(record))
    if isinstance(data.get("observations"), list) and "id" in data:
        root = _observed(record, None, str(data["id"]))
        return [root, *(_observed(one, root.span_id, root.trace_id) for one in record.records("observations"))]
    if data.get("type") in _OBSERVED and "traceId" in data and "id" in data:
        return [_observed(record, None, str(data["traceId"]))]
    if "operationName" in data and "spanID" in data:
        return [_jaeger(record)]
    return [_row(record)] if "context.span_id" in data else None


def _langsmith(root: Record) -> Iterator[Span]:
    stack: list[tuple[Record, str | None, str]] = [(root, None, str(root.value("trace_id", "id")))]
    while stack:
        run, parent, trace = stack.pop()
        span_id = str(run.value("id"))
        above = run.value("parent_run_id")
        kind = _RUNS.get(str(run.value("run_type")))
        if kind == names.INVOKE_AGENT and (parent or above):
            kind = None  # an inner chain is a part of the program, and no agent
        yield Span(
            trace_id=str(run.value("trace_id") or trace),
            span_id=span_id,
            parent_id=str(above) if above else parent,
            name=str(run.value("name") or ""),
            start_ns=wall_ns(run.value("start_time")) or 0,
            end_ns=wall_ns(run.value("end_time")) or 0,
            attributes=_of_run(run, kind),
            status="error" if run.value("error") else "ok",
        )
        stack.extend((child, span_id, trace) for child in reversed(run.records("child_runs")))


def _of_run(run: Record, kind: str | None) -> JsonObject:
    inputs, outputs = run.value("inputs"), run.value("outputs")
    facts: JsonObject = {} if kind is None else {names.OPERATION: kind}
    if kind == names.CHAT:
        facts[names.INPUT_MESSAGES] = dumped(_chat(_first_of(inputs, "messages", "input")))
        facts[names.OUTPUT_MESSAGES] = dumped(_chat(_generated(outputs)))
        model = _first_of(run.value("extra"), "invocation_params", "metadata")
        facts[names.REQUEST_MODEL] = _first_of(model, "model", "model_name", "ls_model_name")
    elif kind == names.EXECUTE_TOOL:
        facts[names.TOOL_NAME] = run.value("name")
        facts[names.TOOL_ARGUMENTS] = _asked(inputs)
        facts[names.TOOL_RESULT] = _answer(_first_of(outputs, "output", "result") if outputs else run.value("error"))
    elif kind == names.INVOKE_AGENT:
        facts["input.value"], facts["output.value"] = (
            _worded(_said(inputs, "user")),
            _worded(_said(outputs, "assistant")),
        )
    return {name: value for name, value in facts.items() if value is not None}


def _asked(inputs: JsonValue) -> JsonValue:
    """A tool's arguments: an object, or its text in Python's notation or JSON under `input`."""
    inner = _first_of(inputs, "input")
    if isinstance(inputs, dict) and set(inputs) == {"input"} and isinstance(inner, str):
        return object_in(inner) or inputs
    return inner if isinstance(inner, dict) else inputs


def _answer(output: JsonValue) -> JsonValue:
    """What a tool answered: a message of a tool is its content."""
    found = framework_messages(output) if isinstance(output, dict) else None
    message = found[0] if found else output
    return message.get("content") if isinstance(message, dict) and "tool_call_id" in message else message


def _generated(outputs: JsonValue) -> JsonValue:
    """The reply: of generations, of a response with choices, or a message."""
    found: JsonValue = _first_of(outputs, "generations", "choices", "messages", "output", "message")
    while isinstance(found, list) and found:
        found = found[0]
    inner = found.get("message") if isinstance(found, dict) else None
    reply = inner if isinstance(inner, dict) else found if found is not None else outputs
    said = reply.get("kwargs") if isinstance(reply, dict) and "lc" not in reply else None
    return [{**said, "role": "assistant"} if isinstance(said, dict) else reply]


def _said(value: JsonValue, role: str) -> JsonValue:
    """What was asked or answered at last: the text of a message or of a field, else the whole value."""
    messages = _chat(_first_of(value, "messages")) if _first_of(value, "messages") is not None else []
    told = [
        one.get("content") for one in messages if isinstance(one, dict) and one.get("role") in (role, "human", "ai")
    ]
    texts = [one for one in told if isinstance(one, str)]
    if texts:
        return texts[0] if role == "user" else texts[-1]
    found = _first_of(value, "input", "question", "query", "output", "answer", "result")
    return found if isinstance(found, str) else value


def _chat(messages: JsonValue) -> list[JsonValue]:
    while isinstance(messages, list) and len(messages) == 1 and isinstance(messages[0], list):
        messages = messages[0]
    listed = messages if isinstance(messages, list) else [messages]
    found: list[JsonValue] = []
    for one in listed:
        if isinstance(one, str):
            found.append({"role": "user", "content": one})
        elif isinstance(one, dict):
            found += framework_messages(one) or [
                one if "role" in one else {**one, "role": one.get("type", "assistant")}
            ]
    return found


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


def _jaeger(span: Record) -> Span:
    parent = next(
        (one.value("spanID") for one in span.records("references") if one.value("refType") != "FOLLOWS_FROM"), None
    )
    began, took = span.count("startTime") or 0, span.count("duration") or 0
    tags: JsonObject = {str(tag.value("key")): tag.value("value") for tag in span.records("tags")}
    status = str(tags.get("otel.status_code", "unset")).casefold()
    return Span(
        trace_id=str(span.value("traceID") or ""),
        span_id=str(span.value("spanID")),
        parent_id=str(parent) if parent else None,
        name=str(span.value("operationName")),
        start_ns=began * 1000,
        end_ns=(began + took) * 1000,
        attributes=tags,
        status="error" if tags.get("error") is True or status == "error" else status,
    )


def _row(row: Record) -> Span:
    """A row of Phoenix's table of spans; fields without a value are not there."""
    facts = {
        name.removeprefix("attributes."): value for name, value in row.data.items() if name.startswith("attributes.")
    }
    kind = row.value("span_kind")
    if isinstance(kind, str):
        facts.setdefault("openinference.span.kind", kind)
    parent = row.value("parent_id")
    return Span(
        trace_id=str(row.value("context.trace_id") or ""),
        span_id=str(row.value("context.span_id")),
        parent_id=str(parent) if parent else None,
        name=str(row.value("name") or ""),
        start_ns=wall_ns(row.value("start_time")) or 0,
        end_ns=wall_ns(row.value("end_time")) or 0,
        attributes={name: value for name, value in facts.items() if value is not None},
        status=str(row.value("status_code") or "unset").casefold(),
    )


def _first_of(value: JsonValue, *fields: str) -> JsonValue:
    if not isinstance(value, dict):
        return None
    return next((value[name] for name in fields if value.get(name) is not None), None)
