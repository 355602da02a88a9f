"""The spans of a trial whose trace is stored and not exported: the data of the SDK's span, in a third of its time.

The SDK's tracer creates a span that samplers, processors and other threads may read. Where the run has no processor,
none does, and a trial of a hundredth of a second has ten spans.
"""

import os
from collections.abc import Mapping

from opentelemetry import trace as otel

from harness.trace.span import Span

Plain = str | bool | int | float


class StoredSpan:
    """Has the methods of the SDK's span that the recorder calls; used under the same rules by one thread at a time."""

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
