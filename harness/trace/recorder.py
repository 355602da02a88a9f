"""Records one trial as OpenTelemetry spans.

Every recorder has a tracer provider of its own. The global provider, the sampler and the limits that environment
variables choose are never asked: one of them would silently cut or drop observations, which are the evidence that a
trial is scored by.
"""

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from opentelemetry import trace as otel
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON

from harness.errors import HarnessError, UsageError
from harness.frozen import JsonValue
from harness.trace import names
from harness.trace.span import Span

_FAILED = otel.Status(otel.StatusCode.ERROR)
_UNSET = otel.Status(otel.StatusCode.UNSET)
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
        self._kept = _Kept()
        self._ids = RandomIdGenerator()
        provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource({"service.name": "agent-harness"}),
            span_limits=_unlimited(),
            shutdown_on_exit=False,
        )
        provider.add_span_processor(self._kept)
        tracer = provider.get_tracer("harness")
        self._opened_ns = time.monotonic_ns()
        self._opened_wall_ns = time.time_ns()
        self._root = tracer.start_span(
            f"{names.INVOKE_AGENT} {subject.agent}",
            context=Context(),
            attributes=_present(
                {
                    names.OPERATION: names.INVOKE_AGENT,
                    names.AGENT_NAME: subject.agent,
                    names.AGENT_VERSION: subject.version,
                    names.CONVERSATION_ID: subject.trial_id,
                    names.CASE_ID: subject.case_id,
                    names.ATTEMPT: subject.attempt,
                }
            ),
            start_time=self._opened_wall_ns,
        )
        if not self._root.is_recording():
            raise HarnessError(
                "OpenTelemetry is switched off in this process, so the trial cannot be traced",
                remedy="unset OTEL_SDK_DISABLED",
            )
        assert isinstance(self._root, ReadableSpan)  # every recording span of the SDK is one
        self._parent = self._root.get_span_context()
        self._resource, self._scope = self._root.resource, self._root.instrumentation_scope
        self._spans: tuple[Span, ...] | None = None
        self._linked: list[Span] = []

    def now_ns(self) -> int:
        """Nanoseconds of the monotonic clock since this recorder was made."""
        return time.monotonic_ns() - self._opened_ns

    def record(self, name: str, attributes: Attributes, started_ns: int, *, failed: bool = False) -> None:
        """A crossing that began at `started_ns` (of `now_ns`) and ends now."""
        ended_ns = self.now_ns()
        own = otel.SpanContext(
            self._parent.trace_id, self._ids.generate_span_id(), is_remote=False, trace_flags=self._parent.trace_flags
        )
        # Known whole, it is made whole: opening and closing it by the tracer would be a third of the time of a call.
        self._kept.on_end(
            ReadableSpan(
                name,
                context=own,
                parent=self._parent,
                resource=self._resource,
                attributes={
                    **_present(attributes),
                    names.STARTED_MONOTONIC: started_ns,
                    names.ENDED_MONOTONIC: ended_ns,
                },
                status=_FAILED if failed else _UNSET,
                # Wall times are those of the opening plus monotonic time: a clock set during a trial moves nothing.
                start_time=self._opened_wall_ns + started_ns,
                end_time=self._opened_wall_ns + ended_ns,
                instrumentation_scope=self._scope,
            )
        )

    def link(self, spans: Iterable[Span]) -> None:
        """Takes the agent's own spans into this trace: those without a parent of theirs come under the root.

        They are marked by `harness.origin`, and whatever else they say in this harness's own names is left out.
        """
        context = self._root.get_span_context()
        trace_id, root_id = otel.format_trace_id(context.trace_id), otel.format_span_id(context.span_id)
        for span in spans:
            told = {name: value for name, value in span.attributes.items() if not name.startswith("harness.")}
            marks: dict[str, JsonValue] = {names.ORIGIN: "agent", names.ORIGIN_TRACE: span.trace_id}
            update = {"trace_id": trace_id, "parent_id": span.parent_id or root_id, "attributes": told | marks}
            self._linked.append(span.model_copy(update=update))

    def finish(self) -> tuple[Span, ...]:
        """Ends the root span; all spans in the order of their beginning. Later calls give the same again."""
        if self._spans is None:
            ended_ns = self.now_ns()
            self._root.set_attributes({names.STARTED_MONOTONIC: 0, names.ENDED_MONOTONIC: ended_ns})
            self._root.end(end_time=self._opened_wall_ns + ended_ns)
            self._spans = tuple(sorted((_plain(span) for span in self._kept.spans), key=_begin))
            self._spans += tuple(sorted(self._linked, key=lambda span: (span.start_ns, span.span_id)))
        return self._spans

    def forget(self) -> None:
        """Lets go of the spans, after which there is nothing to finish or to export.

        Who broke off in the middle of a request holds on to the recorder, through the traceback of what was cancelled,
        until Python looks for cycles: the spans of a flood would be held by it for dozens of trials.
        """
        self._kept.forget()
        self._spans, self._linked = (), []

    def export(self, exporter: SpanExporter) -> bool:
        """Sends the finished spans; False where the other side did not take them."""
        return exporter.export(self._kept.spans) is SpanExportResult.SUCCESS


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
            "sending traces to an OTLP endpoint needs the extra `otlp`", remedy="pip install 'agent-harness[otlp]'"
        ) from None
    # It logs the endpoint's own words, which may be the key that it was called with; the run says what was not taken.
    logging.getLogger(OTLPSpanExporter.__module__).disabled = True
    url = endpoint if parts.path.strip("/") else endpoint.rstrip("/") + "/v1/traces"
    return OTLPSpanExporter(endpoint=url, timeout=timeout_s)


class _Kept(SpanProcessor):
    """Keeps every ended span in memory."""

    def __init__(self) -> None:
        self._ended: list[ReadableSpan] = []

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        return tuple(self._ended)

    def on_end(self, span: ReadableSpan) -> None:
        self._ended.append(span)

    def forget(self) -> None:
        self._ended.clear()


def _unlimited() -> SpanLimits:
    unset = SpanLimits.UNSET
    return SpanLimits(
        max_attributes=unset,
        max_events=unset,
        max_links=unset,
        max_span_attributes=unset,
        max_event_attributes=unset,
        max_link_attributes=unset,
        max_attribute_length=unset,
        max_span_attribute_length=unset,
    )


def _present(attributes: Attributes) -> dict[str, Plain]:
    return {name: value for name, value in attributes.items() if value is not None}


def _plain(span: ReadableSpan) -> Span:
    context = span.get_span_context()
    assert context is not None  # only a non-recording span has none
    # Only plain values are ever set (see Attributes), whatever else OpenTelemetry's own type allows.
    attributes: dict[str, JsonValue] = {
        name: value for name, value in (span.attributes or {}).items() if isinstance(value, Plain)
    }
    return Span(
        trace_id=otel.format_trace_id(context.trace_id),
        span_id=otel.format_span_id(context.span_id),
        parent_id=None if span.parent is None else otel.format_span_id(span.parent.span_id),
        name=span.name,
        start_ns=span.start_time or 0,
        end_ns=span.end_time or 0,
        attributes=attributes,
        status=span.status.status_code.name.lower(),
    )


def _begin(span: Span) -> tuple[bool, int]:
    return span.parent_id is not None, int(str(span.attributes[names.STARTED_MONOTONIC]))
