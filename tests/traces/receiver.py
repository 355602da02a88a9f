"""A real OTLP/HTTP collector: decodes what it is sent with OpenTelemetry's own protobuf classes, and keeps it."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.serving import Answering, listening


@dataclass(frozen=True)
class Received:
    """A span as it arrived."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    kind: int
    status: int
    start_ns: int
    end_ns: int
    attributes: dict[str, Any]
    resource: dict[str, Any]


@dataclass
class Receiver:
    """`statuses` are answered first, one a request; `status` after them. Nobody is answered while `gate` is closed."""

    url: str = ""
    status: int = 200
    statuses: list[int] = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)
    spans: list[Received] = field(default_factory=list)
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    """Path, headers in lower case, body."""
    changed: threading.Condition = field(default_factory=threading.Condition)

    def wait_for(self, holds: Callable[["Receiver"], bool], timeout_s: float = 60) -> bool:
        """Whether it came to hold."""
        with self.changed:
            return self.changed.wait_for(lambda: holds(self), timeout_s)

    def named(self, name: str) -> list[Received]:
        with self.changed:
            return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> Received:
        (found,) = self.named(name)
        return found

    def path(self, span: Received) -> list[str]:
        """The names of the spans above it, the root first."""
        with self.changed:
            by_id = {(one.trace_id, one.span_id): one for one in self.spans}
        names = []
        while span.parent_id:
            span = by_id[span.trace_id, span.parent_id]
            names.insert(0, span.name)
        return names

    def take(self, path: str, headers: dict[str, str], body: bytes) -> int:
        with self.changed:
            self.requests.append((path, headers, body))
            self.changed.notify_all()
        self.gate.wait()
        with self.changed:
            status = self.statuses.pop(0) if self.statuses else self.status
            if status == 200:
                self.spans += _spans(body)
                self.changed.notify_all()
            return status


def _spans(body: bytes) -> Iterator[Received]:
    for sent in ExportTraceServiceRequest.FromString(body).resource_spans:
        resource = {pair.key: _value(pair.value) for pair in sent.resource.attributes}
        for span in (span for scope in sent.scope_spans for span in scope.spans):
            yield Received(
                name=span.name,
                trace_id=span.trace_id.hex(),
                span_id=span.span_id.hex(),
                parent_id=span.parent_span_id.hex(),
                kind=span.kind,
                status=span.status.code,
                start_ns=span.start_time_unix_nano,
                end_ns=span.end_time_unix_nano,
                attributes={pair.key: _value(pair.value) for pair in span.attributes},
                resource=resource,
            )


def _value(value: Any) -> Any:
    return getattr(value, value.WhichOneof("value"))


@contextmanager
def receiving(host: str = "127.0.0.1", *, answers: bool = True) -> Iterator[Receiver]:
    receiver = Receiver()
    if answers:
        receiver.gate.set()

    class Handler(Answering):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.sent()
            status = receiver.take(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
            with contextlib.suppress(ConnectionError):  # of who waits no more
                self.give(status, b"")

    with listening(Handler, host) as receiver.url:
        try:
            yield receiver
        finally:
            receiver.gate.set()
