"""Exports spans to a collector while their trials run.

A trial never waits for the collector: ended spans enter a bounded queue, which a thread of OpenTelemetry's
BatchSpanProcessor empties. Where the queue is full, further spans are dropped and counted; spans that remain when the
run ends are dropped after a timeout of seconds.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from typing_extensions import override

from harness.trace.collector import Collector, shown
from harness.trace.sendable import encodable, is_reported, size_of

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
    """The endpoint's last failure; "" where none occurred."""

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
    for span in map(encodable, spans):
        more = size_of(span)
        if request and size + more > _REQUEST_BYTES:
            yield request
            request, size = [], 0
        request.append(span)
        size += more
    if request:
        yield request
