"""OpenAI's chat completions, and compatible interfaces."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from harness.case import Provider
from harness.upstream.model.wire.format import (
    Replied,
    RequestContent,
    Used,
    call_part,
    count_of,
    fetched,
    joined,
    misshapen_tools,
    object_of,
    objects_of,
    reasoning_part,
    result_part,
    text_of,
    text_part,
)
from harness.values import JsonObject, JsonValue

_OWN_TOOLS = {"function", "custom"}


class OpenAIChat:
    """`POST /v1/chat/completions`."""

    provider: Provider = "openai"

    def asked(self, body: JsonObject) -> RequestContent:
        messages = objects_of(body.get("messages"))
        system = [_text(message.get("content")) or "" for message in messages if _is_system(message)]
        return RequestContent(
            model=text_of(body.get("model")),
            messages=tuple(_message(message) for message in messages if not _is_system(message)),
            system=joined(system),
            tools=tuple(objects_of(body.get("tools")) or objects_of(body.get("functions"))),
            streams=body.get("stream") is True,
        )

    def replied(self, body: JsonObject) -> Replied:
        choices = objects_of(body.get("choices"))
        return Replied(
            message=_message(object_of(choices[0].get("message"))) if choices else None,
            id=text_of(body.get("id")),
            model=text_of(body.get("model")),
            finish_reasons=_reasons(choices),
            used=_used(object_of(body.get("usage"))),
        )

    def streamed(self, events: list[JsonObject]) -> Replied:
        collected, reasons = _Deltas(), list[JsonObject]()
        usage: JsonObject = {}
        first = events[0] if events else {}
        for event in events:
            usage = object_of(event.get("usage")) or usage
            for choice in objects_of(event.get("choices")):
                if choice.get("index") in (0, None):
                    collected.add(object_of(choice.get("delta")))
                reasons.append(choice)
        finished = _reasons(reasons)
        return Replied(
            message=_message(collected.message()) if collected.any else None,
            id=text_of(first.get("id")),
            model=text_of(first.get("model")),
            finish_reasons=finished,
            used=_used(usage),
            complete=bool(finished),
        )

    def hosted(self, body: JsonObject) -> Iterator[str]:
        yield from misshapen_tools(body.get("tools"))
        for tool in objects_of(body.get("tools")):
            if str(tool.get("type", "function")) not in _OWN_TOOLS:
                yield f"the tool {tool.get('type')}"
        for message in objects_of(body.get("messages")):
            for part in objects_of(message.get("content")):
                yield from fetched(part)


def _is_system(message: JsonObject) -> bool:
    return message.get("role") in ("system", "developer")


def _message(message: JsonObject) -> JsonObject:
    role = text_of(message.get("role")) or "assistant"
    text = _text(message.get("content")) or text_of(message.get("refusal"))
    if role in ("tool", "function"):
        return {"role": "tool", "parts": [result_part(message.get("tool_call_id", message.get("name")), text)]}
    parts: list[JsonValue] = []
    thought = text_of(message.get("reasoning_content")) or text_of(message.get("reasoning"))
    if thought:
        parts.append(reasoning_part(thought))
    if text:
        parts.append(text_part(text))
    calls = objects_of(message.get("tool_calls"))
    older = object_of(message.get("function_call"))
    parts += [_call(call) for call in calls] + ([_call({"function": older})] if older else [])
    return {"role": role, "parts": parts}


def _call(call: JsonObject) -> JsonObject:
    function = object_of(call.get("function")) or object_of(call.get("custom"))
    return call_part(call.get("id"), function.get("name"), function.get("arguments", function.get("input")))


def _text(content: JsonValue) -> str | None:
    if isinstance(content, list):
        return joined([_part_text(part) for part in objects_of(content)])
    return text_of(content)


def _part_text(part: JsonObject) -> str:
    return text_of(part.get("text")) or text_of(part.get("refusal")) or f"[{part.get('type')}]"


def _reasons(choices: list[JsonObject]) -> tuple[str, ...]:
    found = [text_of(choice.get("finish_reason")) for choice in choices]
    return tuple(reason for reason in found if reason is not None)


def _used(usage: JsonObject) -> Used:
    details = object_of(usage.get("prompt_tokens_details"))
    return Used(
        input=count_of(usage.get("prompt_tokens")),
        output=count_of(usage.get("completion_tokens")),
        cache_read=count_of(details.get("cached_tokens")),
        cache_write=count_of(details.get("cache_write_tokens")),
    )


@dataclass(kw_only=True)
class _Deltas:
    """A message assembled from its pieces."""

    any: bool = False
    texts: dict[str, str] = field(default_factory=dict)
    calls: dict[int, JsonObject] = field(default_factory=dict)

    def add(self, delta: JsonObject) -> None:
        self.any |= bool(delta)
        for name in ("content", "refusal", "reasoning_content", "reasoning"):
            self.texts[name] = self.texts.get(name, "") + (text_of(delta.get(name)) or "")
        for place, piece in enumerate(objects_of(delta.get("tool_calls"))):
            index = count_of(piece.get("index"))
            call = self.calls.setdefault(place if index is None else index, {"id": None, "name": "", "arguments": ""})
            function = object_of(piece.get("function")) or object_of(piece.get("custom"))
            call["id"] = call["id"] or text_of(piece.get("id"))
            call["name"] = f"{call['name']}{text_of(function.get('name')) or ''}"
            more = text_of(function.get("arguments")) or text_of(function.get("input")) or ""
            call["arguments"] = f"{call['arguments']}{more}"

    def message(self) -> JsonObject:
        calls: list[JsonValue] = [{"id": call["id"], "function": call} for _, call in sorted(self.calls.items())]
        return {"role": "assistant", **self.texts, "tool_calls": calls}
