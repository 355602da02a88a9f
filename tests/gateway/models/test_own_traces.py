"""The agent's own OpenTelemetry spans are taken in, linked, and tell which agent acted."""

import json
from collections.abc import Sequence

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import format_span_id, format_trace_id

from harness.traces.otlp import NotOtlp, decode
from harness.traces.projection import trajectory_from


class Kept(SpanExporter):
    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.spans += spans
        return SpanExportResult.SUCCESS


def some_spans() -> tuple[list[ReadableSpan], str, str]:
    """An agent span with one inside; the traceparent of the inner one, and its span id."""
    kept = Kept()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracer = provider.get_tracer("agent")
    values = {"text": "é\n", "yes": True, "no": False, "minus": -7, "half": 0.5, "list": ["a", "b"], "numbers": [1, 2]}
    told = {"gen_ai.agent.name": "cook", "harness.step": "reply"}
    with (
        tracer.start_as_current_span("outer", attributes=told),
        tracer.start_as_current_span("inner", attributes=values) as inner,
    ):
        inner.add_event("happened", {"n": 1})
        context = inner.get_span_context()
    parent = f"00-{format_trace_id(context.trace_id)}-{format_span_id(context.span_id)}-01"
    return kept.spans, parent, format_span_id(context.span_id)


def as_json(spans: Sequence[ReadableSpan]) -> bytes:
    told = [
        {
            "traceId": format_trace_id(span.context.trace_id),
            "spanId": format_span_id(span.context.span_id),
            "parentSpanId": "" if span.parent is None else format_span_id(span.parent.span_id),
            "name": span.name,
            "startTimeUnixNano": str(span.start_time),
            "endTimeUnixNano": str(span.end_time),
            "attributes": [{"key": name, "value": {"stringValue": str(v)}} for name, v in span.attributes.items()],
        }
        for span in spans
    ]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": told}]}]}).encode()


def test_protobuf_is_read_as_the_sdk_writes_it() -> None:
    sent, _, inner_id = some_spans()
    inner, outer = decode("traces", encode_spans(sent).SerializeToString(), as_json=False).records

    assert ("inner", inner_id, outer.span_id) == (inner.name, inner.span_id, inner.parent_id)
    assert dict(sent[0].attributes or {}) == {
        name: tuple(value) if isinstance(value, list) else value for name, value in inner.attributes.items()
    }
    assert [("happened", {"n": 1})] == [(event["name"], event["attributes"]) for event in inner.events]
    assert (sent[0].start_time, sent[0].end_time) == (inner.start_ns, inner.end_ns)


@pytest.mark.parametrize("encoding", ["protobuf", "json"])
def test_spans_are_linked_and_name_the_agent_of_a_request(play, encoding: str) -> None:
    spans, parent, _ = some_spans()
    body = encode_spans(spans).SerializeToString() if encoding == "protobuf" else as_json(spans)
    answers = []

    def act(agent) -> None:
        ask = {"model": "small-1", "messages": [{"role": "user", "content": "Eggs?"}]}
        agent.ask("POST", "/v1/chat/completions", ask, {"traceparent": parent})
        content_type = {"Content-Type": "application/x-protobuf" if encoding == "protobuf" else "application/json"}
        answers.append(agent.ask_raw("POST", "/v1/traces", body, content_type))

    record = play("live", act, model="live")
    root, *_ = record.spans
    linked = [span for span in record.spans if span.attributes.get("harness.origin") == "agent"]

    assert [(200, "application/" + ("x-protobuf" if encoding == "protobuf" else "json"))] == [
        (status, headers["content-type"]) for status, headers, _ in answers
    ]
    assert ["outer", "inner"] == [span.name for span in linked]
    assert {root.trace_id} == {span.trace_id for span in linked}
    assert root.span_id == linked[0].parent_id
    assert "harness.step" not in linked[0].attributes  # an agent cannot write steps of its own
    assert "cook" in [step.agent for step in trajectory_from(record.spans).steps]


@pytest.mark.parametrize(
    "body", [b"\x0a\xff", b"\x0b", b"\xff" * 40, b"\x0a\x03\x12\x05\x00", b"{"], ids=["cut", "type", "long", "in", "{"]
)
def test_what_is_no_export_request_is_refused(play, body: bytes) -> None:
    with pytest.raises(NotOtlp):
        decode("traces", body, as_json=body == b"{")
    answers = []
    content_type = {"Content-Type": "application/json" if body == b"{" else "application/x-protobuf"}
    play("live", lambda agent: answers.append(agent.ask("POST", "/v1/traces", body, content_type)), model="live")
    assert 400 == answers[0][0]


def test_calls_that_only_the_agents_spans_tell_are_steps_and_others_are_not_told_twice(play) -> None:
    kept = Kept()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracer = provider.get_tracer("agent")
    tool = {"gen_ai.operation.name": "execute_tool"}

    def act(agent) -> None:
        ask = {"model": "small-1", "messages": [{"role": "user", "content": "Eggs?"}]}
        _, reply = agent.ask("POST", "/v1/chat/completions", ask)
        one, other = (call["id"] for call in reply["choices"][0]["message"]["tool_calls"])
        agent.call("look", q="egg")
        for told in (
            {"gen_ai.tool.name": "look", "gen_ai.tool.call.id": one},
            {"gen_ai.tool.name": "look", "gen_ai.tool.call.id": other, "gen_ai.tool.call.result": '{"found": []}'},
            {"gen_ai.tool.name": "boil", "gen_ai.tool.call.arguments": '{"minutes": 4}'},
        ):
            with (
                tracer.start_as_current_span(f"execute_tool {told['gen_ai.tool.name']}", attributes=tool | told),
                tracer.start_as_current_span("inner", attributes=tool | {"gen_ai.tool.name": told["gen_ai.tool.name"]}),
            ):
                pass
        agent.ask("POST", "/v1/traces", encode_spans(kept.spans).SerializeToString())

    trajectory = trajectory_from(play("live", act, model="live").spans)

    assert ["look", "look", "boil"] == [call.name for call in trajectory.calls]
    assert {"minutes": 4} == trajectory.calls[-1].arguments
    assert [{"found": ["egg"]}, {"found": []}, None] == [
        trajectory.observations[call.id].content for call in trajectory.calls
    ]


def with_attribute(told: str) -> bytes:
    ids = f'"traceId": "{"a" * 32}", "spanId": "{"b" * 16}"'
    before = f'{{"resourceSpans": [{{"scopeSpans": [{{"spans": [{{{ids}, "attributes": [{{"key": "a", "value": '
    return f"{before}{told}}}]}}]}}]}}]}}".encode()


@pytest.mark.parametrize("told", ["1" * 5000, "[" * 100_000])
def test_a_request_that_could_not_be_stored_is_refused(told: str) -> None:
    with pytest.raises(NotOtlp):
        decode("traces", with_attribute(told), as_json=True)


@pytest.mark.parametrize(
    ("told", "read"),
    [
        ('{"stringValue": "\\ud800"}', "?"),
        ('{"doubleValue": NaN}', "nan"),
        ('{"doubleValue": -Infinity}', "-inf"),
        ('{"doubleValue": 1e400}', "inf"),
    ],
)
def test_what_json_does_not_have_stands_as_text(told: str, read: str) -> None:
    (span,) = decode("traces", with_attribute(told), as_json=True).records
    assert read == span.attributes["a"]


def test_a_span_that_is_none_is_rejected_by_itself_and_the_agent_is_told(play) -> None:
    spans, _, _ = some_spans()
    body = as_json(spans).replace(b'"spanId": "', b'"spanId": "x', 1)
    answers = []
    content_type = {"Content-Type": "application/json"}
    record = play(
        "live", lambda agent: answers.append(agent.ask("POST", "/v1/traces", body, content_type)), model="live"
    )

    ((status, told),) = answers
    assert (200, "1") == (status, told["partialSuccess"]["rejectedSpans"])
    assert ["outer"] == [span.name for span in record.spans if span.attributes.get("harness.origin") == "agent"]
