"""The OpenTelemetry tracer that creates the spans of trials.

A trial is scored by its spans, so nothing outside of the program may truncate or drop them: sampler, limits, ids and
resource are set here, and the environment variables that OpenTelemetry reads for each of them have no effect.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from random import SystemRandom

from opentelemetry import trace as otel
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, SpanProcessor
from opentelemetry.sdk.trace import Span as SdkSpan
from opentelemetry.sdk.trace import TracerProvider as SdkTracerProvider
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from typing_extensions import override

from harness import __version__
from harness.distribution import DISTRIBUTION
from harness.errors import HarnessError
from harness.trace import names
from harness.trace.recording_span import Plain, StoredSpan

RecordingSpan = SdkSpan | StoredSpan
"""A span that is not ended yet, or has just been."""

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

    def started(
        self, name: str, parent: RecordingSpan | None, attributes: Mapping[str, Plain], start_time: int
    ) -> RecordingSpan:
        """A span below `parent`, or the root of a new trace. Raises HarnessError where it would not record.

        Without a processor, the SDK does not create the span.
        """
        if not isinstance(parent, SdkSpan) and not self.is_exported:
            return StoredSpan(name, parent, attributes, start_time)
        within = Context() if parent is None else otel.set_span_in_context(_of_sdk(parent), Context())
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
    """Creates recording spans also where OTEL_SDK_DISABLED is set, which concerns only a program's own telemetry."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]  # mypy cannot match `**options`
        self._disabled = False


class _SystemIds(IdGenerator):
    """Ids from the operating system: OpenTelemetry's own ids repeat where a program seeds Python's generator."""

    _random = SystemRandom()

    @override
    def generate_trace_id(self) -> int:
        return self._random.getrandbits(128) or 1

    @override
    def generate_span_id(self) -> int:
        return self._random.getrandbits(64) or 1
