"""Records one trial as the spans of one OpenTelemetry trace.

    trial (`invoke_agent`) -> turn -> model call (`chat`), tool call (`execute_tool`), reply, ...

A turn begins with a message of the user and ends with the next one, or when the agent has ended. The first begins with
the trial, whether or not the agent requests its message. A model call and the tool calls that it requested are siblings
below their turn, as in the GenAI conventions: a tool runs after the model's reply has ended, not within it. The
harness's own reads after the agent has ended are children of the trial itself.
"""

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from opentelemetry import trace as otel
from opentelemetry.sdk.trace import Span as SdkSpan
from pydantic import JsonValue

from harness.traces import names
from harness.traces.spans import Span
from harness.traces.tracer import Plain, Tracing, attributes_of, reported_span, unexported
from harness.values import Frozen


class TrialProgress(Frozen):
    """One trial in flight, as the gateway sees it."""

    case_id: str
    attempt: int
    started_ns: int
    """When it began, in nanoseconds since the epoch."""
    interactions: int
    """Calls, requests and replies that were recorded so far."""
    last: str
    """The name of the last one's span, such as `execute_tool look_up`; "" before the first."""


_SPAN_BYTES = 1024
"""What a span takes beside its texts."""


@dataclass(kw_only=True)
class Volume:
    """What one trial may ask for and has had written, in whichever channel: a tool, a model, a host, a page of its
    browser, its own spans, messages, recordings. The limits are far above what an honest trial needs; past one of
    them every request is refused, so that nothing happens unseen.
    """

    most_requests: int = 50_000
    most_bytes: int = 256 * 1024 * 1024
    written: int = 0
    """Bytes."""

    def add(self, size: int) -> None:
        """Counts what is written."""
        self.written += size


Attributes = Mapping[str, Plain | None]
"""None values are omitted: an absent attribute is unknown, never ""."""


@dataclass(frozen=True, kw_only=True)
class TraceSubject:
    """The subject of a trace; set on the root span."""

    trial_id: str
    case_id: str
    attempt: int
    agent: str
    version: str | None = None


class StoredSpan:
    """Has the methods of the SDK's span that the recorder calls; used under the same rules by one thread at a time.

    The SDK's tracer creates a span that samplers, processors and other threads may read. If the run has no processor,
    none does, and a trial of a hundredth of a second has ten spans.
    """

    __slots__ = ("_attributes", "_end_ns", "_name", "_parent_id", "_start_ns", "_status", "span_id", "trace_id")

    def __init__(
        self, name: str, parent: "StoredSpan | None", attributes: Mapping[str, Plain], start_time: int
    ) -> None:
        self._name = name
        self._attributes = dict(attributes)
        self._start_ns = start_time
        self._end_ns: int | None = None
        self._status = "unset"
        self.span_id = _random_id(8)
        self.trace_id: str = _random_id(16) if parent is None else parent.trace_id
        self._parent_id = None if parent is None else parent.span_id

    def set_attributes(self, attributes: Mapping[str, Plain]) -> None:
        for name, value in attributes.items():
            self.set_attribute(name, value)

    def set_attribute(self, key: str, value: Plain) -> None:
        if self._end_ns is None:
            self._attributes.pop(key, None)  # a value that is set again goes to the end, as in the SDK
            self._attributes[key] = value

    def set_status(self, status: otel.StatusCode) -> None:
        if self._end_ns is None:
            self._status = status.name.lower()

    def is_recording(self) -> bool:
        return self._end_ns is None

    def end(self, end_time: int) -> None:
        """Ends the span; later calls have no effect."""
        if self._end_ns is None:
            self._end_ns = end_time

    def stored(self) -> Span:
        return Span(
            trace_id=self.trace_id,
            span_id=self.span_id,
            parent_id=self._parent_id,
            name=self._name,
            start_ns=self._start_ns,
            end_ns=self._end_ns or 0,
            attributes={**self._attributes},
            status=self._status,
        )


def _random_id(size: int) -> str:
    """Hexadecimal digits that are not all zero, which is no id in OTLP."""
    while True:
        made = os.urandom(size)
        if any(made):
            return made.hex()


RecordingSpan = SdkSpan | StoredSpan
"""A span that is not ended yet, or has just been."""


@dataclass(kw_only=True)
class _Turn:
    """A turn of the conversation; times in nanoseconds of the recorder's clock."""

    span: RecordingSpan
    began_ns: int
    said: bool = False
    """Whether the agent received the user's message; False if it never requested it."""
    ended_ns: int | None = None


class TraceRecorder:
    """The spans of one trial under one root span; may be used from several threads."""

    def __init__(self, subject: TraceSubject, tracing: Tracing | None = None, volume: Volume | None = None) -> None:
        """`tracing`: the run's tracer; without one the spans are stored and not exported. `volume` counts them."""
        self._volume = volume or Volume()
        self._subject = subject
        self._last = ""
        self._tracing = tracing or unexported()
        self._opened_ns = time.monotonic_ns()
        self._opened_wall_ns = time.time_ns()
        self._recorded: list[RecordingSpan] = []
        self._linked: list[Span] = []
        self._spans: tuple[Span, ...] | None = None
        self._root = self._start_span(f"{names.INVOKE_AGENT} {subject.agent}", None, _call_attributes(subject), 0)
        self._turns = [self._begun_turn(0)]

    @property
    def progress(self) -> TrialProgress:
        """How far the trial is; may be asked for from any thread."""
        subject = self._subject
        return TrialProgress(
            case_id=subject.case_id,
            attempt=subject.attempt,
            started_ns=self._opened_wall_ns,
            interactions=len(self._recorded),
            last=self._last,
        )

    def turn(self, message: str) -> None:
        """Starts a turn: the agent received a message of the user."""
        now = self._now_ns()
        self._volume.add(_SPAN_BYTES + len(message))
        turn = self._turns[-1]
        if turn.said or turn.ended_ns is not None:
            self._end_turn(now)
            turn = self._begun_turn(now)
            self._turns.append(turn)
        turn.said = True
        # Its monotonic times are those of the message, which is the step; its own begin and end are those of the turn.
        times = {names.STARTED_MONOTONIC: now, names.ENDED_MONOTONIC: now}
        turn.span.set_attributes({names.STEP_KIND: names.TURN, names.MESSAGE: message, **times})

    def end_turns(self) -> None:
        """Called when the agent has ended: later spans belong to no turn."""
        self._end_turn(self._now_ns())

    def record(
        self,
        name: str,
        attributes: Attributes,
        started_ns: int,
        *,
        failed: bool = False,
        ended_ns: int | None = None,
    ) -> None:
        """Records one interaction from `started_ns` until `ended_ns` (of `time.monotonic_ns`; None: now); it belongs to
        the turn in which it started.
        """
        started_ns -= self._opened_ns
        ended_ns = (time.monotonic_ns() if ended_ns is None else ended_ns) - self._opened_ns
        times = {names.STARTED_MONOTONIC: started_ns, names.ENDED_MONOTONIC: ended_ns}
        texts = (value for value in attributes.values() if isinstance(value, str))
        self._volume.add(_SPAN_BYTES + sum(map(len, texts)))
        span = self._start_span(name, self._parent_of(started_ns), {**_present(attributes), **times}, started_ns)
        if failed:
            span.set_status(otel.StatusCode.ERROR)
        self._recorded.append(self._end_span(span, ended_ns))
        self._last = name

    def link(self, spans: Iterable[Span]) -> None:
        """Adds the agent's own spans to this trace: those without a parent among them become children of the root.

        They are marked by `harness.origin`; their other attributes with names of this harness are left out.
        """
        trace_id, root_id = _ids(self._root)
        for span in spans:
            attributes = {name: value for name, value in span.attributes.items() if not name.startswith("harness.")}
            marks: dict[str, JsonValue] = {names.ORIGIN: "agent", names.ORIGIN_TRACE: span.trace_id}
            update = {"trace_id": trace_id, "parent_id": span.parent_id or root_id, "attributes": attributes | marks}
            linked = span.model_copy(update=update)
            self._linked.append(linked)
            if self._tracing.is_exported:
                self._pass_on(linked)

    def finish(self) -> tuple[Span, ...]:
        """Ends the root span; returns all spans in the order of their start. Later calls return the same."""
        if self._spans is None:
            now = self._now_ns()
            self._end_turn(now)
            root = self._end_root(now)
            turns = [turn.span for turn in self._turns]
            own = sorted(map(_stored_span, [*turns, *self._recorded]), key=_begin)
            linked = sorted(self._linked, key=lambda span: (span.start_ns, span.span_id))
            self._spans = (_stored_span(root), *own, *linked)
            self._recorded.clear()
        return self._spans

    def forget(self) -> None:
        """Releases the spans, after which there is nothing left to finish. The root span of an aborted trial ends as an
        error.

        A request that was aborted references the recorder through the traceback of the cancelled task until Python's
        cycle collection runs: without this call, the spans of many requests would stay in memory for dozens of trials.
        """
        if self._root.is_recording():
            now = self._now_ns()
            self._end_turn(now)
            self._root.set_status(otel.StatusCode.ERROR)
            self._end_root(now)
        self._recorded.clear()
        self._turns = self._turns[-1:]
        self._spans, self._linked = (), []

    def _now_ns(self) -> int:
        """Nanoseconds of the monotonic clock since this recorder was created."""
        return time.monotonic_ns() - self._opened_ns

    def _begun_turn(self, began_ns: int) -> _Turn:
        times = {names.STARTED_MONOTONIC: began_ns, names.ENDED_MONOTONIC: began_ns}
        return _Turn(span=self._start_span(names.TURN, self._root, times, began_ns), began_ns=began_ns)

    def _end_turn(self, now: int) -> None:
        turn = self._turns[-1]
        if turn.ended_ns is None:
            turn.ended_ns = now
            self._end_span(turn.span, now)

    def _parent_of(self, started_ns: int) -> RecordingSpan:
        last = self._turns[-1]
        if last.ended_ns is not None and started_ns >= last.ended_ns:
            return self._root
        return next((turn for turn in reversed(self._turns) if turn.began_ns <= started_ns), self._turns[0]).span

    def _end_root(self, now: int) -> RecordingSpan:
        self._root.set_attribute(names.ENDED_MONOTONIC, now)
        return self._end_span(self._root, now)

    def _start_span(
        self, name: str, parent: RecordingSpan | None, attributes: Mapping[str, Plain], started_ns: int
    ) -> RecordingSpan:
        # Wall times are those of the opening plus monotonic time: a clock set during a trial moves nothing.
        start_time = self._opened_wall_ns + started_ns
        if not isinstance(parent, SdkSpan) and not self._tracing.is_exported:
            return StoredSpan(name, parent, attributes, start_time)
        assert not isinstance(parent, StoredSpan)  # one tracer makes all spans of a trial
        return self._tracing.started(name, parent, attributes, start_time)

    def _end_span(self, span: RecordingSpan, ended_ns: int) -> RecordingSpan:
        span.end(self._opened_wall_ns + ended_ns)
        return span

    def _pass_on(self, span: Span) -> None:
        sent = reported_span(span, self._tracing.resource)
        if sent is not None:
            self._tracing.pass_on(sent)


def _call_attributes(subject: TraceSubject) -> dict[str, Plain]:
    attributes_of_call: Attributes = {
        names.OPERATION: names.INVOKE_AGENT,
        names.AGENT_NAME: subject.agent,
        names.AGENT_VERSION: subject.version,
        names.CONVERSATION_ID: subject.trial_id,
        names.CASE_ID: subject.case_id,
        names.ATTEMPT: subject.attempt,
        names.STARTED_MONOTONIC: 0,
    }
    return _present(attributes_of_call)


def _present(attributes: Attributes) -> dict[str, Plain]:
    return {name: value for name, value in attributes.items() if value is not None}


def _stored_span(span: RecordingSpan) -> Span:
    """An ended span in the stored form."""
    if isinstance(span, StoredSpan):
        return span.stored()
    trace_id, span_id = _ids(span)
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=None if span.parent is None else otel.format_span_id(span.parent.span_id),
        name=span.name,
        start_ns=span.start_time or 0,
        end_ns=span.end_time or 0,
        attributes={**attributes_of(span)},
        status=span.status.status_code.name.lower(),
    )


def _ids(span: RecordingSpan) -> tuple[str, str]:
    if isinstance(span, StoredSpan):
        return span.trace_id, span.span_id
    context = span.get_span_context()
    assert context is not None  # every span of a tracer has one
    return otel.format_trace_id(context.trace_id), otel.format_span_id(context.span_id)


def _begin(span: Span) -> int:
    return int(str(span.attributes[names.STARTED_MONOTONIC]))
