"""The OpenTelemetry tracer of trials, the spans that it makes, and their form for export."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from random import SystemRandom
from types import MappingProxyType

from opentelemetry import trace as otel
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import (
    Event,
    ReadableSpan,
    SpanLimits,
    SpanProcessor,
)
from opentelemetry.sdk.trace import (
    Span as SdkSpan,
)
from opentelemetry.sdk.trace import (
    TracerProvider as SdkTracerProvider,
)
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.util.types import AttributeValue
from typing_extensions import override

from harness import __version__
from harness.errors import HarnessError
from harness.plugins import DISTRIBUTION
from harness.traces import names
from harness.traces.spans import Span
from harness.values import JsonObject

# A trial is scored by its spans, so nothing outside of the program may truncate or drop them: sampler, limits, ids and
# resource are set here, and the environment variables that OpenTelemetry reads for each of them have no effect.

Plain = str | bool | int | float
SCOPE = "harness"
_UNLIMITED = SpanLimits(
    max_attributes=SpanLimits.UNSET,
    max_events=SpanLimits.UNSET,
    max_links=SpanLimits.UNSET,
    max_span_attributes=SpanLimits.UNSET,
    max_event_attributes=SpanLimits.UNSET,
    max_link_attributes=SpanLimits.UNSET,
    max_attribute_length=SpanLimits.UNSET,
    max_span_attribute_length=SpanLimits.UNSET,
)


class Tracing:
    """A tracer, and the processors that receive every span when it ends. One instance serves all trials of a run.

    `resource` holds the attributes of exported spans in addition to the name and the version of this program; it is not
    stored.
    """

    def __init__(self, resource: Mapping[str, str] | None = None, processors: Sequence[SpanProcessor] = ()) -> None:
        self._processors = tuple(processors)
        own = {"service.name": DISTRIBUTION, "service.version": __version__}
        provider = _TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource({**own, **(resource or {})}),
            shutdown_on_exit=False,
            id_generator=_SystemIds(),
            span_limits=_UNLIMITED,
        )
        for processor in processors:
            provider.add_span_processor(processor)
        self.resource = provider.resource
        self.tracer: otel.Tracer = provider.get_tracer(SCOPE, __version__)
        self.is_exported = bool(processors)
        """Whether spans are passed to any processor besides the recorder of their trial."""

    def started(self, name: str, parent: SdkSpan | None, attributes: Mapping[str, Plain], start_time: int) -> SdkSpan:
        """A span below `parent`, or the root of a new trace. Raises HarnessError if it would not record."""
        within = Context() if parent is None else otel.set_span_in_context(parent, Context())
        kind = otel.SpanKind.CLIENT if attributes.get(names.STEP_KIND) == names.MODEL else otel.SpanKind.INTERNAL
        return _of_sdk(self.tracer.start_span(name, within, kind, attributes, start_time=start_time))

    def pass_on(self, span: ReadableSpan) -> None:
        """Passes a finished span that the tracer did not create to the processors."""
        for processor in self._processors:
            processor.on_end(span)


def _of_sdk(span: object) -> SdkSpan:
    if not isinstance(span, SdkSpan):
        raise HarnessError("OpenTelemetry's tracer records no spans here, and a trial is scored by them")
    return span


@cache
def unexported() -> Tracing:
    """The tracer of trials whose spans are only stored."""
    return Tracing()


class _TracerProvider(SdkTracerProvider):
    """Creates recording spans also if OTEL_SDK_DISABLED is set, which concerns only a program's own telemetry."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]  # mypy cannot match `**options`
        self._disabled = False


class _SystemIds(IdGenerator):
    """Ids from the operating system: OpenTelemetry's own ids repeat if a program seeds Python's generator."""

    _random = SystemRandom()

    @override
    def generate_trace_id(self) -> int:
        return self._random.getrandbits(128) or 1

    @override
    def generate_span_id(self) -> int:
        return self._random.getrandbits(64) or 1


# An agent's spans are untrusted data: an id that OTLP cannot encode, a number above 64 bits or half a surrogate pair
# must not prevent the export of the other spans in the same request.

_SCOPE = InstrumentationScope("agent")
_SAMPLED = otel.TraceFlags(otel.TraceFlags.SAMPLED)
_STATUS = {"ok": otel.StatusCode.OK, "error": otel.StatusCode.ERROR}


def reported_span(span: Span, resource: Resource) -> ReadableSpan | None:
    """The span for export; None: its ids are invalid in OTLP, which requires 16 hexadecimal digits that are not all
    zero.
    """
    context, parent = _context(span.trace_id, span.span_id), _context(span.trace_id, span.parent_id or "")
    if context is None:
        return None
    return ReadableSpan(
        span.name,
        context=context,
        parent=parent,
        resource=resource,
        attributes=_attributes(span.attributes),
        events=[_event(event) for event in span.events],
        status=otel.Status(_STATUS.get(span.status, otel.StatusCode.UNSET)),
        start_time=span.start_ns,
        end_time=span.end_ns,
        instrumentation_scope=_SCOPE,
    )


def attributes_of(span: ReadableSpan) -> Mapping[str, AttributeValue]:
    """A span's attributes: its internal copy, which is ten times faster to walk than the view in its interface."""
    held = span.attributes
    return held.copy() if isinstance(held, MappingProxyType) else held or {}


def is_reported(span: ReadableSpan) -> bool:
    """Whether the span is the agent's own."""
    return names.ORIGIN in attributes_of(span)


def size_of(span: ReadableSpan) -> int:
    """The approximate size of the sent span in bytes."""
    held = attributes_of(span).values()
    events = sum(200 + sum(map(_size, (event.attributes or {}).values())) for event in span.events)
    return 200 + events + sum(map(_size, held))


def encodable(span: ReadableSpan) -> ReadableSpan:
    """The span itself, or if protobuf could not encode it, a copy with all the data that can be encoded."""
    held = attributes_of(span)
    if _is_text(span.name) and all(map(_is_encodable, held.items())) and not span.events:
        return span
    return ReadableSpan(
        _encodable_text(span.name),
        context=span.get_span_context(),
        parent=span.parent,
        resource=span.resource,
        attributes=_encodable_attributes(held),
        events=[
            Event(_encodable_text(event.name), _encodable_attributes(event.attributes or {}), event.timestamp)
            for event in span.events
        ],
        kind=span.kind,
        status=span.status,
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _context(trace_id: str, span_id: str) -> otel.SpanContext | None:
    if len(span_id) != 16 or int(span_id, 16) == 0:
        return None
    return otel.SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=_SAMPLED)


def _event(event: JsonObject) -> Event:
    attributes, time_ns = event.get("attributes"), event.get("time_ns")
    at = time_ns if isinstance(time_ns, int) and 0 <= time_ns < 1 << 64 else 0
    return Event(str(event.get("name") or ""), _attributes(attributes if isinstance(attributes, dict) else {}), at)


def _attributes(attributes: JsonObject) -> dict[str, AttributeValue]:
    """Lists and objects as JSON text."""
    return {
        name: value if isinstance(value, str | bool | int | float) else json.dumps(value, ensure_ascii=False)
        for name, value in attributes.items()
        if value is not None
    }


def _encodable_attributes(attributes: Mapping[str, AttributeValue]) -> dict[str, AttributeValue]:
    return {_encodable_text(name): _encodable_value(value) for name, value in attributes.items()}


def _encodable_value(value: AttributeValue) -> AttributeValue:
    if isinstance(value, str):
        return _encodable_text(value)
    return value if _is_encodable(("", value)) else str(value)


def _is_encodable(attribute: tuple[str, AttributeValue]) -> bool:
    name, value = attribute
    if isinstance(value, int):
        return _is_text(name) and -(1 << 63) <= value < 1 << 63
    return _is_text(name) and (not isinstance(value, str) or _is_text(value))


def _is_text(text: str) -> bool:
    return text.isascii() or _encodable_text(text) == text


def _encodable_text(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _size(value: AttributeValue) -> int:
    return 50 + (len(value) if isinstance(value, str) else 0)
