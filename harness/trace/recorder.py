"""Records one trial as the spans of one OpenTelemetry trace.

They are made here, whole, and by no tracer of OpenTelemetry's: of that, environment variables choose sampler, limits
and whether there is any, and one of them would silently cut or drop observations, which are the evidence that a trial
is scored by. Its own types are what they are exported as.
"""

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from opentelemetry import trace as otel
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from typing_extensions import override

from harness.distribution import extra_remedy
from harness.errors import UsageError
from harness.trace import names
from harness.trace.span import Span
from harness.values import JsonValue

if TYPE_CHECKING:
    import requests

_STATUS = {
    "error": otel.Status(otel.StatusCode.ERROR),
    "unset": otel.Status(otel.StatusCode.UNSET),
}
Plain = str | bool | int | float
Attributes = Mapping[str, Plain | None]
"""What is None is left out: absent is not known, never ""."""


@dataclass(frozen=True, kw_only=True)
class TraceSubject:
    """Whose trace this is; stands on the root span."""

    trial_id: str
    case_id: str
    attempt: int
    agent: str
    version: str | None = None


class TraceRecorder:
    """The spans of one trial under one root span; may be used from several threads."""

    def __init__(self, subject: TraceSubject) -> None:
        self._ids = RandomIdGenerator()
        self._trace_id = otel.format_trace_id(self._ids.generate_trace_id())
        self._root_id = otel.format_span_id(self._ids.generate_span_id())
        self._subject = subject
        self._opened_ns = time.monotonic_ns()
        self._opened_wall_ns = time.time_ns()
        self._recorded: list[Span] = []
        self._linked: list[Span] = []
        self._spans: tuple[Span, ...] | None = None

    def now_ns(self) -> int:
        """Nanoseconds of the monotonic clock since this recorder was made."""
        return time.monotonic_ns() - self._opened_ns

    def record(self, name: str, attributes: Attributes, started_ns: int, *, failed: bool = False) -> None:
        """A crossing that began at `started_ns` (of `now_ns`) and ends now."""
        self._recorded.append(
            self._span(
                otel.format_span_id(self._ids.generate_span_id()),
                name,
                {**_present(attributes), names.STARTED_MONOTONIC: started_ns, names.ENDED_MONOTONIC: self.now_ns()},
                parent_id=self._root_id,
                status="error" if failed else "unset",
            )
        )

    def link(self, spans: Iterable[Span]) -> None:
        """Takes the agent's own spans into this trace: those without a parent of theirs come under the root.

        They are marked by `harness.origin`, and whatever else they say in this harness's own names is left out.
        """
        for span in spans:
            told = {name: value for name, value in span.attributes.items() if not name.startswith("harness.")}
            marks: dict[str, JsonValue] = {names.ORIGIN: "agent", names.ORIGIN_TRACE: span.trace_id}
            update = {
                "trace_id": self._trace_id,
                "parent_id": span.parent_id or self._root_id,
                "attributes": told | marks,
            }
            self._linked.append(span.model_copy(update=update))

    def finish(self) -> tuple[Span, ...]:
        """Ends the root span; all spans in the order of their beginning. Later calls give the same again."""
        if self._spans is None:
            linked = sorted(self._linked, key=lambda span: (span.start_ns, span.span_id))
            self._spans = (self._root(), *sorted(self._recorded, key=_begin), *linked)
        return self._spans

    def forget(self) -> None:
        """Lets go of the spans, after which there is nothing to finish or to export.

        Who broke off in the middle of a request holds on to the recorder, through the traceback of what was cancelled,
        until Python looks for cycles: the spans of a flood would be held by it for dozens of trials.
        """
        self._recorded.clear()
        self._spans, self._linked = (), []

    def export(self, exporter: SpanExporter) -> bool:
        """Sends the finished spans but for the agent's own, which it sends itself; False: they were not taken."""
        resource, scope = Resource({"service.name": "trial-harness"}), InstrumentationScope("harness")
        spans = [_readable(span, resource, scope) for span in self._spans or () if names.ORIGIN not in span.attributes]
        return exporter.export(spans) is SpanExportResult.SUCCESS

    def _root(self) -> Span:
        subject = self._subject
        told: Attributes = {
            names.OPERATION: names.INVOKE_AGENT,
            names.AGENT_NAME: subject.agent,
            names.AGENT_VERSION: subject.version,
            names.CONVERSATION_ID: subject.trial_id,
            names.CASE_ID: subject.case_id,
            names.ATTEMPT: subject.attempt,
        }
        return self._span(
            self._root_id,
            f"{names.INVOKE_AGENT} {subject.agent}",
            {**_present(told), names.STARTED_MONOTONIC: 0, names.ENDED_MONOTONIC: self.now_ns()},
        )

    def _span(
        self,
        span_id: str,
        name: str,
        attributes: dict[str, JsonValue],
        *,
        parent_id: str | None = None,
        status: str = "unset",
    ) -> Span:
        started_ns, ended_ns = (int(str(attributes[end])) for end in (names.STARTED_MONOTONIC, names.ENDED_MONOTONIC))
        return Span(
            trace_id=self._trace_id,
            span_id=span_id,
            parent_id=parent_id,
            name=name,
            # Wall times are those of the opening plus monotonic time: a clock set during a trial moves nothing.
            start_ns=self._opened_wall_ns + started_ns,
            end_ns=self._opened_wall_ns + ended_ns,
            attributes=attributes,
            status=status,
        )


def otlp_exporter(endpoint: str, *, timeout_s: float = 3.0) -> SpanExporter:
    """An exporter to an OTLP/HTTP endpoint; `/v1/traces` is added where the URL has no path.

    Raises UsageError where the extra is not installed or the endpoint is no HTTP URL.
    """
    parts = urlsplit(endpoint)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise UsageError(
            f"the OTLP endpoint {endpoint!r} is no http(s) URL", remedy="for example http://127.0.0.1:4318"
        )
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError:
        raise UsageError(
            "sending traces to an OTLP endpoint needs the extra `otlp`", remedy=extra_remedy("otlp")
        ) from None
    # It logs the endpoint's own words, which may be the key that it was called with; the run says what was not taken.
    logging.getLogger(OTLPSpanExporter.__module__).disabled = True
    url = endpoint if parts.path.strip("/") else endpoint.rstrip("/") + "/v1/traces"
    return OTLPSpanExporter(endpoint=url, timeout=timeout_s, session=_unredirected())


def _unredirected() -> "requests.Session":
    """Follows no redirect: the headers of OTEL_EXPORTER_OTLP_HEADERS are for the endpoint alone."""
    import requests

    class Unredirected(requests.Session):
        @override
        def get_redirect_target(self, resp: requests.Response) -> None:
            return None

    return Unredirected()


def _present(attributes: Attributes) -> dict[str, Plain]:
    return {name: value for name, value in attributes.items() if value is not None}


def _readable(span: Span, resource: Resource, scope: InstrumentationScope) -> ReadableSpan:
    """A span of this recorder's as OpenTelemetry's exporters take it."""
    return ReadableSpan(
        span.name,
        context=_context(span.trace_id, span.span_id),
        parent=None if span.parent_id is None else _context(span.trace_id, span.parent_id),
        resource=resource,
        attributes={name: value for name, value in span.attributes.items() if isinstance(value, Plain)},
        status=_STATUS[span.status],
        start_time=span.start_ns,
        end_time=span.end_ns,
        instrumentation_scope=scope,
    )


def _context(trace_id: str, span_id: str) -> otel.SpanContext:
    sampled = otel.TraceFlags(otel.TraceFlags.SAMPLED)
    return otel.SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=sampled)


def _begin(span: Span) -> int:
    return int(str(span.attributes[names.STARTED_MONOTONIC]))
