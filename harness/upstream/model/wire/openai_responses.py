"""OpenAI's Responses API: a history of items, stored by the client or, under a reply's id, by the provider."""

from collections.abc import Iterator

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

_OWN_TOOLS = {"function", "custom", "local_shell", "apply_patch"}
_ENDS = {"response.completed", "response.incomplete", "response.failed"}


class OpenAIResponses:
    """`POST /v1/responses`."""

    provider: Provider = "openai"

    def asked(self, body: JsonObject) -> RequestContent:
        given = body.get("input")
        items = objects_of([{"role": "user", "content": given}] if isinstance(given, str) else given)
        system = [text_of(body.get("instructions")) or ""]
        system += [_text(item.get("content")) or "" for item in items if _is_system(item)]
        return RequestContent(
            model=text_of(body.get("model")),
            messages=tuple(_messages([item for item in items if not _is_system(item)])),
            system=joined(system),
            tools=tuple(objects_of(body.get("tools"))),
            streams=body.get("stream") is True,
            previous=text_of(body.get("previous_response_id")),
        )

    def replied(self, body: JsonObject) -> Replied:
        usage = object_of(body.get("usage"))
        status = text_of(body.get("status"))
        why = text_of(object_of(body.get("incomplete_details")).get("reason"))
        parts = [part for item in objects_of(body.get("output")) for part in _parts(item)]
        return Replied(
            message={"role": "assistant", "parts": list[JsonValue](parts)} if "output" in body else None,
            id=text_of(body.get("id")),
            model=text_of(body.get("model")),
            finish_reasons=tuple(reason for reason in (why or status,) if reason),
            used=Used(
                input=count_of(usage.get("input_tokens")),
                output=count_of(usage.get("output_tokens")),
                cache_read=count_of(object_of(usage.get("input_tokens_details")).get("cached_tokens")),
            ),
        )

    def streamed(self, events: list[JsonObject]) -> Replied:
        for event in reversed(events):
            if str(event.get("type")) in _ENDS:
                return self.replied(object_of(event.get("response")))
        begun = next((object_of(e.get("response")) for e in events if e.get("type") == "response.created"), {})
        done = [e.get("item") for e in events if e.get("type") == "response.output_item.done"]
        cut = self.replied({**begun, "output": done})
        return Replied(message=cut.message if done else None, id=cut.id, model=cut.model, complete=False)

    def hosted(self, body: JsonObject) -> Iterator[str]:
        yield from misshapen_tools(body.get("tools"))
        for tool in objects_of(body.get("tools")):
            if str(tool.get("type", "function")) not in _OWN_TOOLS and not _is_local_shell(tool):
                yield f"the tool {tool.get('type')}"
        for item in objects_of(body.get("input")):
            for part in [item, *_blocks(item.get("content")), *_blocks(item.get("output"))]:
                yield from fetched(part)


def _blocks(content: JsonValue) -> list[JsonObject]:
    """A screenshot is one block, and no list of them."""
    return [content] if isinstance(content, dict) else objects_of(content)


def _is_local_shell(tool: JsonObject) -> bool:
    return tool.get("type") == "shell" and object_of(tool.get("environment")).get("type") == "local"


def _is_system(item: JsonObject) -> bool:
    return item.get("role") in ("system", "developer")


def _messages(items: list[JsonObject]) -> Iterator[JsonObject]:
    for item in items:
        kind = str(item.get("type", "message"))
        if kind.endswith("_output"):
            yield {"role": "tool", "parts": [result_part(item.get("call_id"), _output(item.get("output")))]}
        elif kind == "message" and item.get("role") != "assistant":
            text = _text(item.get("content"))
            yield {"role": text_of(item.get("role")) or "user", "parts": [text_part(text)] if text else []}
        else:
            yield {"role": "assistant", "parts": list[JsonValue](_parts(item))}


def _parts(item: JsonObject) -> list[JsonObject]:
    match item.get("type", "message"):
        case "message":
            text = _text(item.get("content"))
            return [text_part(text)] if text else []
        case "reasoning":
            said = objects_of(item.get("summary")) + objects_of(item.get("content"))
            thought = joined([text_of(part.get("text")) or "" for part in said])
            return [reasoning_part(thought)] if thought else []
        case "function_call" | "custom_tool_call":
            return [call_part(item.get("call_id"), item.get("name"), item.get("arguments", item.get("input")))]
        case "local_shell_call" | "shell_call" | "apply_patch_call" as kind:
            action = item.get("action", item.get("operation"))
            return [call_part(item.get("call_id"), kind.removesuffix("_call"), action)]
        case "item_reference":
            return []
        case other:
            return [text_part(f"[{other}]")]


def _output(output: JsonValue) -> JsonValue:
    return _text(output) if isinstance(output, list) else output


def _text(content: JsonValue) -> str | None:
    if isinstance(content, list):
        return joined(
            [text_of(p.get("text")) or text_of(p.get("refusal")) or f"[{p.get('type')}]" for p in objects_of(content)]
        )
    return text_of(content)
