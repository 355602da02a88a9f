"""The wire of the OpenTelemetry Collector, after its documentation: the published examples of OTLP JSON, with ids in
capital letters and numbers as text, and what its `otlphttp` exporter sends, with every field that it fills.
"""

from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.production.receiving import Served

TRACE, SPAN, PARENT = "5B8EFFF798038103D269B633813FC60C", "EEE19B7EC3C1B174", "EEE19B7EC3C1B173"
HEADERS = {"User-Agent": "OpenTelemetry Collector Contrib/0.142.0 (linux/amd64)"}


def attribute(key: str, **value: Any) -> dict[str, Any]:
    return {"key": key, "value": value}


RESOURCE = {"attributes": [attribute("service.name", stringValue="my.service")], "droppedAttributesCount": 0}
SCOPE = {"name": "my.library", "version": "1.0.0", "attributes": [attribute("my.scope.attribute", stringValue="some")]}
TRACES = {
    "resourceSpans": [
        {
            "resource": RESOURCE,
            "scopeSpans": [
                {
                    "scope": SCOPE,
                    "spans": [
                        {
                            "traceId": TRACE,
                            "spanId": SPAN,
                            "parentSpanId": PARENT,
                            "name": "I'm a server span",
                            "startTimeUnixNano": "1544712660000000000",
                            "endTimeUnixNano": "1544712661000000000",
                            "kind": 2,
                            "attributes": [attribute("my.span.attr", stringValue="some value")],
                            "status": {},
                            "flags": 256,
                        }
                    ],
                    "schemaUrl": "https://opentelemetry.io/schemas/1.37.0",
                }
            ],
        }
    ]
}
LOGS = {
    "resourceLogs": [
        {
            "resource": RESOURCE,
            "scopeLogs": [
                {
                    "scope": SCOPE,
                    "logRecords": [
                        {
                            "timeUnixNano": "1544712660300000000",
                            "observedTimeUnixNano": "1544712660300000000",
                            "severityNumber": 10,
                            "severityText": "Information",
                            "traceId": TRACE,
                            "spanId": SPAN,
                            "body": {"stringValue": "Example log record"},
                            "attributes": [
                                attribute("string.attribute", stringValue="some string"),
                                attribute("boolean.attribute", boolValue=True),
                                attribute("int.attribute", intValue="10"),
                                attribute("double.attribute", doubleValue=637.704),
                                attribute(
                                    "array.attribute",
                                    arrayValue={"values": [{"stringValue": "many"}, {"stringValue": "values"}]},
                                ),
                                attribute(
                                    "map.attribute",
                                    kvlistValue={"values": [attribute("some.map.key", stringValue="some value")]},
                                ),
                            ],
                        }
                    ],
                }
            ],
        }
    ]
}


def test_the_published_examples_of_otlp_json_become_one_session(served: Served) -> None:
    assert {} == served.post("/v1/traces", TRACES, headers=HEADERS).json
    assert {} == served.post("/v1/logs", LOGS, headers=HEADERS, zipped=True).json
    (row,) = served.store().sessions()
    assert (TRACE.lower(),) == row.trace_ids
    (span,) = served.store().session(row.key).spans
    assert (SPAN.lower(), PARENT.lower(), "I'm a server span") == (span.span_id, span.parent_id, span.name)
    assert (1544712660 * 10**9, 1544712661 * 10**9) == (span.start_ns, span.end_ns)
    assert "some value" == span.attributes["my.span.attr"]
    (event,) = span.events
    facts: Any = event["attributes"]
    assert ("Example log record", True, 10, 637.704) == (
        facts["content"],
        facts["boolean.attribute"],
        facts["int.attribute"],
        facts["double.attribute"],
    )
    assert (["many", "values"], {"some.map.key": "some value"}) == (facts["array.attribute"], facts["map.attribute"])


def filled() -> ExportTraceServiceRequest:
    """A batch as `otlphttp` sends it: every field of a span filled, two resources, one without spans."""
    message = ExportTraceServiceRequest()
    message.resource_spans.add(schema_url="https://opentelemetry.io/schemas/1.37.0")
    resource = message.resource_spans.add(schema_url="https://opentelemetry.io/schemas/1.37.0")
    resource.resource.attributes.add(key="service.version").value.string_value = "2.4"
    resource.resource.dropped_attributes_count = 3
    scope = resource.scope_spans.add(schema_url="https://opentelemetry.io/schemas/1.37.0")
    scope.scope.name, scope.scope.version = "agent", "1"
    span = scope.spans.add(
        trace_id=bytes.fromhex(TRACE),
        span_id=bytes.fromhex(SPAN),
        trace_state="vendor=1",
        flags=257,
        name="chat",
        kind=Span.SPAN_KIND_CLIENT,
        start_time_unix_nano=1544712660 * 10**9,
        end_time_unix_nano=1544712661 * 10**9,
        dropped_attributes_count=1,
        dropped_events_count=1,
        dropped_links_count=1,
    )
    span.attributes.add(key="gen_ai.conversation.id").value.string_value = "c1"
    span.attributes.add(key="raw").value.bytes_value = b"\x00\xff"
    span.links.add(trace_id=b"\x01" * 16, span_id=b"\x02" * 8, trace_state="a=b", flags=1)
    span.events.add(name="exception", time_unix_nano=1544712660 * 10**9 + 5, dropped_attributes_count=1)
    span.status.code, span.status.message = 2, "deadline exceeded"
    return message


def test_a_batch_of_the_collectors_exporter_is_taken_with_every_field_that_it_fills(served: Served) -> None:
    answer = served.post("/v1/traces", filled().SerializeToString(), headers=HEADERS, zipped=True)
    assert (200, b"") == (answer.status, answer.body)
    (row,) = served.store().sessions()
    assert ("default:c1", "2.4", 1) == (row.key, row.release, row.errors)
    (span,) = served.store().session("c1").spans
    assert "00ff" == span.attributes["raw"]
    assert ["exception"] == [event["name"] for event in span.events]


def test_a_batch_that_the_collector_sends_again_is_one(served: Served) -> None:
    body = filled().SerializeToString()
    for _ in range(2):
        assert 200 == served.post("/v1/traces", body, headers=HEADERS, zipped=True).status
    assert 200 == served.post("/v1/traces", b"", headers=HEADERS).status
    assert [1] == [row.records for row in served.store().sessions()]
