"""The receiver speaks OTLP/HTTP: what it acknowledges is stored, redacted and once; the rest it refuses in words."""

import base64
import gzip
import json
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from google.protobuf import json_format
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from harness.errors import ResultsError, UsageError
from harness.production.receiver import AccessTokens
from harness.production.storage import SCHEMA, StoreLayout
from harness.production.store import SessionStore
from tests.production.receiving import Served, request, serving, span

CONVERSATION = "gen_ai.conversation.id"


def stored_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_spans_of_the_sdks_exporter_become_a_session(served: Served) -> None:
    provider = TracerProvider(resource=Resource({"service.version": "2.4"}))
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{served.url}/v1/traces")))
    tracer = provider.get_tracer("test")
    with tracer.start_as_current_span("invoke_agent shop") as root:
        root.set_attributes({"gen_ai.operation.name": "invoke_agent", CONVERSATION: "c1", "user.id": "u7"})
        with tracer.start_as_current_span("execute_tool look") as tool:
            tool.set_attributes({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"})
            tool.set_attributes({"gen_ai.tool.call.arguments": '{"id": 7}', "gen_ai.tool.call.result": "none"})
    provider.shutdown()

    (row,) = served.store().sessions()
    assert ("default:c1", "2.4", ("u7",), 2, False) == (row.key, row.release, row.users, row.records, row.trusted)
    trajectory = served.store().session("c1").trajectory
    assert trajectory is not None
    assert [("look", {"id": 7})] == [(call.name, call.arguments) for call in trajectory.calls]


@pytest.mark.parametrize("zipped", [False, True])
def test_the_same_spans_as_protobuf_and_json_are_stored_once(served: Served, zipped: bool) -> None:
    message = ExportTraceServiceRequest()
    one = message.resource_spans.add().scope_spans.add().spans.add()
    one.trace_id, one.span_id, one.name = bytes(15) + b"\1", bytes(7) + b"\2", "span 2"
    one.start_time_unix_nano, one.end_time_unix_nano = 1_700_000_000_000_002_000, 1_700_000_000_000_002_500
    one.attributes.add(key=CONVERSATION).value.string_value = "c1"
    one.attributes.add(key="n").value.int_value = 3
    same = span(1, 2, spanId=f"{2:016x}", attributes={"n": 3, CONVERSATION: "c1"})

    for _ in range(2):
        assert 200 == served.post("/v1/traces", message.SerializeToString(), zipped=zipped).status
        assert {} == served.post("/v1/traces", request(same), zipped=zipped).json
    assert [1] == [row.records for row in served.store().sessions()]


def test_spans_that_are_none_are_rejected_by_themselves(served: Served) -> None:
    bad = [span(1, 1, traceId="abc"), span(1, 2, spanId="0" * 16), span(1, 3, startTimeUnixNano="x"), span(1, 4)]
    answer = served.post("/v1/traces", request(*bad))

    told = answer.json["partialSuccess"]
    assert (200, "3") == (answer.status, told["rejectedSpans"])
    assert "trace id" in told["errorMessage"]
    assert [1] == [row.records for row in served.store().sessions()]
    message = ExportTraceServiceRequest()
    message.resource_spans.add().scope_spans.add().spans.add(name="without ids")
    response = ExportTraceServiceResponse.FromString(served.post("/v1/traces", message.SerializeToString()).body)
    assert 1 == response.partial_success.rejected_spans
    assert 3 == sum(count for name, count in served.receiver.counts.items() if name.startswith("rejected: its"))


@pytest.mark.parametrize(
    ("resources", "reason"),
    [
        ([{"scopeSpans": [{"spans": [None]}]}], "it is not in a list 'spans' of objects"),
        ([{"scopeSpans": [{"spans": 3}]}], "it is not in a list 'spans' of objects"),
        ([{"scopeSpans": {}}], "it is not in a list 'spans' of objects"),
        ([3], "it is not in a list 'spans' of objects"),
        ([{"instrumentationLibrarySpans": []}], "it is not in a list 'spans' of objects"),
        ([{"scopeSpans": [{"spans": [{**span(1, 1), "attributes": [3]}]}]}], "not a list of objects"),
        ([{"scopeSpans": [{"spans": [span(1, 1, startTimeUnixNano=-1)]}]}], "not a whole number of 64 bits"),
        ([{"scopeSpans": [{"spans": [span(1, 1, endTimeUnixNano=1.5)]}]}], "not a whole number of 64 bits"),
    ],
)
def test_what_holds_no_span_is_counted_with_the_reason(served: Served, resources: list[object], reason: str) -> None:
    answer = served.post("/v1/traces", {"resourceSpans": resources})
    assert (200, "1") == (answer.status, answer.json["partialSuccess"]["rejectedSpans"])
    assert reason in answer.json["partialSuccess"]["errorMessage"]
    assert {} == served.post("/v1/traces", {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}}]}]}).json
    assert [] == served.store().sessions()


def test_numbers_and_bytes_are_the_same_by_protobuf_and_by_json(served: Served) -> None:
    message = ExportTraceServiceRequest()
    sent = message.resource_spans.add().scope_spans.add().spans.add(trace_id=b"t" * 16, span_id=b"s" * 8, name="x")
    for value in ({"double_value": 1.0}, {"double_value": float("inf")}, {"bytes_value": b"\x00\xff"}):
        sent.attributes.add(key=str(value), value=value)
    same = json_format.MessageToDict(message)
    (as_json,) = same["resourceSpans"][0]["scopeSpans"][0]["spans"]
    as_json |= {"traceId": (b"t" * 16).hex(), "spanId": (b"s" * 8).hex()}
    assert 200 == served.post("/v1/traces", message.SerializeToString()).status
    assert {} == served.post("/v1/traces", same).json
    assert [1] == [row.records for row in served.store().sessions()]


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"\xff\xff", {}, 400),
        (b"not json", {"Content-Type": "application/json"}, 400),
        (b"[" * 100_000, {"Content-Type": "application/json"}, 400),
        (b'{"resourceSpans": 3}', {"Content-Type": "application/json"}, 400),
        (b'{"resource_spans": []}', {"Content-Type": "application/json"}, 400),
        (b'{"resourceLogs": []}', {"Content-Type": "application/json"}, 400),
        (b"x", {"Content-Type": "text/plain"}, 415),
        (b"x", {"Content-Encoding": "zstd"}, 415),
        (b"x", {"Content-Encoding": "gzip"}, 400),
        (gzip.compress(b"abc")[:-4], {"Content-Encoding": "gzip"}, 400),
        (gzip.compress(bytes(40 << 20)), {"Content-Encoding": "gzip"}, 413),
        (bytes(33 << 20), {}, 413),
    ],
    # Without names pytest would name the cases by their bytes, of which gzip's hold the time.
    ids=[
        "protobuf",
        "json",
        "nested",
        "shape",
        "snake case",
        "logs",
        "text",
        "zstd",
        "not gzip",
        "cut gzip",
        "gzip bomb",
        "large",
    ],
)
def test_requests_that_cannot_be_read_are_refused_and_counted(
    served: Served, body: bytes, headers: dict[str, str], status: int
) -> None:
    try:
        assert status == served.post("/v1/traces", body, headers=headers).status
    except (BrokenPipeError, ConnectionResetError):  # the receiver reads no more than its limit
        assert 413 == status
    assert 1 == served.receiver.counts[f"refused: {status}"]
    assert [] == served.store().sessions()


def test_credentials_are_never_written(served: Served) -> None:
    secrets = {"authorization": "Bearer abcdef0123456789abcdef", "note": "my key is sk-ant-REDACTED0123456789abcd"}
    nested = json.dumps({"password": "hunter22-hunter22", "city": "Oslo"})
    one = span(1, 1, attributes={**secrets, CONVERSATION: "c1", "gen_ai.tool.call.arguments": nested})
    one["events"] = [{"name": "e", "attributes": [{"key": "api_key", "value": {"stringValue": "plain-secret-value"}}]}]
    assert 200 == served.post("/v1/traces", request(one, resource={"token": "resource-secret"})).status

    content = stored_bytes(served.folder)
    for secret in (b"abcdef0123456789abcdef", b"sk-ant-REDACTED", b"hunter22", b"plain-secret", b"resource-secret"):
        assert secret not in content
    (kept,) = served.store().session("c1").spans
    assert "Oslo" in str(kept.attributes)


@pytest.mark.slow
def test_fifty_megabytes_are_cut_where_they_are_let_in_and_else_refused(served: Served, tmp_path: Path) -> None:
    body = json.dumps(request(span(1, 1, attributes={CONVERSATION: "c1", "big": "x" * (50 << 20)}))).encode()
    kind = {"Content-Type": "application/json"}
    assert 413 == served.post("/v1/traces", body, headers=kind, zipped=True).status
    assert 1 == served.receiver.counts["refused: 413"]
    with serving(tmp_path / "large", max_body=64 << 20) as large:
        assert 200 == large.post("/v1/traces", body, headers=kind, zipped=True).status
        assert 1 == large.receiver.counts["cut"]
        assert 1 << 20 == len(str(large.store().session("c1").spans[0].attributes["big"]))


def test_log_records_belong_to_their_span_or_to_their_session(served: Served) -> None:
    served.post("/v1/traces", request(span(1, 1, attributes={CONVERSATION: "c1"})))
    logs = ExportLogsServiceRequest()
    records = logs.resource_logs.add().scope_logs.add().log_records
    with_span = records.add(event_name="gen_ai.user.message", trace_id=bytes(15) + b"\1", time_unix_nano=5)
    with_span.span_id = (1001).to_bytes(8, "big")
    with_span.body.kvlist_value.values.add(key="content").value.string_value = "an egg"
    alone = records.add(event_name="claude_code.user_prompt", time_unix_nano=6)
    alone.attributes.add(key="session.id").value.string_value = "c2"

    assert 200 == served.post("/v1/logs", logs.SerializeToString()).status
    (kept,) = served.store().session("c1").spans
    assert [{"name": "gen_ai.user.message", "time_ns": 5, "attributes": {"content": "an egg"}}] == list(kept.events)
    assert ["claude_code.user_prompt"] == [one.name for one in served.store().session("c2").spans]


def test_a_token_says_who_sends_and_only_a_trusted_one_is_believed(tmp_path: Path) -> None:
    tokens = AccessTokens({"shop": "shop-token-0123456789"}, {"lab": "lab-token-0123456789"})
    with serving(tmp_path, tokens) as served:
        body = request(span(1, 1, attributes={CONVERSATION: "c1"}))
        assert [401, 401] == [
            served.post("/v1/traces", body, headers=headers).status
            for headers in ({}, {"Authorization": "Bearer wrong-token-0123456789"})
        ]
        for token in ("shop-token-0123456789", "lab-token-0123456789"):
            assert 200 == served.post("/v1/traces", body, headers={"Authorization": f"Bearer {token}"}).status
        rows = {row.key: row.trusted for row in served.store().sessions()}
    assert {"shop:c1": False, "lab:c1": True} == rows


def test_langfuse_sends_to_a_path_of_its_own_with_its_keys_and_metrics_are_ignored(tmp_path: Path) -> None:
    """As its SDK does: the public key as the user, the secret key as the password."""
    keys = base64.b64encode(b"pk-lf-1:shop-token-0123456789").decode()
    with serving(tmp_path, AccessTokens({"shop": "shop-token-0123456789"}, {})) as served:
        body = request(span(1, 1, attributes={CONVERSATION: "c1"}))
        for path in ("/api/public/otel/v1/traces", "/v1/metrics"):
            statuses = [served.post(path, body, headers={"Authorization": sent}).status
                        for sent in (f"Basic {keys}", "Basic cGs6d3Jvbmc=", "Basic ?")]  # fmt: skip
            assert [200, 401, 401] == statuses
        assert ["shop:c1"] == [row.key for row in served.store().sessions()]


def test_a_session_is_put_together_from_late_and_disordered_traces(served: Served) -> None:
    late = request(span(2, 1, attributes={CONVERSATION: "c1"}))
    served.post("/v1/traces", request(span(1, 2), span(1, 3)))  # its root, which names the session, comes later
    (before,) = served.store().sessions()
    served.post("/v1/traces", request(span(1, 1, attributes={CONVERSATION: "c1"})))
    served.post("/v1/traces", late)

    (row,) = served.store().sessions()
    assert ("default:c1", 4, 2) == (row.key, row.records, len(row.trace_ids))
    assert before.key == f"default:trace:{1:032x}"
    assert not row.is_complete(row.received_last_ns + 10**9, pause_s=5)
    assert row.is_complete(row.received_last_ns + 6 * 10**9, pause_s=5)
    served.post("/v1/traces", late)
    assert row.digest == served.store().sessions()[0].digest


def test_a_session_is_the_same_alone_and_in_the_list(served: Served) -> None:
    first = span(1, 1, attributes={CONVERSATION: "c1", "user.id": "u2", "user.feedback": 0.4})
    failed = span(1, 2, status={"code": 2}, attributes={"user.id": "u1", "gen_ai.request.model": "m"})
    early = span(2, 1, startTimeUnixNano="7", attributes={"user.feedback": 0.9, CONVERSATION: "c1"})
    for batch in ([failed, first], [early, span(3, 1, attributes={CONVERSATION: "c2"})], [failed]):
        served.post("/v1/traces", request(*batch, resource={"service.version": "2.4"}))
    served.post("/v1/traces", request(first))

    for row in served.store().sessions():
        assert row == served.store().session(row.key).row
    assert {"default:c1", "default:c2"} == {row.key for row in served.store().sessions()}


def test_deleted_sessions_and_users_are_in_no_file_any_more(served: Served) -> None:
    for number, user in ((1, "ann"), (2, "bob"), (3, "ann")):
        served.post(
            "/v1/traces", request(span(number, 1, attributes={CONVERSATION: f"chat-{number}", "user.id": user}))
        )
    served.post("/v1/traces", request(span(4, 1, attributes={CONVERSATION: "chat-4", "user.id": "ann"})))

    assert 1 == served.store().delete(session="chat-2")
    assert 3 == served.store().delete(user_id="ann")
    assert [] == served.store().sessions()
    assert not [word for word in (b"chat-", b"ann", b"bob") if word in stored_bytes(served.folder)]
    served.post("/v1/traces", request(span(5, 1, attributes={CONVERSATION: "chat-1", "user.id": "ann"})))
    assert ["default:chat-1"] == [row.key for row in served.store().sessions()]


def test_a_store_of_a_newer_schema_and_a_second_receiver_are_refused(served: Served) -> None:
    with pytest.raises(ResultsError, match="receiver"), serving(served.folder):
        pass
    with closing(StoreLayout(served.folder).open()) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(ResultsError, match=rf"\b99\b.*\b{SCHEMA}\b"):
        SessionStore.open(served.folder)


@pytest.mark.parametrize(
    "value",
    [{"doubleValue": 10**400}, {"intValue": str(1 << 64)}, {"arrayValue": {"values": [{"doubleValue": 10**30}]}}],
)
def test_a_number_of_more_than_64_bits_costs_its_record_only(served: Served, value: dict[str, object]) -> None:
    bad = {**span(1, 1), "attributes": [{"key": "user.feedback", "value": value}]}

    answer = served.post("/v1/traces", request(bad, span(2, 1)))

    assert (200, "1") == (answer.status, answer.json["partialSuccess"]["rejectedSpans"])
    assert [1] == [row.records for row in served.store().sessions()]


def test_half_a_surrogate_pair_anywhere_leaves_the_store_readable(served: Served) -> None:
    half = "a\ud800b"
    one = span(1, 1, name=half, attributes={half: half}, events=[{"name": half, "attributes": []}])
    assert {} == served.post("/v1/traces", request(one, span(2, 1), resource={half: half})).json

    assert 2 == len(served.store().sessions())


def test_a_resource_is_bounded_as_records_are(served: Served) -> None:
    message = ExportTraceServiceRequest()
    group = message.resource_spans.add()
    group.resource.attributes.add(key="load").value.double_value = float("inf")
    group.resource.attributes.add(key="padding").value.string_value = "x" * 1_000_000
    for number in range(1, 51):
        one = group.scope_spans.add().spans.add(name="s", trace_id=bytes(15) + b"\1", span_id=number.to_bytes(8, "big"))
        one.start_time_unix_nano = one.end_time_unix_nano = 1_700_000_000_000_000_000

    assert 200 == served.post("/v1/traces", message.SerializeToString()).status

    assert [50] == [row.records for row in served.store().sessions()]
    assert len(stored_bytes(served.folder)) < 50 * 100_000


def test_a_request_that_would_be_stored_much_larger_is_refused(tmp_path: Path) -> None:
    spans = [span(1, number) for number in range(400)]
    with serving(tmp_path / "online", max_body=200_000) as served:
        answer = served.post("/v1/traces", request(*spans, resource={"padding": "x" * 50_000}))
        assert 413 == answer.status
        assert "smaller batches" in answer.json["message"]
        assert [] == served.store().sessions()


def test_what_follows_a_gzip_stream_is_not_read(served: Served) -> None:
    body = gzip.compress(b"") + bytes(200_000)
    assert 400 == served.post("/v1/traces", body, headers={"Content-Encoding": "gzip"}).status


def test_a_web_page_whose_name_leads_here_is_refused_without_a_token(served: Served) -> None:
    for host, status in (("pages.example", 403), ("localhost:4318", 200), ("127.0.0.1", 200), ("[::1]:4318", 200)):
        assert status == served.post("/v1/traces", request(span(1, 1)), headers={"Host": host}).status


@pytest.mark.parametrize(("tokens", "name"), [({"shop": "a" * 16}, "shop"), ({}, "default")])
def test_a_trusted_source_has_a_name_of_its_own(tokens: dict[str, str], name: str) -> None:
    with pytest.raises(UsageError, match=repr(name)):
        AccessTokens(tokens, {name: "b" * 16})


@pytest.mark.slow
def test_a_record_of_too_many_values_is_rejected_and_the_largest_that_is_taken_can_be_read(served: Served) -> None:
    wide, character = -1.2345678901234567e-300, "\U0001f600"
    message = ExportTraceServiceRequest()
    group = message.resource_spans.add()
    group.resource.attributes.add(key="r").value.string_value = character * (1 << 16)
    spans = group.scope_spans.add().spans
    for number, values in ((1, 49_990), (2, 50_001)):
        one = spans.add()
        one.trace_id, one.span_id = bytes(15) + bytes([number]), bytes(7) + bytes([number])
        one.attributes.add(key=CONVERSATION).value.string_value = f"c{number}"
        items = one.attributes.add(key="n").value.array_value.values
        items.extend([AnyValue(double_value=wide)] * values)
        if number == 1:
            for name in ("a", "b"):
                one.attributes.add(key=name).value.string_value = character * (1 << 20)

    answered = served.post("/v1/traces", message.SerializeToString(), zipped=True)

    partial = ExportTraceServiceResponse.FromString(answered.body).partial_success
    assert (200, 1) == (answered.status, partial.rejected_spans)
    assert "50000" in partial.error_message
    assert ["default:c1"] == [row.key for row in served.store().sessions()]


@pytest.mark.slow
@pytest.mark.parametrize("empty", [b"{}", b"[]", b"1"])
def test_a_json_request_of_millions_of_empty_values_is_refused_before_it_is_read(served: Served, empty: bytes) -> None:
    empty = b'{"resourceSpans":[{"scopeSpans":[{"spans":[' + b",".join([empty] * 4_000_001) + b"]}]}]}"
    answered = served.post("/v1/traces", empty, headers={"Content-Type": "application/json"}, zipped=True)
    assert (400, True) == (answered.status, "4000000" in answered.json["message"])
    braces = request(span(1, 2, attributes={CONVERSATION: "c1", "text": "{" * 4_000_001}))
    assert 200 == served.post("/v1/traces", braces).status
    assert ["default:c1"] == [row.key for row in served.store().sessions()]


@pytest.mark.slow
@pytest.mark.parametrize("as_json", [False, True])
def test_a_request_that_takes_long_to_read_holds_nobody_else(served: Served, as_json: bool) -> None:
    """A million events of two bytes each took seconds in which nobody else was answered."""
    holder = ExportTraceServiceRequest()
    events = holder.resource_spans.add().scope_spans.add().spans.add().events
    for _ in range(900_000):
        events.add()
    body = holder.SerializeToString()
    if as_json:
        body = json.dumps(request(span(1, 1, events=[{}] * 1_500_000))).encode()
    packed, began = gzip.compress(body, 1), time.monotonic()
    ended, waits = list[float](), list[float]()

    def send() -> None:
        kind = {"Content-Type": "application/json"} if as_json else {}
        try:
            served.post("/v1/traces", packed, headers={"Content-Encoding": "gzip", **kind})
        finally:  # a request that fails must not leave the loop below without an end
            ended.append(time.monotonic())

    thread = threading.Thread(target=send)
    thread.start()
    while not ended:
        asked = time.monotonic()
        assert 200 == served.post("/v1/traces", request(span(2, len(waits) + 1))).status
        waits.append(time.monotonic() - asked)
    thread.join()
    assert max(waits) < (ended[0] - began) / 2


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/v1/traces", "/v1/logs"])
def test_a_protobuf_request_of_empty_records_is_refused_before_it_is_parsed(served: Served, path: str) -> None:
    def field(number: int, content: bytes) -> bytes:
        group = ExportTraceServiceRequest()  # any message: an unknown field's length is a varint of protobuf's own
        group.resource_spans.add().scope_spans.add().schema_url = "x" * len(content)
        length = group.resource_spans[0].scope_spans[0].SerializeToString()[1 : -len(content)]
        return bytes([number << 3 | 2]) + length + content

    for empty in (field(1, field(2, b"\x12\x00" * 500_001)), field(1, b"\x12\x00" * 500_001), b"\x0a\x00" * 500_001):
        answered = served.post(path, empty, zipped=True)
        assert 400 == answered.status
        assert b"at most 500000 records" in answered.body
    assert 200 == served.post(path, field(1, field(2, b"\x12\x00" * 1_000))).status


@pytest.mark.slow
@pytest.mark.parametrize("of", ["attributes", "events", "links", "values", "attributes of the resource"])
def test_a_protobuf_request_of_empty_messages_is_refused_before_it_is_parsed(served: Served, of: str) -> None:
    """A few kilobytes on the way would take a gigabyte and minutes."""
    holder = ExportTraceServiceRequest()
    group = holder.resource_spans.add()
    span = group.scope_spans.add().spans.add(trace_id=bytes(range(16)), span_id=bytes(range(8)), start_time_unix_nano=1)
    values = span.attributes.add(key="k").value.array_value.values
    of_a_name = {"attributes": span.attributes, "events": span.events, "links": span.links, "values": values,
                 "attributes of the resource": group.resource.attributes}  # fmt: skip
    for _ in range(1_000):
        of_a_name[of].add()
    assert 200 == served.post("/v1/traces", holder.SerializeToString(), zipped=True).status
    for _ in range(1_000_000):
        of_a_name[of].add()
    answered = served.post("/v1/traces", holder.SerializeToString(), zipped=True)

    assert 400 == answered.status
    assert b"at most 1000000 " in answered.body
