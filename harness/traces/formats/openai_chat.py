"""OpenAI's chat completions and responses: conversations, examples for fine-tuning, logged requests with responses.

A call is what the format states as one. A role, a part or an item that the format does not know is refused by its
place; a field that is not read is counted by its name.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from pydantic import JsonValue

from harness.errors import InvalidDocument
from harness.suite.cases import Case
from harness.traces.foreign_json import LINES, Record, has_other_parts, kind_of, read_lines, result_of, text_of
from harness.traces.formats.found import Found, FoundRun, FoundTool, Importer, Source, tools_of, wall_ns
from harness.traces.formats.transcript import ForeignCall, ForeignResult, ForeignStep, TranscriptBuilder, joined
from harness.traces.trajectory import Source as StepSource
from harness.traces.trajectory import ToolFailure
from harness.traces.usage import usage_in
from harness.values import JsonObject

IsMessage = Callable[[JsonObject], bool]


def conversations_of(source: Source, is_message: IsMessage) -> Iterator[tuple[str, Record]]:
    """(name, record) of each conversation; messages without a record around them are one, under `messages`.

    A logged request (`request`, or `body` in files of a batch) is opened: its fields are the record's.
    """
    if source.path.suffix in LINES:
        records = [(f"line {number}", source.whole(value, line=number)) for number, value in read_lines(source.path)]
    else:
        document = source.document()
        if not isinstance(document, list):
            yield "record 0", _conversation_record(source.whole(document))
            return
        records = [(f"record {number}", source.whole(value, str(number))) for number, value in enumerate(document)]
    if records and is_message(records[0][1].data):
        yield "record 0", _conversation(source, [record for _, record in records], is_message)
        return
    for name, record in records:
        yield name, _conversation_record(record)


def _conversation(source: Source, messages: list[Record], is_message: IsMessage) -> Record:
    for message in messages:
        if not is_message(message.data):
            raise message.refusal("", "is no message, and stands among messages")
    given: list[JsonValue] = [message.data for message in messages]
    return source.whole({"messages": given})


def _conversation_record(record: Record) -> Record:
    request = record.record("request", "body")
    if request is None:
        return record
    around = {name: value for name, value in record.data.items() if name not in ("request", "body")}
    return Record(path=record.path, data={**request.data, **around}, at=record.at, line=record.line)


def missing_messages(record: Record) -> InvalidDocument:
    """The refusal of a record that holds no conversation."""
    found = record.data.get("messages")
    what = "holds no messages" if isinstance(found, list) else f"is {kind_of(found)}, not a list of messages"
    remedy = "give the messages (objects with `role` and `content`) under `messages`, or choose the format of the file"
    return record.refusal("messages", what, remedy)


_SOURCES: Final[Mapping[str, StepSource]] = MappingProxyType(
    {"system": "system", "developer": "system", "user": "user"}
)
_RESULTS: Final = ("tool", "function")
_PARTS: Final = frozenset(
    (
        "text", "input_text", "output_text", "refusal", "image_url", "input_image", "input_audio", "audio", "file",
        "input_file",
    )
)  # fmt: skip
_RECORD_FIELDS: Final = frozenset(
    (
        "messages", "input", "output", "instructions", "tools", "functions", "response", "choices", "usage", "id",
        "task_id", "case_id", "task", "trial", "attempt", "reward", "success", "agent", "model", "created",
        "created_at", "timestamp",
    )
)  # fmt: skip
_MESSAGE_FIELDS: Final = frozenset(
    (
        "role", "content", "name", "tool_calls", "function_call", "tool_call_id", "refusal", "reasoning_content",
        "reasoning", "type", "id", "status",
    )
)  # fmt: skip


def read(source: Source) -> Iterator[Found]:
    """Every conversation of the file."""
    for name, record in conversations_of(source, _is_message):
        yield _Conversation(source, name, record).found()


IMPORTER = Importer(patterns=("*.jsonl", "*.ndjson", "*.json"), read=read)


def _is_message(value: JsonObject) -> bool:
    if any(name in value for name in ("messages", "choices", "input", "output")) and "call_id" not in value:
        return False
    return "role" in value or _is_item(value)


def _is_item(value: JsonObject) -> bool:
    kind = value.get("type")
    return isinstance(kind, str) and (kind == "reasoning" or kind.endswith(("_call", "_call_output")))


class _Conversation:
    """One record: its messages and items as steps, each reply with all of its calls."""

    def __init__(self, source: Source, name: str, record: Record) -> None:
        self._source = source
        self._name = name
        self._record = record
        self._transcript: TranscriptBuilder = source.transcript(name)
        self._reply: ForeignStep | None = None
        """The reply whose items are being collected."""
        self._messages = self._input_records()
        speakers = {_name_of(message) for message in self._messages if message.value("role") == "assistant"}
        self._names_agents = len(speakers - {None}) > 1

    def found(self) -> Found:
        record = self._record
        source = self._source
        source.count_unread(self._name, record, _RECORD_FIELDS)
        for message in self._messages:
            self._add(message)
        self._end_reply()
        self._add_response()
        return Found(
            case=self._case(),
            record=self._name,
            tools=self._tools(),
            run=FoundRun(
                steps=self._transcript.steps(),
                agent=record.text("agent", "model") or "agent",
                attempt=record.count("trial", "attempt"),
                reward=self._reward(),
                started_ns=wall_ns(record.value("created", "created_at", "timestamp")),
            ),
        )

    def _input_records(self) -> list[Record]:
        """What the model was sent: messages, or the input of a response; the instructions precede it."""
        record = self._record
        if record.value("messages") is not None:
            messages = record.records("messages")
            if not messages:
                raise missing_messages(record)
            return messages
        given = record.value("input")
        if given is None or (isinstance(given, str) and record.value("output", "response") is None):
            raise missing_messages(record)  # a text called `input` alone is no request
        said = record.value("instructions")
        before = [] if said is None else [record.within("instructions", {"role": "system", "content": said})]
        if isinstance(given, str):
            return [*before, record.within("input", {"role": "user", "content": given})]
        return [*before, *record.records("input")]

    def _add(self, message: Record) -> None:
        if "role" not in message.data and _is_item(message.data):
            self._add_item(message)
            return
        role, content = message.text("role"), message.value("content")
        self._source.count_unread(self._name, message, _MESSAGE_FIELDS, "messages")
        self._check_parts(message)
        if role == "assistant":
            if message.value("type") == "message":
                self._collect(self._agent_step(message))
                return
            self._end_reply()
            self._transcript.add(self._agent_step(message))
            return
        self._end_reply()
        if role in _RESULTS:
            self._transcript.result(
                ForeignResult(
                    call_id=message.identifier("tool_call_id"), name=message.text("name"), content=result_of(content)
                )
            )
            return
        kind = _SOURCES.get(role or "")
        if kind is None:
            problem = "is missing" if role is None else f"is {role!r}, no role of OpenAI's formats"
            raise message.refusal("role", problem)
        self._transcript.add(ForeignStep(source=kind, message=text_of(content)))

    def _check_parts(self, message: Record) -> None:
        content = message.value("content")
        if not isinstance(content, list):
            return
        for part in message.records("content"):
            if (part.text("type") or "text") not in _PARTS:
                raise part.refusal("type", f"is {part.value('type')!r}, no part of a message in OpenAI's formats")
        if has_other_parts(content):
            problem = "a message holds parts that are not text; each is named in brackets"
            self._source.note(self._name, problem, field="content")

    def _agent_step(self, message: Record, response: Record | None = None) -> ForeignStep:
        return ForeignStep(
            source="agent",
            message=text_of(message.value("content", "refusal")),
            thought=text_of(message.value("reasoning_content", "reasoning")),
            calls=_calls_of(message),
            agent=_name_of(message) if self._names_agents else None,
            model=response.text("model") if response else None,
            usage=usage_in(response.fields("usage")).of_step() if response else None,
        )

    def _add_item(self, item: Record) -> None:
        """An item of the Responses API that is no message."""
        kind = item.text("type") or ""
        if kind == "reasoning":
            parts = [part.text("text") or "" for part in item.records("summary")]
            self._collect(ForeignStep(source="agent", thought="\n".join(parts) or None))
        elif kind.endswith("_output"):
            self._end_reply()
            content = result_of(item.value("output"))
            self._transcript.result(ForeignResult(call_id=item.identifier("call_id"), content=content))
        else:
            self._collect(ForeignStep(source="agent", calls=(_item_call(item, kind),)))
            if kind == "mcp_call" and (item.value("output") is not None or item.value("error") is not None):
                self._end_reply()
                self._transcript.result(_mcp_result(item))

    def _collect(self, part: ForeignStep) -> None:
        """Items that follow each other are one reply."""
        self._reply = part if self._reply is None else joined(self._reply, part)

    def _end_reply(self, response: Record | None = None) -> None:
        if self._reply is not None:
            model = response.text("model") if response else None
            usage = usage_in(response.fields("usage")).of_step() if response else None
            self._transcript.add(replace(self._reply, model=model, usage=usage))
        self._reply = None

    def _add_response(self) -> None:
        """The response to the request: the first of its choices, or the items of its output."""
        response = self._record.record("response") or self._record
        response = response.record("body") or response
        choices = response.records("choices")
        if len(choices) > 1:
            self._source.note(self._name, "a response has several choices; the first is taken", field="choices")
        for choice in choices[:1]:
            message = choice.record("message")
            if message is None:
                raise choice.refusal("message", "is missing")
            self._check_parts(message)
            self._transcript.add(self._agent_step(message, response))
        for item in response.records("output"):
            self._add(item)
        self._end_reply(response)

    def _tools(self) -> tuple[FoundTool, ...] | None:
        name = next((one for one in ("tools", "functions") if self._record.value(one) is not None), None)
        return None if name is None else tools_of(self._record.records(name))

    def _reward(self) -> float | None:
        """A number, or whether the run reached its goal."""
        told = self._record.value("reward", "success")
        return float(told) if isinstance(told, bool) else self._record.number("reward", "success")

    def _case(self) -> Case:
        record = self._record
        task = record.text("task") or _first_text(self._messages, ("user",))
        system = _first_text(self._messages, ("system", "developer"))
        named = record.identifier("task_id", "case_id", "id")
        return self._source.conversation_case(self._name, named, task, system)


def _first_text(messages: Iterable[Record], roles: Sequence[str]) -> str | None:
    return next((text_of(one.value("content")) for one in messages if one.value("role") in roles), None)


def _calls_of(message: Record) -> tuple[ForeignCall, ...]:
    """The calls of a reply, in today's shape and in the older one of a single function."""
    calls = [_foreign_call(call) for call in message.records("tool_calls")]
    older = message.record("function_call")
    if older is not None:
        calls.append(ForeignCall(id=None, name=older.tool(), arguments=older.value("arguments")))
    return tuple(calls)


def _foreign_call(call: Record) -> ForeignCall:
    function = call.record("function", "custom")
    if function is None:
        raise call.refusal("function", "is missing: every call names a function")
    arguments = function.value("arguments", "input")
    return ForeignCall(id=call.identifier("id"), name=function.tool(), arguments=arguments)


def _item_call(item: Record, kind: str) -> ForeignCall:
    """A function's call by its name; a call of a tool that the provider runs by the item's own type."""
    name = item.text("name") or (None if kind in ("function_call", "custom_tool_call", "mcp_call") else kind[:-5])
    if name is None:
        raise item.refusal("name", "is missing: every call names a tool")
    return ForeignCall(
        id=item.identifier("call_id", "id"), name=name, arguments=item.value("arguments", "input", "action")
    )


def _mcp_result(item: Record) -> ForeignResult:
    error: JsonValue = item.value("error")
    failure = None if error is None else ToolFailure(type="tool_error", message=(text_of(error) or "")[:500])
    return ForeignResult(call_id=item.identifier("call_id", "id"), content=item.value("output"), error=failure)


def _name_of(message: Record) -> str | None:
    return message.text("name") or None
