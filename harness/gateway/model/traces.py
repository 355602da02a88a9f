"""`POST /v1/traces`: the agent's own spans, linked into its trial's trace."""

from aiohttp import web

from harness.cassette import Redactor
from harness.gateway.incoming import read_body
from harness.trace import NotOtlp, Span, TraceRecorder, spans_of
from harness.upstream import OWN_TRACES, Refusal
from harness.values import JsonObject

_MAX_BYTES = 16 * 1024 * 1024
_MAX_SPANS = 20_000
_JSON = "application/json"
_PROTOBUF = "application/x-protobuf"


class TracesHandler:
    """Accepts OTLP over HTTP, as protobuf and JSON; a trial stores a limited number of spans, and reports that further
    ones were dropped.
    """

    def __init__(self, recorder: TraceRecorder, redactor: Redactor) -> None:
        self._recorder = recorder
        self._redactor = redactor
        self._taken = 0
        self._bytes = 0

    def opens(self, path: str) -> bool:
        return path == OWN_TRACES

    async def handle(self, request: web.BaseRequest, *, is_open: bool) -> web.StreamResponse:
        """One export request; after the end of the trial, spans are discarded."""
        if request.method != "POST":
            raise Refusal(404, "no_such_route", f"spans are sent by POST {OWN_TRACES}")
        body = await read_body(request, _MAX_BYTES)
        as_json = request.headers.get("content-type", "").startswith(_JSON)
        try:
            spans = spans_of(body, as_json=as_json) if is_open else ()
        except NotOtlp as error:
            raise Refusal(400, "bad_request", str(error)) from None
        self._bytes += len(body)
        room = _MAX_SPANS - self._taken if self._bytes <= 4 * _MAX_BYTES else 0
        kept = spans[: max(room, 0)]
        self._taken += len(kept)
        self._recorder.link(self._clean(span) for span in kept)
        return web.Response(body=b"{}" if as_json else b"", content_type=_JSON if as_json else _PROTOBUF)

    def _clean(self, span: Span) -> Span:
        attributes = self._redactor.value(span.attributes)
        events = [self._redactor.value(event) for event in span.events]
        return span.model_copy(
            update={
                "name": self._redactor.text(span.name),
                "attributes": attributes if isinstance(attributes, dict) else {},
                "events": tuple[JsonObject, ...](event for event in events if isinstance(event, dict)),
            }
        )
