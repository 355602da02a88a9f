"""Anthropic messages: replies are lists of blocks, and results come in the user's messages."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from harness.case import Case
from harness.ingest.content import part_text, result_of, text_of
from harness.ingest.definitions import tools_of
from harness.ingest.foreign import ForeignCall, ForeignResult, ForeignStep
from harness.ingest.formats.openai_chat import usage_of
from harness.ingest.found import Found, FoundRun, Importer, Source
from harness.ingest.naming import case_id, task_id, wall_ns
from harness.ingest.plain_errors import plain_failure
from harness.ingest.reading import Record
from harness.ingest.records import conversations_of
from harness.ingest.transcript import TranscriptBuilder
from harness.trace import ToolFailure
from harness.values import JsonObject, JsonValue

_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")


def read(source: Source) -> Iterator[Found]:
    """Every conversation of the file."""
    for name, record in conversations_of(source):
        yield _found(source, name, record)


IMPORTER = Importer(patterns=("*.jsonl", "*.json"), read=read)


@dataclass(kw_only=True)
class _MessageBlocks:
    """What one message holds, block by block."""

    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[ForeignCall] = field(default_factory=list)
    results: list[ForeignResult] = field(default_factory=list)
    others: bool = False

    def add(self, block: Record) -> None:
        block = _typed(block)
        kind = block.text("type") or "text"
        if kind in _CALLS:
            self.calls.append(_call(block))
        elif kind.endswith("tool_result"):
            self.results.append(_result(block))
        elif kind in ("thinking", "redacted_thinking"):
            self.thoughts.append(block.text("thinking") or f"[{kind}]")
        else:
            self.others |= kind != "text"
            self.texts.append(part_text(block.data) or "")

    @property
    def text(self) -> str | None:
        return "\n".join(self.texts) or None

    @property
    def thought(self) -> str | None:
        return "\n".join(self.thoughts) or None


def _typed(block: Record) -> Record:
    """Bedrock's blocks have a field in place of a type."""
    call, result = block.record("toolUse"), block.record("toolResult")
    if call is not None:
        data: JsonObject = {**call.data, "type": "tool_use", "id": call.value("toolUseId")}
        return replace(call, data=data)
    if result is not None:
        content = [_bedrock_content(one) for one in result.items("content")]
        failed: JsonObject = {} if result.value("status") is None else {"is_error": result.value("status") == "error"}
        told: JsonObject = {"type": "tool_result", "tool_use_id": result.value("toolUseId"), **failed}
        return replace(result, data={**told, "content": content[0] if len(content) == 1 else [*content]})
    return block


def _bedrock_content(part: JsonValue) -> JsonValue:
    return part.get("json", part.get("text", part)) if isinstance(part, dict) else part


def _call(block: Record) -> ForeignCall:
    name = block.text("name")
    if name is None:
        raise block.refusal("name", "is missing: every call names a tool")
    return ForeignCall(id=block.identifier("id"), name=name, arguments=block.value("input"))


def _result(block: Record) -> ForeignResult:
    content = result_of(block.value("content"))
    text, flagged = text_of(content) or "", block.flag("is_error")
    error = plain_failure(text) if flagged is None else None  # without a flag the text alone can tell it
    if flagged:
        error = ToolFailure(type="tool_error", message=text[:500])
    return ForeignResult(call_id=block.identifier("tool_use_id"), content=content, error=error)


def _blocks(source: Source, name: str, message: Record) -> _MessageBlocks:
    blocks = _MessageBlocks()
    content = message.value("content")
    if isinstance(content, str):
        blocks.texts.append(content)
        return blocks
    for block in message.records("content"):
        blocks.add(block)
    if blocks.others:
        source.note(name, "a message holds blocks that are not text; each is named in brackets", field="content")
    return blocks


def _add(source: Source, name: str, transcript: TranscriptBuilder, message: Record) -> None:
    role = message.text("role")
    if role is None:
        raise message.refusal("role", "is missing")
    if role not in ("user", "assistant", "system"):
        source.note(name, f"role {role!r} is not known; its message is read as the system's", field="role")
    blocks = _blocks(source, name, message)
    if role == "assistant":
        transcript.add(
            ForeignStep(
                source="agent",
                message=blocks.text,
                thought=blocks.thought,
                calls=tuple(blocks.calls),
                model=message.text("model"),
                usage=usage_of(message.record("usage")),
            )
        )
    for result in blocks.results:
        transcript.result(result)
    if role != "assistant" and (blocks.text is not None or not blocks.results):
        transcript.add(ForeignStep(source="user" if role == "user" else "system", message=blocks.text))


def _found(source: Source, name: str, record: Record) -> Found:
    transcript = source.transcript(name)
    system = text_of(record.value("system"))
    if system is not None:
        transcript.add(ForeignStep(source="system", message=system))
    messages = record.records("messages")
    response = record.record("response")
    for message in messages + ([response] if response else []):
        _add(source, name, transcript, message)
    if record.text("role") == "assistant" and record.value("content") is not None:
        _add(source, name, transcript, record)  # a response that stands beside the messages it answers
    return Found(
        case=_case(source, name, record, messages, system),
        record=name,
        tools=None if record.value("tools") is None else tools_of(record.records("tools")),
        run=FoundRun(
            steps=transcript.steps(),
            agent=record.text("agent", "model") or "agent",
            attempt=record.count("trial", "attempt"),
            reward=record.number("reward", "score"),
            started_ns=wall_ns(record.value("created", "timestamp")),
        ),
    )


def _case(source: Source, name: str, record: Record, messages: Sequence[Record], system: str | None) -> Case:
    asked = (_blocks(source, name, m).text for m in messages if m.data.get("role") == "user")
    task = next((text for text in asked if text is not None), None)
    identifier = record.identifier("task_id", "case_id")
    identity = task_id(task, system) if identifier is None else case_id(identifier)
    origin = f"{source.path.name} {name}"
    return source.case(name, {"id": identity, "task": task, "system": system, "origin": origin})
