"""Sends spans to an OTLP collector while their trials run."""

import logging
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.util.re import parse_env_headers
from typing_extensions import override

from harness.errors import UsageError
from harness.plugins import extra_remedy
from harness.traces.tracer import is_reported, size_of

if TYPE_CHECKING:
    import requests


FROM_ENVIRONMENT = "env"
"""The value of an endpoint that selects the one in OpenTelemetry's environment variables."""
_ENDPOINT, _TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
_HEADERS, _TRACES_HEADERS = "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"
_PATH = "v1/traces"
_TIMEOUT_S = 5.0
_SILENT = (
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.sdk._shared_internal",
    "opentelemetry.util.re",
)
"""These loggers write the endpoint's messages and unreadable headers, which may contain keys, and a line for each lost
span; the run reports lost spans itself.
"""


def otlp_endpoint(endpoint: str) -> str:
    """The URL that spans are posted to; `/v1/traces` is added if an endpoint has no path.

    `env` stands for OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, which is used unchanged, or for OTEL_EXPORTER_OTLP_ENDPOINT, to
    which `/v1/traces` is always appended. Raises UsageError if the value is not an HTTP URL, or the environment sets
    none.
    """
    if endpoint != FROM_ENVIRONMENT:
        return _with_path(endpoint, f"the OTLP endpoint {endpoint!r}")
    if whole := os.environ.get(_TRACES_ENDPOINT):
        _check(whole, f"{_TRACES_ENDPOINT}={whole!r}")
        return whole
    if base := os.environ.get(_ENDPOINT):
        _check(base, f"{_ENDPOINT}={base!r}")
        return _traces_url(base)
    raise UsageError(
        f"the OTLP endpoint is to be the environment's, and neither {_TRACES_ENDPOINT} nor {_ENDPOINT} is set",
        remedy=f"set {_ENDPOINT}, or name the endpoint: --otlp http://127.0.0.1:4318",
    )


def otlp_headers() -> dict[str, str]:
    """The headers in OTEL_EXPORTER_OTLP_HEADERS, for every request; they may contain keys.

    Raises UsageError, without the text itself, for an entry that is not `name=value`.
    """
    variable = _TRACES_HEADERS if os.environ.get(_TRACES_HEADERS) else _HEADERS
    headers: dict[str, str] = {}
    for number, item in enumerate(os.environ.get(variable, "").split(","), start=1):
        found = parse_env_headers(item, liberal=True)
        if item.strip() and not found:
            raise UsageError(
                f"{variable}: item {number} is not a header",
                remedy=f"for example {variable}='x-api-key=KEY,x-team=evals'",
            )
        headers.update(found)
    return headers


def shown(endpoint: str) -> str:
    """An endpoint for messages: without user, password and query, which may be keys."""
    parts = urlsplit(endpoint)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


class Collector:
    """The client of one endpoint."""

    def __init__(self, endpoint: str, headers: Mapping[str, str] | None = None, timeout_s: float = _TIMEOUT_S) -> None:
        """`endpoint`: the whole URL. `headers` override those of the environment.

        Raises UsageError for headers that cannot be read, or if the extra `otlp` is not installed.
        """
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        except ImportError:
            raise UsageError(
                "sending traces to an OTLP endpoint needs the extra `otlp`", remedy=extra_remedy("otlp")
            ) from None
        for name in _SILENT:
            logging.getLogger(name).disabled = True
        self._answer = _Answer()
        self._closed = False
        self._exporter: SpanExporter = OTLPSpanExporter(
            endpoint=endpoint,
            headers=otlp_headers() if headers is None else dict(headers),
            timeout=timeout_s,
            session=_session(self._answer),
        )

    def send(self, spans: Sequence[ReadableSpan]) -> str | None:
        """Sends one request, retried for some seconds if the endpoint requests it. Returns None, or the reason of a
        failure.
        """
        self._answer.words = ""
        if self._exporter.export(spans) is SpanExportResult.SUCCESS:
            return None
        return self._answer.words or "the spans could not be encoded, or are too large"

    @property
    def failure(self) -> str:
        """The last answer, also of a request in progress, if that was a failure; else ""."""
        return self._answer.words if self._answer.is_failure else ""

    def close(self) -> None:
        """Ends the pause before another attempt; a second call has no effect."""
        if not self._closed:
            self._closed = True
            self._exporter.shutdown()


@dataclass(kw_only=True)
class _Answer:
    """The endpoint's last answer: `HTTP 503`, or a kind of failure."""

    words: str = ""
    is_failure: bool = False


def _session(answer: _Answer) -> "requests.Session":
    """A session that follows no redirect, because the headers are for the endpoint only, and that stores its
    answers.
    """
    import requests

    class Noting(requests.Session):
        @override
        def get_redirect_target(self, resp: requests.Response) -> None:
            return None

        @override
        def request(self, *args: Any, **more: Any) -> requests.Response:
            try:
                response = super().request(*args, **more)
            except requests.RequestException as error:
                answer.words = "no answer in time" if isinstance(error, requests.Timeout) else "no connection"
                answer.is_failure = True
                raise
            answer.words, answer.is_failure = f"HTTP {response.status_code}", response.status_code // 100 != 2
            if response.status_code // 100 == 3:  # the exporter would treat it as a success
                raise requests.TooManyRedirects("redirects are not followed")
            return response

    return Noting()


def _with_path(endpoint: str, what: str) -> str:
    _check(endpoint, what)
    return endpoint if urlsplit(endpoint).path.strip("/") else _traces_url(endpoint)


def _traces_url(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(path=f"{parts.path.rstrip('/')}/{_PATH}").geturl()


def _check(endpoint: str, what: str) -> None:
    try:
        parts = urlsplit(endpoint)
        port = parts.port
    except ValueError:
        parts, port = None, None
    if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        raise UsageError(f"{what} is not an http(s) URL", remedy="for example http://127.0.0.1:4318")


# A trial never waits for the collector: ended spans enter a bounded queue, which a thread of OpenTelemetry's
# BatchSpanProcessor empties. If the queue is full, further spans are dropped and counted; spans that remain when the
# run ends are dropped after a timeout of seconds.

_MOST_SPANS = 2048
_MOST_BYTES = 64 * 1024 * 1024
_DELAY_MS = 200.0
_BATCH = 64
_REQUEST_BYTES = 4 * 1024 * 1024
"""The request size that collectors accept by default; a larger span is sent alone."""
_FLUSH_S, _FLUSH_FAILING_S = 5.0, 2.0
"""How long the end of a run waits for queued spans; the second value applies after a failure of the collector."""


@dataclass(frozen=True, kw_only=True)
class ExportReport:
    """The result of exporting a run's spans."""

    endpoint: str
    sent: int
    lost: int
    answer: str = ""
    """The endpoint's last failure; "" if none occurred."""

    @property
    def words(self) -> str:
        """The report as a sentence."""
        if not self.lost:
            return f"{self.sent} spans were sent to {self.endpoint}"
        why = f"; its last failure: {self.answer}" if self.answer else ", which was too slow for them"
        return f"{self.lost} of {self.sent + self.lost} spans were not taken by {self.endpoint}{why}"


class LiveExport:
    """A processor that sends spans to a collector. Call `close` when all trials have ended."""

    def __init__(self, endpoint: str, headers: Mapping[str, str] | None = None) -> None:
        """`endpoint`: the whole URL. `headers` override those of the environment. Raises UsageError."""
        collector = Collector(endpoint, headers)
        self._endpoint = shown(endpoint)
        self._sending = _Sending(collector)
        self._batches = BatchSpanProcessor(
            self._sending,
            max_queue_size=_MOST_SPANS,
            schedule_delay_millis=_DELAY_MS,
            max_export_batch_size=_BATCH,
            export_timeout_millis=1000 * _FLUSH_S,  # set, because its default is read from the environment
        )
        self.processor: SpanProcessor = _Bounded(self._batches, self._sending.waiting)

    def close(self) -> ExportReport:
        """Sends queued spans, within seconds; safe to call twice."""
        waiting, sending = self._sending.waiting, self._sending
        ending = threading.Thread(target=self._batches.shutdown, name="otlp-flush", daemon=True)
        ending.start()
        try:
            ending.join(_FLUSH_FAILING_S if sending.collector.failure else _FLUSH_S)
        finally:
            sending.give_up()
        sent = sending.sent
        return ExportReport(
            endpoint=self._endpoint,
            sent=sent,
            lost=waiting.offered - sent,
            answer=sending.failure or sending.collector.failure,
        )


class _Waiting:
    """Counts spans that were queued, and those that wait to be sent."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spans = self._bytes = 0
        self.offered = 0

    def admits(self, span: ReadableSpan) -> bool:
        """Whether the queue has room. An agent's own spans may use half of it, and displace none of the harness's."""
        size = size_of(span)
        share = 2 if is_reported(span) else 1
        with self._lock:
            self.offered += 1
            if self._spans >= _MOST_SPANS // share or self._bytes + size > _MOST_BYTES // share:
                return False
            self._spans += 1
            self._bytes += size
            return True

    def taken(self, spans: Sequence[ReadableSpan]) -> None:
        """Removes the spans from the queue's count."""
        size = sum(map(size_of, spans))
        with self._lock:
            self._spans -= len(spans)
            self._bytes -= size


class _Bounded(SpanProcessor):
    """Passes spans on to `batches` while the queue has room."""

    def __init__(self, batches: SpanProcessor, waiting: _Waiting) -> None:
        self._batches, self._waiting = batches, waiting

    @override
    def on_end(self, span: ReadableSpan) -> None:
        if self._waiting.admits(span):
            self._batches.on_end(span)


class _Sending(SpanExporter):
    """Sends batches in requests of a size that collectors accept; called by one thread."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self._given_up = False
        self.waiting = _Waiting()
        self.sent = 0
        self.failure = ""
        """Why the last rejected request failed."""

    @override
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        try:
            for request in _requests(spans):
                self._send(request)
        finally:
            self.waiting.taken(spans)
        return SpanExportResult.SUCCESS

    def give_up(self) -> None:
        """Drops waiting spans, and ends the pause before another attempt."""
        self._given_up = True
        self.collector.close()

    @override
    def shutdown(self) -> None:
        self.give_up()

    def _send(self, spans: Sequence[ReadableSpan]) -> None:
        if self._given_up:
            return
        failure = self.collector.send(spans)
        if failure is None:
            self.sent += len(spans)
        else:
            self.failure = failure


def _requests(spans: Sequence[ReadableSpan]) -> Iterator[list[ReadableSpan]]:
    request: list[ReadableSpan] = []
    size = 0
    for span in spans:
        more = size_of(span)
        if request and size + more > _REQUEST_BYTES:
            yield request
            request, size = [], 0
        request.append(span)
        size += more
    if request:
        yield request
