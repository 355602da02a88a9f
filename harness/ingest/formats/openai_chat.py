"""OpenAI chat: conversations of messages, as fine-tuning examples, logs of requests and responses, or bare lists."""

from collections.abc import Iterator, Sequence

from harness.case import Case
from harness.ingest.content import has_other_parts, result_of, text_of
from harness.ingest.definitions import tools_of
from harness.ingest.found import Found, FoundRun, FoundTool, Importer, Source
from harness.ingest.naming import case_id, task_id, wall_ns
from harness.ingest.reading import Record
from harness.ingest.records import conversations_of
from harness.ingest.transcript import ForeignCall, ForeignResult, ForeignStep, Transcript
from harness.trace import Usage


def read(source: Source) -> Iterator[Found]:
    """Every conversation of the file."""
    for name, record in conversations_of(source):
        yield _found(source, name, record)


IMPORTER = Importer(patterns=("*.jsonl", "*.json"), read=read)


def add_messages(source: Source, record: str, transcript: Transcript, messages: Sequence[Record]) -> None:
    """Chat messages as steps, and as results of earlier ones."""
    for message in messages:
        _add(source, record, transcript, message)


def first_text(messages: Sequence[Record], *roles: str) -> str | None:
    """The text of the first message of one of the roles."""
    return next((text_of(m.value("content")) for m in messages if m.data.get("role") in roles), None)


def calls_of(message: Record) -> tuple[ForeignCall, ...]:
    """The calls of a reply, in today's shape and in the older one of a single function."""
    calls = [_call(call) for call in message.records("tool_calls")]
    older = message.record("function_call")
    if older is not None:
        calls.append(ForeignCall(id=None, name=_name(older), arguments=older.value("arguments")))
    return tuple(calls)


def usage_of(usage: Record | None) -> Usage | None:
    if usage is None:
        return None
    return Usage(
        input_tokens=usage.count("prompt_tokens", "input_tokens"),
        output_tokens=usage.count("completion_tokens", "output_tokens"),
    )


def _add(source: Source, record: str, transcript: Transcript, message: Record) -> None:
    content = message.value("content")
    if has_other_parts(content):
        source.note(record, "a message holds parts that are no text; each is named in brackets", field="content")
    match message.text("role"):
        case "system" | "developer":
            transcript.add(ForeignStep(source="system", message=text_of(content)))
        case "user":
            transcript.add(ForeignStep(source="user", message=text_of(content)))
        case "assistant":
            transcript.add(_reply(message))
        case "tool" | "function":
            called = message.identifier("tool_call_id")
            transcript.result(ForeignResult(call_id=called, name=message.text("name"), content=result_of(content)))
        case None:
            raise message.refusal("role", "is missing")
        case other:
            source.note(record, f"role {other!r} is not known; its message is read as the system's", field="role")
            transcript.add(ForeignStep(source="system", message=text_of(content)))


def _call(call: Record) -> ForeignCall:
    function = call.record("function", "custom") or call
    return ForeignCall(id=call.identifier("id"), name=_name(function), arguments=function.value("arguments", "input"))


def _name(function: Record) -> str:
    name = function.text("name")
    if name is None:
        raise function.refusal("name", "is missing: every call names a tool")
    return name


def _reply(message: Record, response: Record | None = None) -> ForeignStep:
    return ForeignStep(
        source="agent",
        message=text_of(message.value("content", "refusal")),
        thought=text_of(message.value("reasoning_content", "reasoning")),
        calls=calls_of(message),
        model=response.text("model") if response else None,
        usage=usage_of(response.record("usage")) if response else None,
    )


def _found(source: Source, name: str, record: Record) -> Found:
    transcript = source.transcript(name)
    messages = record.records("messages")
    add_messages(source, name, transcript, messages)
    _add_response(source, name, transcript, record)
    return Found(
        case=_case(source, name, record, messages),
        record=name,
        tools=_tools(record),
        run=FoundRun(
            steps=transcript.steps(),
            agent=record.text("agent", "model") or "agent",
            attempt=record.count("trial", "attempt"),
            reward=record.number("reward", "score"),
            started_ns=wall_ns(record.value("created", "timestamp")),
        ),
    )


def _add_response(source: Source, name: str, transcript: Transcript, record: Record) -> None:
    response = record.record("response") or record
    choices = response.records("choices")
    if len(choices) > 1:
        source.note(name, "a response has several choices; the first is taken", field="choices")
    for choice in choices[:1]:
        message = choice.record("message")
        if message is None:
            raise choice.refusal("message", "is missing")
        transcript.add(_reply(message, response))


def _tools(record: Record) -> tuple[FoundTool, ...] | None:
    if record.value("tools") is not None:
        return tools_of(record.records("tools"))
    return None if record.value("functions") is None else tools_of(record.records("functions"))


def _case(source: Source, name: str, record: Record, messages: Sequence[Record]) -> Case:
    task, system = first_text(messages, "user"), first_text(messages, "system", "developer")
    told = record.identifier("task_id", "case_id", "id")
    identity = task_id(task, system) if told is None else case_id(told)
    origin = f"{source.path.name} {name}"
    return source.case(name, {"id": identity, "task": task, "system": system, "origin": origin})
