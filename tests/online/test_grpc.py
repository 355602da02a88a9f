"""OTLP/gRPC is taken as OTLP/HTTP is: by OpenTelemetry's own exporter, with tokens, limits, and backpressure."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2_grpc import LogsServiceStub
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from harness.online import AccessTokens
from tests.online.receiving import Served, request, serving, span

CONVERSATION = "gen_ai.conversation.id"
TOKEN = "shop-token-0123456789"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path / "online", grpc_port=0) as running:
        yield running


@contextmanager
def connected(served: Served) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(f"127.0.0.1:{served.receiver.grpc_port}") as channel:
        yield channel


def spans(*sessions: str, **more: str) -> ExportTraceServiceRequest:
    message = ExportTraceServiceRequest()
    scope = message.resource_spans.add().scope_spans.add()
    for number, session in enumerate(sessions, 1):
        one = scope.spans.add(name="s", trace_id=number.to_bytes(16, "big"), span_id=number.to_bytes(8, "big"))
        one.start_time_unix_nano = one.end_time_unix_nano = 1_700_000_000_000_000_000
        for key, value in {CONVERSATION: session, **more}.items():
            one.attributes.add(key=key).value.string_value = value
    return message


def refusal(served: Served, message: ExportTraceServiceRequest, **options: Any) -> grpc.RpcError:
    with connected(served) as channel, pytest.raises(grpc.RpcError) as caught:
        TraceServiceStub(channel).Export(message, timeout=30, **options)
    return caught.value


def retry_info(error: grpc.RpcError) -> RetryInfo | None:
    """What tells an exporter to send the request again."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            info = RetryInfo()
            assert Status.FromString(value).details[0].Unpack(info)
            return info
    return None


def test_spans_of_the_sdks_exporter_become_a_session(served: Served) -> None:
    exporter = OTLPSpanExporter(f"http://127.0.0.1:{served.receiver.grpc_port}", insecure=True)
    provider = TracerProvider(resource=Resource({"service.version": "2.4"}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("test")
    with tracer.start_as_current_span("invoke_agent shop") as root:
        root.set_attributes({"gen_ai.operation.name": "invoke_agent", CONVERSATION: "c1"})
        with tracer.start_as_current_span("execute_tool look") as tool:
            tool.set_attributes({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"})
            tool.set_attributes({"gen_ai.tool.call.arguments": '{"id": 7}', "gen_ai.tool.call.result": "none"})
    provider.shutdown()

    (row,) = served.store().sessions()
    assert ("default:c1", "2.4", 2) == (row.key, row.release, row.records)
    trajectory = served.store().trajectory("c1")
    assert trajectory is not None
    assert [("look", {"id": 7})] == [(call.name, call.arguments) for call in trajectory.calls]


def test_the_same_span_by_grpc_and_by_http_is_one(served: Served) -> None:
    with connected(served) as channel:
        TraceServiceStub(channel).Export(spans("c1"), compression=grpc.Compression.Gzip)
    assert 200 == served.post("/v1/traces", spans("c1").SerializeToString()).status
    assert [1] == [row.records for row in served.store().sessions()]
    assert 2 == served.receiver.counts["spans"]


def test_log_records_and_partial_success(served: Served) -> None:
    logs = ExportLogsServiceRequest()
    alone = logs.resource_logs.add().scope_logs.add().log_records.add(event_name="claude_code.user_prompt")
    alone.attributes.add(key="session.id").value.string_value = "c2"
    bad = spans("c1")
    bad.resource_spans[0].scope_spans[0].spans.add(name="without ids")
    with connected(served) as channel:
        assert not LogsServiceStub(channel).Export(logs).HasField("partial_success")
        answer = TraceServiceStub(channel).Export(bad)
    assert 1 == answer.partial_success.rejected_spans
    assert "trace id" in answer.partial_success.error_message
    assert {"default:c1", "default:c2"} == {row.key for row in served.store().sessions()}


def test_a_token_is_needed_and_names_the_source(tmp_path: Path) -> None:
    with serving(tmp_path, AccessTokens({"shop": TOKEN}, {}), grpc_port=0) as served:
        for metadata in ((), (("authorization", "Bearer wrong-token-0123456789"),)):
            assert grpc.StatusCode.UNAUTHENTICATED == refusal(served, spans("c1"), metadata=metadata).code()
        assert 2 == served.receiver.counts["refused: 401"]
        with connected(served) as channel:
            told = (("authorization", f"Bearer {TOKEN}"),)
            TraceServiceStub(channel).Export(spans("c1"), metadata=told)
        assert ["shop:c1"] == [row.key for row in served.store().sessions()]


def test_where_too_much_waits_exporters_are_told_when_to_send_again(tmp_path: Path) -> None:
    with serving(tmp_path, max_waiting=0, grpc_port=0) as served:
        error = refusal(served, spans("c1"))
        info = retry_info(error)
        assert grpc.StatusCode.RESOURCE_EXHAUSTED == error.code()
        assert info is not None
        assert 1 == info.retry_delay.seconds
        assert [] == served.store().sessions()


@pytest.mark.parametrize("compression", [None, grpc.Compression.Gzip])
def test_what_is_too_large_is_refused_for_good(tmp_path: Path, compression: grpc.Compression | None) -> None:
    with serving(tmp_path, max_body=100_000, grpc_port=0) as served:
        error = refusal(served, spans("c1", padding="x" * 200_000), compression=compression)
        assert grpc.StatusCode.RESOURCE_EXHAUSTED == error.code()
        assert retry_info(error) is None
        assert [] == served.store().sessions()


def test_what_is_no_request_is_refused(served: Served) -> None:
    with connected(served) as channel, pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")(b"\xff\xff")
    assert grpc.StatusCode.INVALID_ARGUMENT == caught.value.code()
    assert 1 == served.receiver.counts["refused: 400"]


def test_credentials_are_never_written(served: Served) -> None:
    with connected(served) as channel:
        message = spans("c1", authorization="Bearer abcdef0123456789abcdef")
        TraceServiceStub(channel).Export(message)
    content = b"".join(path.read_bytes() for path in served.folder.rglob("*") if path.is_file())
    assert b"abcdef0123456789" not in content
    assert b"c1" in content


def test_http_goes_on_beside_it_and_a_taken_port_is_told(served: Served, tmp_path: Path) -> None:
    assert 200 == served.post("/v1/traces", request(span(1, 1))).status
    with (
        pytest.raises(OSError, match=str(served.receiver.grpc_port)),
        serving(tmp_path / "other", grpc_port=served.receiver.grpc_port),
    ):
        pass


def test_without_grpcio_the_option_names_the_extra(tmp_path: Path) -> None:
    start = "import sys; sys.modules['grpc'] = None; from harness.cli.main import main; main()"
    words = ("ingest", "serve", "--port", "0", "--grpc-port", "0", "--store", str(tmp_path / "online"))
    done = subprocess.run([sys.executable, "-c", start, *words], capture_output=True, text=True, timeout=60)
    assert 2 == done.returncode
    assert "`grpc`" in done.stderr
