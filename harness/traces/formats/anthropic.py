"""Anthropic messages: conversations, logged requests with their responses, and the transcripts of Claude Code.

A transcript of Claude Code is one session: JSON lines, each with a message inside of what the program notes of it. A
reply is written there as several lines with the message's id, one for each block.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from harness.suite.cases import Case
from harness.traces.foreign_json import Record, part_text, result_of, text_of
from harness.traces.formats.found import Found, FoundRun, Importer, Source, since, tools_of, wall_ns
from harness.traces.formats.openai_chat import conversations_of, missing_messages
from harness.traces.formats.transcript import ForeignCall, ForeignResult, ForeignStep, joined
from harness.traces.trajectory import ToolFailure
from harness.traces.usage import usage_in
from harness.values import JsonObject

_CALLS: Final = ("tool_use", "server_tool_use", "mcp_tool_use")
_OTHERS: Final = ("image", "document", "search_result", "container_upload")
_SUB_AGENT: Final = "sub-agent"
_RECORD_FIELDS: Final = frozenset(
    (
        "messages", "system", "tools", "response", "role", "content", "id", "type", "task_id", "case_id", "trial",
        "attempt", "reward", "score", "agent", "model", "created", "timestamp", "usage",
    )
)  # fmt: skip
_MESSAGE_FIELDS: Final = frozenset(
    ("role", "content", "id", "type", "model", "usage", "stop_reason", "stop_sequence", "container")
)


def read(source: Source) -> Iterator[Found]:
    """Every conversation of the file."""
    for name, record in conversations_of(source, _is_message):
        yield _found_record(source, name, record)


IMPORTER = Importer(patterns=("*.jsonl", "*.json"), read=read)


def _is_message(value: JsonObject) -> bool:
    return ("role" in value and "messages" not in value) or _is_line(value)


def _is_line(value: JsonObject) -> bool:
    """Whether an object is a line of a transcript of Claude Code."""
    return "type" in value and "role" not in value and "messages" not in value and "request" not in value


@dataclass(kw_only=True)
class _MessageBlocks:
    """What one message holds, block by block."""

    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[ForeignCall] = field(default_factory=list)
    results: list[ForeignResult] = field(default_factory=list)
    others: bool = False

    def add(self, block: Record) -> None:
        kind = block.text("type")
        if kind in _CALLS:
            self.calls.append(_foreign_call(block))
        elif kind in ("thinking", "redacted_thinking"):
            self.thoughts.append(block.text("thinking") or f"[{kind}]")
        elif kind is not None and kind.endswith("tool_result"):
            self.results.append(_foreign_result(block))
        elif kind == "text" or kind in _OTHERS:
            self.others |= kind != "text"
            self.texts.append(part_text(block.data) or "")
        else:
            raise block.refusal("type", f"is {kind!r}, no block of a message in Anthropic's format")

    @property
    def text(self) -> str | None:
        return "\n".join(self.texts) or None

    @property
    def thought(self) -> str | None:
        return "\n".join(self.thoughts) or None


def _foreign_call(block: Record) -> ForeignCall:
    return ForeignCall(id=block.identifier("id"), name=block.tool(), arguments=block.value("input"))


def _foreign_result(block: Record) -> ForeignResult:
    content = result_of(block.value("content"))
    failed = block.flag("is_error")
    error = ToolFailure(type="tool_error", message=(text_of(content) or "")[:500]) if failed else None
    return ForeignResult(call_id=block.identifier("tool_use_id"), content=content, error=error)


def _blocks(message: Record) -> _MessageBlocks:
    blocks = _MessageBlocks()
    content = message.value("content")
    if isinstance(content, str):
        blocks.texts.append(content)
        return blocks
    for block in message.records("content"):
        blocks.add(block)
    return blocks


class _Conversation:
    """Messages as steps. `began` is the wall time of the first that has one."""

    def __init__(self, source: Source, name: str) -> None:
        self._source = source
        self._name = name
        self.transcript = source.transcript(name)
        self.began: int | None = None
        self._open: tuple[str, ForeignStep] | None = None
        """Id and content of the reply whose blocks are being collected."""

    def line(self, line: Record) -> None:
        """A line of a transcript."""
        kind = line.text("type")
        message = line.record("message")
        if kind not in ("user", "assistant") or message is None:
            self._source.note(self._name, f"a line of type {kind!r} is no message and is left out", field="type")
            return
        now = wall_ns(line.value("timestamp"))
        self.began = now if self.began is None else self.began
        agent = _SUB_AGENT if line.flag("isSidechain") else None
        self.add(message, agent=agent, started_ns=since(self.began, now), by_program=bool(line.flag("isMeta")))

    def add(
        self, message: Record, *, agent: str | None = None, started_ns: int | None = None, by_program: bool = False
    ) -> None:
        role = message.text("role")
        if role not in ("user", "assistant", "system"):
            problem = "is missing" if role is None else f"is {role!r}, no role of Anthropic's format"
            raise message.refusal("role", problem)
        self._source.count_unread(self._name, message, _MESSAGE_FIELDS, "messages")
        blocks = _blocks(message)
        if blocks.others:
            problem = "a message holds blocks that are not text; each is named in brackets"
            self._source.note(self._name, problem, field="content")
        if role == "assistant":
            self._reply(message, blocks, agent, started_ns)
        else:
            self.end()
        for result in blocks.results:
            self.end()
            self.transcript.result(result)
        if role != "assistant" and (blocks.text is not None or not blocks.results):
            by_user = role == "user" and not by_program
            step = ForeignStep(source="user" if by_user else "system", message=blocks.text, agent=agent)
            self.transcript.add(replace(step, started_ns=started_ns))

    def _reply(self, message: Record, blocks: _MessageBlocks, agent: str | None, started_ns: int | None) -> None:
        identity = message.text("id") or ""
        step = ForeignStep(
            source="agent",
            message=blocks.text,
            thought=blocks.thought,
            calls=tuple(blocks.calls),
            agent=agent,
            model=message.text("model"),
            usage=usage_in(message.fields("usage"), cache_beside=True).of_step(),
            started_ns=started_ns,
        )
        if self._open is not None and identity and self._open[0] == identity:
            step = joined(self._open[1], step)
        else:
            self.end()
        self._open = (identity, step)

    def end(self) -> None:
        """The reply whose blocks were collected is complete."""
        if self._open is not None:
            self.transcript.add(self._open[1])
        self._open = None


def _found_record(source: Source, name: str, record: Record) -> Found:
    conversation = _Conversation(source, name)
    system = text_of(record.value("system"))
    if system is not None:
        conversation.transcript.add(ForeignStep(source="system", message=system))
    messages = record.records("messages")
    if not messages:
        raise missing_messages(record)
    if _is_line(messages[0].data):
        for line in messages:
            conversation.line(line)
        messages = [message for line in messages if (message := line.record("message")) is not None]
    else:
        source.count_unread(name, record, _RECORD_FIELDS)
        for message in messages:
            conversation.add(message)
    response = record.record("response")
    if response is not None:
        conversation.add(response)
    if record.text("role") == "assistant" and record.value("content") is not None:
        conversation.add(replace(record, data={"role": "assistant", **_reply_fields(record)}))
    conversation.end()
    return Found(
        case=_case(source, name, record, messages, system),
        record=name,
        tools=None if record.value("tools") is None else tools_of(record.records("tools")),
        run=FoundRun(
            steps=conversation.transcript.steps(),
            agent=record.text("agent", "model") or "agent",
            attempt=record.count("trial", "attempt"),
            reward=record.number("reward", "score"),
            started_ns=wall_ns(record.value("created", "timestamp")) or conversation.began,
        ),
    )


def _reply_fields(record: Record) -> JsonObject:
    """A response that is beside the messages that it answers."""
    return {name: record.data[name] for name in ("id", "content", "model", "usage") if name in record.data}


def _case(source: Source, name: str, record: Record, messages: Sequence[Record], system: str | None) -> Case:
    asked = (_blocks(message).text for message in messages if message.data.get("role") == "user")
    task = next((text for text in asked if text is not None), None)
    return source.conversation_case(name, record.identifier("task_id", "case_id"), task, system)
