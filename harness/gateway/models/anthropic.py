"""Anthropic's messages: blocks in both directions, results in the user's messages."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from pydantic import JsonValue

from harness.gateway.models.formats import (
    Replied,
    RequestContent,
    call_part,
    joined,
    misshapen,
    reasoning_part,
    result_part,
    text_part,
)
from harness.traces.usage import count_of, usage_in
from harness.values import JsonObject, NotJson, object_of, objects_of, parse_json, some_text

_OWN_TOOLS = re.compile(r"custom|(?:bash|text_editor|memory|computer)_\d{8}")
"""Tools defined by Anthropic that the client runs."""
_INLINE = {"base64", "text", "content"}
_CALLS = {"tool_use", "server_tool_use", "mcp_tool_use"}


class AnthropicMessages:
    """`POST /v1/messages`."""

    def asked(self, body: JsonObject) -> RequestContent:
        return RequestContent(
            model=some_text(body.get("model")),
            messages=tuple(m for message in objects_of(body.get("messages")) for m in _messages(message)),
            system=_content_text(body.get("system")),
            tools=tuple(objects_of(body.get("tools"))),
            streams=body.get("stream") is True,
        )

    def replied(self, body: JsonObject) -> Replied:
        if "content" not in body:
            return Replied()
        reason = some_text(body.get("stop_reason"))
        parts = [_part_of_block(block) for block in objects_of(body.get("content"))]
        return Replied(
            message={"role": "assistant", "parts": list[JsonValue](parts)},
            id=some_text(body.get("id")),
            model=some_text(body.get("model")),
            finish_reasons=() if reason is None else (reason,),
            used=usage_in(object_of(body.get("usage")), cache_beside=True),
        )

    def streamed(self, events: list[JsonObject]) -> Replied:
        collected = _Blocks()
        for event in events:
            collected.add(event)
        found = self.replied(collected.body())
        return Replied(
            message=found.message if collected.blocks or collected.ended else None,
            id=found.id,
            model=found.model,
            finish_reasons=found.finish_reasons,
            used=usage_in(*collected.usage, cache_beside=True),
        )

    def hosted(self, body: JsonObject) -> Iterator[str]:
        yield from misshapen("tools", body.get("tools"))
        for tool in objects_of(body.get("tools")):
            kind = tool.get("type") or "custom"
            if not _OWN_TOOLS.fullmatch(str(kind)):
                yield f"the tool {kind}"
        for message in objects_of(body.get("messages")):
            for block in _with_inner(objects_of(message.get("content"))):
                source = object_of(block.get("source"))
                if source and str(source.get("type")) not in _INLINE:
                    yield f"{block.get('type')} that it fetches by its {source.get('type')}"
                if block.get("file_id"):
                    yield f"{block.get('type')} that it reads from its own files"


def _with_inner(blocks: list[JsonObject]) -> Iterator[JsonObject]:
    for block in blocks:
        yield block
        yield from _with_inner(objects_of(block.get("content")))
        yield from _with_inner(objects_of(object_of(block.get("source")).get("content")))


def _messages(message: JsonObject) -> Iterator[JsonObject]:
    role, content = some_text(message.get("role")) or "user", message.get("content")
    blocks = objects_of([{"type": "text", "text": content}] if isinstance(content, str) else content)
    results = [block for block in blocks if str(block.get("type")).endswith("tool_result")]
    rest = [block for block in blocks if block not in results]
    if results:
        yield {"role": "tool", "parts": list[JsonValue](_result_of_block(block) for block in results)}
    if rest or not results:
        yield {"role": role, "parts": list[JsonValue](_part_of_block(block) for block in rest)}


def _part_of_block(block: JsonObject) -> JsonObject:
    match block.get("type", "text"):
        case "text":
            return text_part(some_text(block.get("text")) or "")
        case "thinking":
            return reasoning_part(some_text(block.get("thinking")) or "")
        case "redacted_thinking":
            return reasoning_part("[redacted_thinking]")
        case str() as kind if kind in _CALLS:
            return call_part(block.get("id"), block.get("name"), block.get("input"))
        case other:
            return text_part(f"[{other}]")


def _result_of_block(block: JsonObject) -> JsonObject:
    return result_part(
        block.get("tool_use_id"), _content_text(block.get("content")), failed=block.get("is_error") is True
    )


def _content_text(content: JsonValue) -> str | None:
    if isinstance(content, list):
        return joined([some_text(block.get("text")) or f"[{block.get('type')}]" for block in objects_of(content)])
    return some_text(content)


@dataclass(kw_only=True)
class _Blocks:
    """A message assembled from its events."""

    message: JsonObject = field(default_factory=dict)
    blocks: list[JsonObject] = field(default_factory=list)
    usage: list[JsonObject] = field(default_factory=list)
    ended: bool = False
    _latest: dict[int | None, JsonObject] = field(default_factory=dict)
    """Index -> the block that was begun last there: each start begins a new one, also if all have the index 0."""
    _inputs: dict[int, str] = field(default_factory=dict)

    def add(self, event: JsonObject) -> None:
        match event.get("type"):
            case "message_start":
                self.message = dict(object_of(event.get("message")))
                self.usage.append(object_of(self.message.get("usage")))
            case "content_block_start":
                self._begin(count_of(event.get("index")), dict(object_of(event.get("content_block"))))
            case "content_block_delta":
                self._delta(count_of(event.get("index")), object_of(event.get("delta")))
            case "message_delta":
                self.message |= object_of(event.get("delta"))
                self.usage.append(object_of(event.get("usage")))
            case "message_stop":
                self.ended = True
            case _:
                pass

    def _begin(self, index: int | None, block: JsonObject) -> JsonObject:
        self.blocks.append(block)
        self._latest[index] = self._latest[None] = block
        return block

    def _delta(self, index: int | None, delta: JsonObject) -> None:
        block = self._latest.get(index)
        block = self._begin(index, {}) if block is None else block
        for name in ("text", "thinking"):
            more = some_text(delta.get(name))
            if more:
                block[name] = f"{block.get(name) or ''}{more}"
        self._inputs[id(block)] = self._inputs.get(id(block), "") + (some_text(delta.get("partial_json")) or "")

    def body(self) -> JsonObject:
        inputs = ((block, self._inputs.get(id(block))) for block in self.blocks)
        return self.message | {
            "content": [block | {"input": _input(text)} if text else block for block, text in inputs]
        }


def _input(text: str) -> JsonValue:
    try:
        return parse_json(text.encode("utf-8", "replace"))
    except NotJson:
        return text
