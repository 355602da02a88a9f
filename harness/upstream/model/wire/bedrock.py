"""Bedrock's Converse and ConverseStream: blocks of one member each, the same for the models of all publishers."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from harness.case import Provider
from harness.strict_json import NotJson, parse_json
from harness.upstream.model.wire.format import (
    Replied,
    RequestContent,
    Used,
    call_part,
    count_of,
    joined,
    misshapen,
    object_of,
    objects_of,
    reasoning_part,
    result_part,
    text_of,
    text_part,
)
from harness.values import JsonObject, JsonValue

_OWN_TOOLS = frozenset({"toolSpec", "cachePoint"})
_PLAIN_FIELDS = frozenset(
    {
        "anthropic_beta",
        "inferenceConfig",
        "max_tokens",
        "min_p",
        "reasoning_config",
        "reasoning_effort",
        "seed",
        "stop",
        "thinking",
    }
    | {"temperature", "top_k", "top_p"}
)
"""Model-specific fields (`additionalModelRequestFields`) that enable no action of the provider."""
_STORED_PROMPT = ":prompt/"


class BedrockConverse:
    """`POST /model/{model}/converse`, and `converse-stream`."""

    provider: Provider = "bedrock"

    def __init__(self, *, streams: bool = False) -> None:
        self._streams = streams

    def asked(self, body: JsonObject) -> RequestContent:
        tools = objects_of(object_of(body.get("toolConfig")).get("tools"))
        return RequestContent(
            model=text_of(body.get("model")),
            messages=tuple(m for message in objects_of(body.get("messages")) for m in _messages(message)),
            system=joined([text_of(block.get("text")) or "" for block in objects_of(body.get("system"))]),
            tools=tuple(object_of(tool.get("toolSpec")) for tool in tools if "toolSpec" in tool),
            streams=self._streams,
        )

    def replied(self, body: JsonObject) -> Replied:
        message = object_of(body.get("output")).get("message")
        if not isinstance(message, dict):
            return Replied()
        parts = [_part(block) for block in objects_of(message.get("content"))]
        reason = text_of(body.get("stopReason"))
        return Replied(
            message={"role": "assistant", "parts": list[JsonValue](parts)},
            finish_reasons=() if reason is None else (reason,),
            used=_used(object_of(body.get("usage"))),
        )

    def streamed(self, events: list[JsonObject]) -> Replied:
        collected = _Blocks()
        for event in events:
            collected.add(event)
        found = self.replied(collected.body())
        return Replied(
            message=found.message if collected.blocks or collected.reason else None,
            finish_reasons=found.finish_reasons,
            used=found.used,
            complete=collected.reason is not None,
        )

    def hosted(self, body: JsonObject) -> Iterator[str]:
        if _STORED_PROMPT in str(body.get("model")):
            yield "the stored prompt that is named in place of a model"
        tools = object_of(body.get("toolConfig")).get("tools")
        yield from misshapen("toolConfig.tools", tools)
        for tool in objects_of(tools):
            yield from (
                f"the tool {name} {_name_of(value)}".rstrip() for name, value in tool.items() if name not in _OWN_TOOLS
            )
        more = body.get("additionalModelRequestFields")
        if more is not None and not isinstance(more, dict):
            yield "`additionalModelRequestFields` that is not an object"
        yield from (f"the model's own field {name[:100]!r}" for name in object_of(more) if name not in _PLAIN_FIELDS)
        for message in objects_of(body.get("messages")):
            for block in objects_of(message.get("content")):
                yield from _fetched(block)
        for block in objects_of(body.get("system")):
            yield from _fetched(block)


def _name_of(tool: JsonValue) -> str:
    return text_of(object_of(tool).get("name")) or ""


def _fetched(block: JsonObject) -> Iterator[str]:
    for name, value in block.items():
        member = object_of(value)
        source = object_of(member.get("source"))
        if "s3Location" in source or "s3Location" in member:
            yield f"{name} that it fetches from S3"
        if name == "toolResult":
            for inner in objects_of(member.get("content")):
                yield from _fetched(inner)


def _messages(message: JsonObject) -> Iterator[JsonObject]:
    blocks = objects_of(message.get("content"))
    results = [object_of(block["toolResult"]) for block in blocks if "toolResult" in block]
    rest = [block for block in blocks if "toolResult" not in block]
    if results:
        yield {"role": "tool", "parts": list[JsonValue](_result(result) for result in results)}
    if rest or not results:
        role = text_of(message.get("role")) or "user"
        yield {"role": role, "parts": list[JsonValue](_part(block) for block in rest)}


def _part(block: JsonObject) -> JsonObject:
    match block:
        case {"text": str() as text}:
            return text_part(text)
        case {"toolUse": dict() as used}:
            return call_part(used.get("toolUseId"), used.get("name"), used.get("input"))
        case {"reasoningContent": dict() as reasoning}:
            thought = text_of(object_of(reasoning.get("reasoningText")).get("text"))
            return reasoning_part(thought or "[redactedContent]")
        case _:
            return text_part(f"[{next(iter(block), 'nothing')}]")


def _result(result: JsonObject) -> JsonObject:
    content = objects_of(result.get("content"))
    failed = result.get("status") == "error"
    if len(content) == 1 and "json" in content[0]:
        return result_part(result.get("toolUseId"), content[0]["json"], failed=failed)
    return result_part(result.get("toolUseId"), joined([_shown(block) for block in content]), failed=failed)


def _shown(block: JsonObject) -> str:
    return text_of(block.get("text")) or f"[{next(iter(block), 'nothing')}]"


def _used(usage: JsonObject) -> Used:
    fresh = count_of(usage.get("inputTokens"))
    read, written = count_of(usage.get("cacheReadInputTokens")), count_of(usage.get("cacheWriteInputTokens"))
    return Used(
        input=None if fresh is None else fresh + (read or 0) + (written or 0),
        output=count_of(usage.get("outputTokens")),
        cache_read=read,
        cache_write=written,
    )


@dataclass(kw_only=True)
class _Blocks:
    """A message assembled from the events of its stream."""

    blocks: dict[int, JsonObject] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)
    reason: str | None = None
    usage: JsonObject = field(default_factory=dict)

    def add(self, event: JsonObject) -> None:
        kind = next(iter(event), "")
        content = object_of(event.get(kind))
        index = count_of(content.get("contentBlockIndex")) or 0
        match kind:
            case "contentBlockStart":
                self.blocks[index] = object_of(content.get("start"))
            case "contentBlockDelta":
                self._delta(index, object_of(content.get("delta")))
            case "messageStop":
                self.reason = text_of(content.get("stopReason"))
            case "metadata":
                self.usage = object_of(content.get("usage"))
            case _:
                pass

    def _delta(self, index: int, delta: JsonObject) -> None:
        kind = next(iter(delta), "text")
        self.blocks.setdefault(index, {kind: None})
        piece = delta.get(kind)
        more = piece if kind == "text" else object_of(piece).get("input" if kind == "toolUse" else "text")
        self.texts[index] = self.texts.get(index, "") + (text_of(more) or "")

    def body(self) -> JsonObject:
        content: list[JsonValue] = [self._block(index, block) for index, block in sorted(self.blocks.items())]
        return {
            "output": {"message": {"role": "assistant", "content": content}},
            "stopReason": self.reason,
            "usage": self.usage,
        }

    def _block(self, index: int, block: JsonObject) -> JsonObject:
        text = self.texts.get(index, "")
        if "toolUse" in block:
            return {"toolUse": object_of(block["toolUse"]) | {"input": _input(text)}}
        if "reasoningContent" in block:
            return {"reasoningContent": {"reasoningText": {"text": text}}}
        return {"text": text} if "text" in block else block


def _input(text: str) -> JsonValue:
    try:
        return parse_json(text.encode("utf-8", "replace")) if text else {}
    except NotJson:
        return text
