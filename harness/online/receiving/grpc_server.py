"""OTLP/gRPC: the two export services over the same intake as OTLP/HTTP. Needs the extra `grpc`.

Backpressure is RESOURCE_EXHAUSTED or UNAVAILABLE with google.rpc.RetryInfo, as the OpenTelemetry protocol has it;
without RetryInfo an exporter drops the request.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from harness.distribution import extra_remedy
from harness.errors import UsageError
from harness.online.receiving.intake import Intake, Refused
from harness.online.receiving.wire import Signal, answer

if TYPE_CHECKING:
    import grpc

_SERVICES: Final[dict[str, Signal]] = {
    "opentelemetry.proto.collector.trace.v1.TraceService": "traces",
    "opentelemetry.proto.collector.logs.v1.LogsService": "logs",
}
_ENDING_S: Final = 10
_STATUS: Final = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 413: "RESOURCE_EXHAUSTED",
                  429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}  # fmt: skip
"""HTTP status of a refusal -> its code in gRPC."""
_DETAILS: Final = "grpc-status-details-bin"


class GrpcServer:
    """Serves until it is closed; belongs to one event loop."""

    def __init__(self, intake: Intake) -> None:
        """Raises UsageError where the extra is missing."""
        try:
            import grpc.aio
            from google.rpc import error_details_pb2  # noqa: F401 - only tests that it is installed
        except ImportError:
            raise UsageError("OTLP/gRPC needs the extra `grpc`", remedy=extra_remedy("grpc")) from None
        self._intake = intake
        # One byte more than is taken: what is larger is refused by its own words, and counted.
        limit = ("grpc.max_receive_message_length", intake.max_body + 1)
        self._server = grpc.aio.server(options=[limit, ("grpc.so_reuseport", 0)])
        for service, signal in _SERVICES.items():
            method = grpc.unary_unary_rpc_method_handler(self._handler(signal))
            handler = grpc.method_handlers_generic_handler(service, {"Export": method})
            self._server.add_generic_rpc_handlers((handler,))

    async def start(self, host: str, port: int) -> int:
        """Begins to listen; the port. Raises OSError where it is taken."""
        address = f"[{host}]" if ":" in host else host
        try:
            bound = self._server.add_insecure_port(f"{address}:{port}")
        except RuntimeError as error:
            raise OSError(f"gRPC cannot listen on {address}:{port}: {error}") from None
        await self._server.start()
        return int(bound)

    async def close(self) -> None:
        """Ends when the requests under way are answered."""
        await self._server.stop(_ENDING_S)

    def _handler(self, signal: Signal) -> "Callable[[bytes, grpc.aio.ServicerContext[Any, Any]], Awaitable[bytes]]":
        async def export(body: bytes, context: "grpc.aio.ServicerContext[Any, Any]") -> bytes:
            try:
                return await self._export(signal, body, context)
            except Refused as refusal:
                self._intake.counts[f"refused: {refusal.status}"] += 1
                await _abort(context, refusal)
                raise

        return export

    async def _export(self, signal: Signal, body: bytes, context: "grpc.aio.ServicerContext[Any, Any]") -> bytes:
        metadata = {name: value for name, value in context.invocation_metadata() or () if isinstance(value, str)}
        sender = self._intake.source_of(metadata.get("authorization", ""))
        self._intake.check_room()
        if len(body) > self._intake.max_body:
            raise Refused(413, f"a request is at most {self._intake.max_body} bytes, also after decompression")
        return answer(signal, await self._intake.take(signal, body, sender), as_json=False)


async def _abort(context: "grpc.aio.ServicerContext[Any, Any]", refusal: Refused) -> None:
    import grpc
    from google.rpc.error_details_pb2 import RetryInfo
    from google.rpc.status_pb2 import Status

    code = grpc.StatusCode[_STATUS[refusal.status]]
    if refusal.retry_after_s is None:
        await context.abort(code, refusal.words)
    status = Status(code=code.value[0], message=refusal.words)
    retry = RetryInfo()
    retry.retry_delay.seconds = refusal.retry_after_s or 0
    status.details.add().Pack(retry)
    await context.abort(code, refusal.words, ((_DETAILS, status.SerializeToString()),))
