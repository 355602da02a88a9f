"""`POST /v1/traces`: the agent's own spans, linked into its trial's trace."""

import asyncio

from aiohttp import web
from pydantic import JsonValue

from harness.cassettes.redaction import Redactor
from harness.gateway.bodies import read_body
from harness.gateway.exchange import LargeWork
from harness.gateway.upstream.transport import Refusal
from harness.traces.otlp import Decoded, NotOtlp, RawRecord, answer, decode
from harness.traces.recorder import TraceRecorder, Volume
from harness.traces.spans import Span
from harness.values import JsonObject

OWN_TRACES = "/v1/traces"
"""The path of spans, among the paths of models."""
_MAX_BYTES = 16 * 1024 * 1024
_MAX_SPANS = 20_000
_MAX_REQUEST_VALUES = 200_000
_MAX_VALUES = 1_000_000
"""Of all spans of a trial: they are held until it ends, and a value takes more memory than its bytes in a request."""
_JSON = "application/json"
_PROTOBUF = "application/x-protobuf"


class TracesHandler:
    """Accepts OTLP over HTTP, as protobuf and JSON; a trial stores a limited number of spans."""

    def __init__(self, recorder: TraceRecorder, redactor: Redactor, large: LargeWork, volume: Volume) -> None:
        self._recorder = recorder
        self._volume = volume
        self._redactor = redactor
        self._large = large
        self._taken = 0
        self._bytes = 0
        self._values = 0
        self._turn = asyncio.Lock()

    def opens(self, path: str) -> bool:
        return path == OWN_TRACES

    async def handle(self, request: web.BaseRequest, *, is_open: bool) -> web.StreamResponse:
        """One export request; after the end of the trial, spans are discarded."""
        if request.method != "POST":
            raise Refusal(404, "no_such_route", f"spans are sent by POST {OWN_TRACES}")
        body = await read_body(request, _MAX_BYTES)
        as_json = request.headers.get("content-type", "").startswith(_JSON)
        decoded = Decoded()
        if is_open:
            async with self._turn:  # one request at a time, whose spans take more memory than its bytes
                decoded = await self._take(body, as_json=as_json)
        content_type = _JSON if as_json else _PROTOBUF
        return web.Response(body=answer("traces", decoded, as_json=as_json), content_type=content_type)

    async def _take(self, body: bytes, *, as_json: bool) -> Decoded:
        """Links the spans of a request, or those for which there is room. Raises Refusal, with none of them linked."""
        self._bytes += len(body)
        self._volume.add(len(body))
        room = _MAX_SPANS - self._taken
        if room <= 0 or self._bytes > 4 * _MAX_BYTES or self._values > _MAX_VALUES:
            return Decoded()

        def decoded_and_redacted() -> tuple[Decoded, list[Span]]:
            decoded = decode("traces", body, as_json=as_json, most=_MAX_REQUEST_VALUES)
            return decoded, [self._redacted_span(record) for record in decoded.records[:room]]

        try:
            # after the large work that was asked for before: a token that it learns may be in the spans
            decoded, kept = await self._large.done(len(body), decoded_and_redacted)
        except NotOtlp as error:
            raise Refusal(400, "bad_request", str(error)) from None
        self._taken += len(kept)
        self._values += sum(_size(span.attributes) + sum(map(_size, span.events)) for span in kept)
        self._recorder.link(kept)
        return decoded

    def _redacted_span(self, record: RawRecord) -> Span:
        span = record.span()
        attributes = self._redactor.value(span.attributes)
        events = [self._redactor.value(event) for event in span.events]
        return span.model_copy(
            update={
                "name": self._redactor.text(span.name),
                "attributes": attributes if isinstance(attributes, dict) else {},
                "events": tuple[JsonObject, ...](event for event in events if isinstance(event, dict)),
            }
        )


def _size(value: JsonValue) -> int:
    """How many values there are in a value, itself included."""
    match value:
        case dict():
            return 1 + sum(map(_size, value.values()))
        case list():
            return 1 + sum(map(_size, value))
        case _:
            return 1
