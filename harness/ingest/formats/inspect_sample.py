"""One sample of an Inspect log as steps: from its messages, with times and usage from its events."""

from collections.abc import Mapping
from types import MappingProxyType

from harness.ingest.content import has_other_parts, result_of, text_of
from harness.ingest.definitions import tools_of
from harness.ingest.foreign import ForeignCall, ForeignResult, ForeignStep
from harness.ingest.formats.openai_chat import usage_of
from harness.ingest.found import FoundTool, Source
from harness.ingest.naming import wall_ns
from harness.ingest.reading import Record
from harness.trace import Step, ToolErrorType, ToolFailure
from harness.values import JsonValue

_ATTACHMENT = "attachment://"
_FAILURES: Mapping[str, ToolErrorType] = MappingProxyType(
    {
        "parsing": "invalid_arguments",
        "timeout": "timeout",
        "approval": "not_allowed",
        "limit": "limit_reached",
    }
)
"""What is not here is the tool's own failure: permission, file_not_found, is_a_directory, unicode_decode, unknown."""


def tools_in(sample: Record) -> tuple[FoundTool, ...] | None:
    """The tools offered to the sample's model calls; None where none is recorded."""
    by_name: dict[str, FoundTool] = {}
    events = [event for event in _events(sample) if event.value("event") == "model"]
    for event in events:
        by_name |= {tool.name: tool for tool in tools_of(event.records("tools"))}
    return tuple(by_name.values()) or None


def _events(sample: Record) -> list[Record]:
    older = sample.record("transcript")
    return sample.records("events") if older is None else older.records("events")


class SampleReading:
    """Reads one sample."""

    def __init__(self, source: Source, name: str, sample: Record) -> None:
        self._source = source
        self._name = name
        self._transcript = source.transcript(name)
        self._attachments = self._pool(sample)
        self.began: int | None = None
        events = _events(sample)
        for event in events:
            self.began = self.began or wall_ns(event.value("timestamp"))
        messages = sample.records("messages")
        if messages:
            self._replies = _replies(events)
            self._durations = {event.identifier("id"): event for event in events if event.value("event") == "tool"}
            for message in messages:
                self._message(message)
        else:
            for event in events:
                self._event(event)

    def steps(self) -> tuple[Step, ...]:
        return self._transcript.steps()

    def _pool(self, sample: Record) -> dict[str, JsonValue]:
        older = sample.record("transcript")
        pools = [sample.record("attachments"), older.record("content") if older else None]
        return {name: value for pool in pools if pool for name, value in pool.data.items()}

    def _message(self, message: Record) -> None:
        content = self._resolved(message.value("content"))
        if has_other_parts(content, ("text", "reasoning")):
            self._source.note(
                self._name, "a message holds parts that are not text; each is named in brackets", field="content"
            )
        match message.text("role"):
            case "tool":
                self._transcript.result(self._result(message, content))
            case "assistant":
                self._transcript.add(self._reply(message, content))
            case "user":
                self._transcript.add(ForeignStep(source="user", message=_said(content)))
            case "system":
                self._transcript.add(ForeignStep(source="system", message=_said(content)))
            case None:
                raise message.refusal("role", "is missing")
            case other:
                raise message.refusal("role", f"is {other!r}, no role of Inspect")

    def _reply(self, message: Record, content: JsonValue, event: Record | None = None) -> ForeignStep:
        event = event or self._replies.get(message.identifier("id") or "")
        output = event.record("output") if event else None
        began = wall_ns(event.value("timestamp")) if event else None
        ended = wall_ns(event.value("completed")) if event else None
        return ForeignStep(
            source="agent",
            message=_said(content),
            thought=_thought(content) or message.text("reasoning"),
            calls=tuple(_call(call) for call in message.records("tool_calls")),
            model=message.text("model") or (event.text("model") if event else None),
            usage=usage_of(output.record("usage")) if output else None,
            started_ns=self._since(began),
            ended_ns=self._since(ended),
        )

    def _event(self, event: Record) -> None:
        match event.value("event"):
            case "model":
                output = event.record("output")
                choices = output.records("choices") if output else []
                message = choices[0].record("message") if choices else None
                if message is None:
                    model = event.text("model")
                    self._transcript.add(
                        ForeignStep(
                            source="agent", model=model, started_ns=self._since(wall_ns(event.value("timestamp")))
                        )
                    )
                else:
                    self._transcript.add(self._reply(message, self._resolved(message.value("content")), event))
            case "tool":
                self._tool_event(event)
            case _:
                pass

    def _tool_event(self, event: Record) -> None:
        call = _call(event)
        known = self._transcript.waiting(call.id, None)
        if known is None:
            known = self._transcript.add(
                ForeignStep(source="agent", calls=(call,), started_ns=self._since(wall_ns(event.value("timestamp"))))
            )[0]
        if "result" in event.data or event.value("error") is not None:
            content = result_of(self._resolved(event.value("result")))
            self._transcript.answer(
                known, ForeignResult(call_id=call.id, content=content, error=_failure(event), duration_ms=_took(event))
            )

    def _result(self, message: Record, content: JsonValue) -> ForeignResult:
        call_id = message.identifier("tool_call_id")
        event = self._durations.get(call_id)
        return ForeignResult(
            call_id=call_id,
            name=message.text("function"),
            content=result_of(content),
            error=_failure(message),
            duration_ms=None if event is None else _took(event),
        )

    def _resolved(self, content: JsonValue) -> JsonValue:
        """Content with its attachments in place; one that is not in the log stays as its name."""
        match content:
            case str() if content.startswith(_ATTACHMENT):
                found = self._attachments.get(content.removeprefix(_ATTACHMENT))
                if found is None:
                    self._source.note(self._name, "an attachment is not in the log; its name stands in its place")
                return content if found is None else found
            case list():
                return [self._resolved(item) for item in content]
            case dict():
                return {name: self._resolved(item) if name in _TEXTS else item for name, item in content.items()}
            case _:
                return content

    def _since(self, now: int | None) -> int | None:
        return None if now is None or self.began is None else max(0, now - self.began)


_TEXTS = ("text", "reasoning")


def _replies(events: list[Record]) -> dict[str, Record]:
    """Model events by the id of the message that they produced."""
    found: dict[str, Record] = {}
    for event in events:
        output = event.record("output") if event.value("event") == "model" else None
        for choice in output.records("choices")[:1] if output else []:
            message = choice.record("message")
            identity = message.identifier("id") if message else None
            if identity is not None:
                found[identity] = event
    return found


def _said(content: JsonValue) -> str | None:
    """The text of a message without the reasoning among its parts."""
    if isinstance(content, list):
        content = [part for part in content if not (isinstance(part, dict) and part.get("type") == "reasoning")]
    return text_of(content)


def _thought(content: JsonValue) -> str | None:
    if not isinstance(content, list):
        return None
    parts = [part.get("reasoning") for part in content if isinstance(part, dict) and part.get("type") == "reasoning"]
    return "\n".join(part for part in parts if isinstance(part, str)) or None


def _call(call: Record) -> ForeignCall:
    name = call.text("function")
    if name is None:
        raise call.refusal("function", "is missing: every call names a tool")
    broken = call.text("parse_error")
    arguments = call.value("arguments")
    return ForeignCall(
        id=call.identifier("id"),
        name=name,
        arguments=arguments,
        unparsed=None if broken is None else text_of(arguments) if isinstance(arguments, str) else broken,
    )


def _failure(event: Record) -> ToolFailure | None:
    error = event.value("error")
    if error is None:
        return None
    kind, message = (error.get("type"), error.get("message")) if isinstance(error, dict) else (None, error)
    return ToolFailure(type=_FAILURES.get(str(kind), "tool_error"), message=(text_of(message) or str(kind))[:500])


def _took(event: Record) -> float | None:
    seconds = event.number("working_time")
    return None if seconds is None else round(seconds * 1000, 3)
