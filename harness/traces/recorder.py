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

from pydantic import JsonValue

from harness.traces import names
from harness.traces.spans import Span
from harness.traces.tracer import Tracing
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


Plain = str | bool | int | float
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


class _OpenSpan:
    """A span that is not ended yet, or has just been; used by one thread at a time."""

    __slots__ = ("_attributes", "_end_ns", "_name", "_parent_id", "_start_ns", "_status", "span_id", "trace_id")

    def __init__(self, name: str, parent: "_OpenSpan | None", attributes: Mapping[str, Plain], start_time: int) -> None:
        self._name = name
        self._attributes = dict(attributes)
        self._start_ns = start_time
        self._end_ns: int | None = None
        self._status = "unset"
        self.span_id = _random_id(8)
        self.trace_id: str = _random_id(16) if parent is None else parent.trace_id
        self._parent_id = None if parent is None else parent.span_id

    def set_attributes(self, attributes: Mapping[str, Plain]) -> None:
        if self.is_open:
            self._attributes.update(attributes)

    def set_error(self) -> None:
        if self.is_open:
            self._status = "error"

    @property
    def is_open(self) -> bool:
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


@dataclass(kw_only=True)
class _Turn:
    """A turn of the conversation; times in nanoseconds of the recorder's clock."""

    span: _OpenSpan
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
        self._tracing = tracing or Tracing()
        self._opened_ns = time.monotonic_ns()
        self._opened_wall_ns = time.time_ns()
        self._recorded: list[_OpenSpan] = []
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
            span.set_error()
        self._recorded.append(self._end_span(span, ended_ns))
        self._last = name

    def link(self, spans: Iterable[Span]) -> None:
        """Adds the agent's own spans to this trace: those without a parent among them become children of the root.

        They are marked by `harness.origin`; their other attributes with names of this harness are left out.
        """
        trace_id, root_id = self._root.trace_id, self._root.span_id
        for span in spans:
            attributes = {name: value for name, value in span.attributes.items() if not name.startswith("harness.")}
            marks: dict[str, JsonValue] = {names.ORIGIN: "agent", names.ORIGIN_TRACE: span.trace_id}
            update = {"trace_id": trace_id, "parent_id": span.parent_id or root_id, "attributes": attributes | marks}
            self._linked.append(span.model_copy(update=update))
            self._tracing.pass_on(self._linked[-1])

    def finish(self) -> tuple[Span, ...]:
        """Ends the root span; returns all spans in the order of their start. Later calls return the same."""
        if self._spans is None:
            now = self._now_ns()
            self._end_turn(now)
            root = self._end_root(now)
            turns = [turn.span for turn in self._turns]
            own = sorted((span.stored() for span in (*turns, *self._recorded)), key=_begin)
            linked = sorted(self._linked, key=lambda span: (span.start_ns, span.span_id))
            self._spans = (root.stored(), *own, *linked)
            self._recorded.clear()
        return self._spans

    def forget(self) -> None:
        """Releases the spans, after which there is nothing left to finish. The root span of an aborted trial ends as an
        error.

        A request that was aborted references the recorder through the traceback of the cancelled task until Python's
        cycle collection runs: without this call, the spans of many requests would stay in memory for dozens of trials.
        """
        if self._root.is_open:
            now = self._now_ns()
            self._end_turn(now)
            self._root.set_error()
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

    def _parent_of(self, started_ns: int) -> _OpenSpan:
        last = self._turns[-1]
        if last.ended_ns is not None and started_ns >= last.ended_ns:
            return self._root
        return next((turn for turn in reversed(self._turns) if turn.began_ns <= started_ns), self._turns[0]).span

    def _end_root(self, now: int) -> _OpenSpan:
        self._root.set_attributes({names.ENDED_MONOTONIC: now})
        return self._end_span(self._root, now)

    def _start_span(
        self, name: str, parent: _OpenSpan | None, attributes: Mapping[str, Plain], started_ns: int
    ) -> _OpenSpan:
        # Wall times are those of the opening plus monotonic time: a clock set during a trial moves nothing.
        return _OpenSpan(name, parent, attributes, self._opened_wall_ns + started_ns)

    def _end_span(self, span: _OpenSpan, ended_ns: int) -> _OpenSpan:
        if span.is_open:
            span.end(self._opened_wall_ns + ended_ns)
            if self._tracing.is_exported:
                self._tracing.pass_on(span.stored())
        return span


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


def _begin(span: Span) -> int:
    return int(str(span.attributes[names.STARTED_MONOTONIC]))
