"""OpenAI's chat completions and Responses API."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from harness.gateway.models.formats import (
    Replied,
    RequestContent,
    call_part,
    fetched,
    joined,
    misshapen,
    reasoning_part,
    result_part,
    text_part,
)
from harness.traces.usage import Used, count_of, usage_in
from harness.values import JsonObject, NotJson, canonical_json, object_of, objects_of, parse_json, some_text

_CHAT_TOOLS = {"function", "custom"}


class OpenAIChat:
    """`POST /v1/chat/completions`."""

    def asked(self, body: JsonObject) -> RequestContent:
        messages = objects_of(body.get("messages"))
        system = [_chat_text(message.get("content")) or "" for message in messages if _is_system_message(message)]
        return RequestContent(
            model=some_text(body.get("model")),
            messages=tuple(_message(message) for message in messages if not _is_system_message(message)),
            system=joined(system),
            tools=tuple(objects_of(body.get("tools")) or objects_of(body.get("functions"))),
            streams=body.get("stream") is True,
        )

    def replied(self, body: JsonObject) -> Replied:
        choices = objects_of(body.get("choices"))
        return Replied(
            message=_message(object_of(choices[0].get("message"))) if choices else None,
            id=some_text(body.get("id")),
            model=some_text(body.get("model")),
            finish_reasons=_reasons(choices),
            used=_token_usage(body),
        )

    def streamed(self, events: list[JsonObject]) -> Replied:
        collected, reasons = _Deltas(), list[JsonObject]()
        first = events[0] if events else {}
        for event in events:
            for choice in objects_of(event.get("choices")):
                if choice.get("index") in (0, None):
                    collected.add(object_of(choice.get("delta")))
                reasons.append(choice)
        return Replied(
            message=_message(collected.message()) if collected.any else None,
            id=some_text(first.get("id")),
            model=some_text(first.get("model")),
            finish_reasons=_reasons(reasons),
            used=_token_usage(*events),
        )

    def hosted(self, body: JsonObject) -> Iterator[str]:
        yield from misshapen("tools", body.get("tools"))
        for tool in objects_of(body.get("tools")):
            if str(tool.get("type", "function")) not in _CHAT_TOOLS:
                yield f"the tool {tool.get('type')}"
        for message in objects_of(body.get("messages")):
            for part in objects_of(message.get("content")):
                yield from fetched(part)


def _is_system_message(message: JsonObject) -> bool:
    return message.get("role") in ("system", "developer")


def _message(message: JsonObject) -> JsonObject:
    role = some_text(message.get("role")) or "assistant"
    text = _chat_text(message.get("content")) or some_text(message.get("refusal"))
    if role in ("tool", "function"):
        return {"role": "tool", "parts": [result_part(message.get("tool_call_id", message.get("name")), text)]}
    parts: list[JsonValue] = []
    thought = some_text(message.get("reasoning_content")) or some_text(message.get("reasoning"))
    if thought:
        parts.append(reasoning_part(thought))
    if text:
        parts.append(text_part(text))
    calls = objects_of(message.get("tool_calls"))
    older = object_of(message.get("function_call"))
    parts += [_call_of(call) for call in calls] + ([_call_of({"function": older})] if older else [])
    return {"role": role, "parts": parts}


def _call_of(call: JsonObject) -> JsonObject:
    function = object_of(call.get("function")) or object_of(call.get("custom"))
    return call_part(call.get("id"), function.get("name"), function.get("arguments", function.get("input")))


def _chat_text(content: JsonValue) -> str | None:
    if isinstance(content, list):
        return joined([_part_text(part) for part in objects_of(content)])
    return some_text(content)


def _part_text(part: JsonObject) -> str:
    return some_text(part.get("text")) or some_text(part.get("refusal")) or f"[{part.get('type')}]"


def _reasons(choices: list[JsonObject]) -> tuple[str, ...]:
    found = [some_text(choice.get("finish_reason")) for choice in choices]
    return tuple(reason for reason in found if reason is not None)


def _token_usage(*bodies: JsonObject) -> Used:
    """Groq reports the usage of a stream in an object of its own."""
    return usage_in(
        *(object_of(place.get("usage")) for body in bodies for place in (body, object_of(body.get("x_groq")))),
        cache_beside=False,
    )


@dataclass(kw_only=True)
class _Call:
    """A call while its pieces arrive."""

    slot: int
    id: str | None
    name: str = ""
    arguments: str = ""

    def ends_before(self, name: str, more: str) -> bool:
        """Whether a piece under the same id, or without one, begins another call: it names another function after
        arguments, or without any id, or it brings arguments although these are whole.
        """
        if not name or not (self.arguments or (self.name and self.id is None)):
            return False
        return name != self.name or (bool(more) and self.is_whole())

    def is_whole(self) -> bool:
        return self.arguments.rstrip().endswith("}") and _is_json(self.arguments)


@dataclass(kw_only=True)
class _Deltas:
    """A message assembled from its pieces. A new id begins a new call: compatible endpoints number all calls 0, or
    none, and some repeat the name with each piece.
    """

    any: bool = False
    texts: dict[str, str] = field(default_factory=dict)
    calls: list[_Call] = field(default_factory=list)

    def add(self, delta: JsonObject) -> None:
        self.any |= bool(delta)
        for name in ("content", "refusal", "reasoning_content", "reasoning"):
            more = delta.get(name)
            parts = [some_text(part.get("text")) or "" for part in objects_of(more)]
            self.texts[name] = self.texts.get(name, "") + (some_text(more) or "".join(parts))
        older, before = delta.get("function_call"), len(self.calls)
        for place, piece in enumerate(objects_of(delta.get("tool_calls")) or objects_of([{"function": older}])):
            function = object_of(piece.get("function")) or object_of(piece.get("custom"))
            more = function.get("arguments", function.get("input"))
            text = canonical_json(more) if isinstance(more, dict | list) else some_text(more) or ""
            if function or piece.get("id"):
                self._add_piece(place, piece, some_text(function.get("name")) or "", text, before)

    def _add_piece(self, place: int, piece: JsonObject, name: str, more: str, before: int) -> None:
        """`before`: how many calls earlier events began. The pieces of one event are pieces of different calls."""
        index, identity = count_of(piece.get("index")), some_text(piece.get("id"))
        slot = place if index is None else index
        call = next((call for call in reversed(self.calls) if call.slot == slot), None)
        if identity is not None and (call is not None or index is None) and (call is None or call.id != identity):
            known = next((one for one in reversed(self.calls) if one.id == identity), None)
            # Some mint a new id for each piece: one without a name goes on with arguments that are not whole.
            goes_on = call is not None and (call.id is None or bool(more and not name and not call.is_whole()))
            call = known or (call if goes_on else None)
        if call is not None and call.id == identity is not None and (name, more) == (call.name, call.arguments):
            return  # the whole call once more, at the end of its pieces
        if call is None or call.ends_before(name, more) or (name and call in self.calls[before:]):
            call = _Call(slot=slot, id=identity)
            self.calls.append(call)
        call.id = call.id or identity
        call.name += "" if name == call.name else name
        call.arguments += more

    def message(self) -> JsonObject:
        calls = sorted(self.calls, key=lambda call: call.slot)
        told: list[JsonValue] = [
            {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}} for call in calls
        ]
        return {"role": "assistant", **self.texts, "tool_calls": told}


def _is_json(text: str) -> bool:
    try:
        parse_json(text.encode("utf-8", "replace"))
    except NotJson:
        return False
    return True


# OpenAI's Responses API: a history of items, stored by the client or, under a reply's id, by the provider.

_RESPONSES_TOOLS = {"function", "custom", "local_shell", "apply_patch"}
_ENDS = {"response.completed", "response.incomplete", "response.failed"}


class OpenAIResponses:
    """`POST /v1/responses`."""

    def asked(self, body: JsonObject) -> RequestContent:
        given = body.get("input")
        items = objects_of([{"role": "user", "content": given}] if isinstance(given, str) else given)
        system = [some_text(body.get("instructions")) or ""]
        system += [_responses_text(item.get("content")) or "" for item in items if _is_system_item(item)]
        return RequestContent(
            model=some_text(body.get("model")),
            messages=tuple(_messages([item for item in items if not _is_system_item(item)])),
            system=joined(system),
            tools=tuple(objects_of(body.get("tools"))),
            streams=body.get("stream") is True,
            previous=some_text(body.get("previous_response_id")),
        )

    def replied(self, body: JsonObject) -> Replied:
        status = some_text(body.get("status"))
        why = some_text(object_of(body.get("incomplete_details")).get("reason"))
        parts = [part for item in objects_of(body.get("output")) for part in _parts_of(item)]
        return Replied(
            message={"role": "assistant", "parts": list[JsonValue](parts)} if "output" in body else None,
            id=some_text(body.get("id")),
            model=some_text(body.get("model")),
            finish_reasons=tuple(reason for reason in (why or status,) if reason),
            used=_token_usage(body),
        )

    def streamed(self, events: list[JsonObject]) -> Replied:
        items, whole = _Items(), JsonObject()
        for event in events:
            whole = whole | object_of(event.get("response"))
            items.add(event)
        whole |= {} if objects_of(whole.get("output")) else {"output": items.found}
        if any(str(event.get("type")) in _ENDS for event in events):
            return self.replied(whole)
        cut = self.replied(whole | {"status": None})
        return cut if items.found else replace(cut, message=None)

    def hosted(self, body: JsonObject) -> Iterator[str]:
        yield from misshapen("tools", body.get("tools"))
        for tool in objects_of(body.get("tools")):
            if str(tool.get("type", "function")) not in _RESPONSES_TOOLS and not _is_local_shell(tool):
                yield f"the tool {tool.get('type')}"
        for item in objects_of(body.get("input")):
            for part in [item, *_blocks(item.get("content")), *_blocks(item.get("output"))]:
                yield from fetched(part)


_PIECES = re.compile(
    r"response\.(?:\w+_call_(arguments|input)|(?:output_|reasoning_|refusal|reasoning_summary_)\w*)\.delta"
)
_WHOLE = re.compile(r"response\.\w+_call_(arguments|input)\.done")


class _Items:
    """The items of a stream, whose last event need not contain them."""

    def __init__(self) -> None:
        self.found: list[JsonValue] = []
        self._open: dict[str, JsonObject] = {}

    def add(self, event: JsonObject) -> None:
        kind, index = str(event.get("type")), f"at {event.get('output_index')}"
        if kind in ("response.output_item.added", "response.output_item.done"):
            self._add_item(dict(object_of(event.get("item"))), index, is_done=kind.endswith("done"))
        piece, open_item = _PIECES.fullmatch(kind), self._open.get(str(event.get("item_id"))) or self._open.get(index)
        whole = _WHOLE.fullmatch(kind)
        if whole is not None and open_item is not None:
            open_item |= {whole[1]: event.get(whole[1])}
        if piece is not None and open_item is not None:
            name, more = piece[1], some_text(event.get("delta")) or ""
            said = _responses_text(open_item.get("content")) or ""
            open_item |= {name: f"{open_item.get(name) or ''}{more}"} if name else {"content": f"{said}{more}"}

    def _add_item(self, item: JsonObject, index: str, *, is_done: bool) -> None:
        identity, call = some_text(item.get("id")) or index, some_text(item.get("call_id"))
        begun = self._open.get(identity)
        if call is not None and (begun is None or begun.get("call_id") != call):  # some give all items one id
            begun = next((one for one in objects_of(self.found) if one.get("call_id") == call), None)
        if is_done:
            here = self._open.get(index)  # some give an item another id at its end
            begun = here if begun is None and here and here.get("call_id") in (None, call) else begun
            self._open = {name: one for name, one in self._open.items() if one is not begun}
        else:
            self._open[identity] = self._open[index] = item if begun is None else begun
        if begun is None:
            self.found.append(item)
        else:
            begun |= item


def _blocks(content: JsonValue) -> list[JsonObject]:
    """A screenshot is one block, and no list of them."""
    return [content] if isinstance(content, dict) else objects_of(content)


def _is_local_shell(tool: JsonObject) -> bool:
    return tool.get("type") == "shell" and object_of(tool.get("environment")).get("type") == "local"


def _is_system_item(item: JsonObject) -> bool:
    return item.get("role") in ("system", "developer")


def _messages(items: list[JsonObject]) -> Iterator[JsonObject]:
    for item in items:
        kind = str(item.get("type", "message"))
        if kind.endswith("_output"):
            yield {"role": "tool", "parts": [result_part(item.get("call_id"), _output(item.get("output")))]}
        elif kind == "message" and item.get("role") != "assistant":
            text = _responses_text(item.get("content"))
            yield {"role": some_text(item.get("role")) or "user", "parts": [text_part(text)] if text else []}
        else:
            yield {"role": "assistant", "parts": list[JsonValue](_parts_of(item))}


def _parts_of(item: JsonObject) -> list[JsonObject]:
    match item.get("type", "message"):
        case "message":
            text = _responses_text(item.get("content"))
            return [text_part(text)] if text else []
        case "reasoning":
            said = objects_of(item.get("summary")) + objects_of(item.get("content"))
            thought = joined([some_text(part.get("text")) or "" for part in said])
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
    return _responses_text(output) if isinstance(output, list) else output


def _responses_text(content: JsonValue) -> str | None:
    if isinstance(content, list):
        return joined(
            [
                some_text(p.get("text")) or some_text(p.get("refusal")) or f"[{p.get('type')}]"
                for p in objects_of(content)
            ]
        )
    return some_text(content)
