"""Gemini's `generateContent` and `streamGenerateContent`: contents of parts, names in camel case or in snake case.

Ids of calls are optional there. A call without an id is identified by the function's name, in the reply and in the
history, and several calls of one function by their order.
"""

import re
from collections.abc import Iterator

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
from harness.traces.usage import usage_in
from harness.values import JsonObject, object_of, objects_of, some_text

_OWN_TOOLS = frozenset({"functiondeclarations", "computeruse"})
"""Tools that the client runs; all others (search, URLs, code, files, maps) are run by the provider."""
_SINGLE = ("systemInstruction", "system_instruction", "content")
_ENDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class GeminiContent:
    """`POST /v1beta/models/{model}:generateContent`, and the same streamed."""

    def __init__(self, *, streams: bool = False) -> None:
        self._streams = streams

    def asked(self, body: JsonObject) -> RequestContent:
        contents = objects_of(body.get("contents"))
        declared = [_either(tool, "functionDeclarations") for tool in objects_of(body.get("tools"))]
        return RequestContent(
            model=some_text(body.get("model")),
            messages=tuple(message for content in contents for message in _messages(content)),
            system=joined(
                [some_text(part.get("text")) or "" for part in _parts_of(_either(body, "systemInstruction"))]
            ),
            tools=tuple(function for functions in declared for function in objects_of(functions)),
            streams=self._streams,
        )

    def replied(self, body: JsonObject) -> Replied:
        return self.streamed([body])

    def streamed(self, events: list[JsonObject]) -> Replied:
        parts: list[JsonObject] = []
        reasons: list[str] = []
        has_message, begun = False, _BegunCall()
        for event in events:
            for candidate in objects_of(event.get("candidates"))[:1]:
                has_message = True
                reasons += [reason for reason in (some_text(candidate.get("finishReason")),) if reason]
                for part in _parts_of(candidate.get("content")):
                    if not begun.goes_on(part):
                        _append(parts, begun.part_of(part))
        blocked = next((some_text(object_of(e.get("promptFeedback")).get("blockReason")) for e in events), None)
        reasons += [blocked] if blocked and not reasons else []
        last = events[-1] if events else {}
        return Replied(
            message={"role": "assistant", "parts": list[JsonValue](parts)} if has_message or blocked else None,
            id=some_text(last.get("responseId")),
            model=some_text(last.get("modelVersion")),
            finish_reasons=tuple(reasons),
            used=usage_in(*(object_of(event.get("usageMetadata")) for event in events), cache_beside=False),
        )

    def hosted(self, body: JsonObject) -> Iterator[str]:
        yield from misshapen("tools", body.get("tools"))
        for tool in objects_of(body.get("tools")):
            yield from (f"the tool {name}" for name in tool if _normalised_name(name) not in _OWN_TOOLS)
        for name in ("contents", "requests"):
            yield from misshapen(name, body.get(name))
        for request in objects_of(body.get("requests")):
            yield from _fetched_by(request)
        yield from _fetched_by(body)


def _fetched_by(body: JsonObject) -> Iterator[str]:
    """Each member is looked at under all of its names: it is not known which of them the provider would take."""
    single = [body.get(name) for name in _SINGLE]
    for content in [*objects_of(body.get("contents")), *(one for one in single if isinstance(one, dict))]:
        yield from misshapen("parts", content.get("parts"))
        for part in _parts_of(content):
            yield from _fetched_parts(part)
    if any(isinstance(one, list) for one in single):
        yield "a content that is a list"


def _fetched_parts(part: JsonObject) -> Iterator[str]:
    for name, value in part.items():
        match _normalised_name(name):
            case "filedata" if value:
                yield f"the {name} that it fetches"
            case "functionresponse":
                answer = object_of(value)
                yield from misshapen("parts", answer.get("parts"))
                for inner in objects_of(answer.get("parts")):
                    yield from _fetched_parts(inner)
            case _:
                pass


def _messages(content: JsonObject) -> Iterator[JsonObject]:
    parts = _parts_of(content)
    results = [one for one in (_either(part, "functionResponse") for part in parts) if isinstance(one, dict)]
    rest = [part for part in parts if not isinstance(_either(part, "functionResponse"), dict)]
    if results:
        yield {"role": "tool", "parts": list[JsonValue](_result_of(result) for result in results)}
    if rest or not results:
        role = "assistant" if content.get("role") == "model" else some_text(content.get("role")) or "user"
        yield {"role": role, "parts": list[JsonValue](_part_of(part) for part in rest)}


def _part_of(part: JsonObject) -> JsonObject:
    called = _either(part, "functionCall")
    if isinstance(called, dict):
        return call_part(called.get("id") or called.get("name"), called.get("name"), called.get("args") or {})
    if isinstance(part.get("text"), str):
        text = str(part["text"])
        return reasoning_part(text) if part.get("thought") is True else text_part(text)
    return text_part(f"[{next((name for name in part if _normalised_name(name) != 'thoughtsignature'), 'nothing')}]")


_STEP = re.compile(r"""\.?([^.\[\]'"]+)|\[(\d+)\]|\[(?:'([^']*)'|"([^"]*)")\]""")
"""One step of the path of an argument: `.name`, `[0]` or `['name']`."""


class _BegunCall:
    """A call whose arguments come in several events, if the request asked for that: `partialArgs` by path."""

    def __init__(self) -> None:
        self._open: JsonObject | None = None

    def part_of(self, part: JsonObject) -> JsonObject:
        """The part, and the call that it begins."""
        found, called = _part_of(part), object_of(_either(part, "functionCall"))
        pieces = objects_of(_either(called, "partialArgs"))
        if pieces or _either(called, "willContinue") is True:
            found["arguments"] = self._open = dict(object_of(found.get("arguments")))
            self._take(called, pieces)
        return found

    def goes_on(self, part: JsonObject) -> bool:
        """Takes a part that continues the call that was begun: it names none."""
        called = _either(part, "functionCall")
        if self._open is None or not isinstance(called, dict) or called.get("name"):
            return False
        self._take(called, objects_of(_either(called, "partialArgs")))
        return True

    def _take(self, called: JsonObject, pieces: list[JsonObject]) -> None:
        assert self._open is not None
        for piece in pieces:
            path = (some_text(_either(piece, "jsonPath")) or "").removeprefix("$")
            steps = [int(one[2]) if one[2] else one[1] or one[3] or one[4] or "" for one in _STEP.finditer(path)]
            named = (_either(piece, f"{kind}Value") for kind in ("string", "number", "bool"))
            _put(self._open, steps, next((value for value in named if value is not None), None))
        if _either(called, "willContinue") is not True:
            self._open = None


def _put(value: JsonValue, steps: list[str | int], given: JsonValue) -> JsonValue:
    """The value with what is given at the path; a text is added to the one that is there."""
    if not steps:
        return value + given if isinstance(value, str) and isinstance(given, str) else given
    first, rest = steps[0], steps[1:]
    if isinstance(first, int):
        items = value if isinstance(value, list) else []
        items += [None] * (min(first, _MOST_ITEMS) + 1 - len(items))
        items[min(first, _MOST_ITEMS)] = _put(items[min(first, _MOST_ITEMS)], rest, given)
        return items
    members = value if isinstance(value, dict) else {}
    members[first] = _put(members.get(first), rest, given)
    return members


_MOST_ITEMS = 10_000


def _append(parts: list[JsonObject], part: JsonObject) -> None:
    """Joins the pieces of a streamed text into one part."""
    if part["type"] != "tool_call" and parts and parts[-1]["type"] == part["type"]:
        parts[-1] = parts[-1] | {"content": f"{parts[-1]['content']}{part['content']}"}
    elif part.get("content") != "":
        parts.append(part)


def _result_of(result: JsonObject) -> JsonObject:
    response = object_of(result.get("response"))
    failed = set(response) == {"error"}
    only = next(iter(response.values())) if failed or set(response) in ({"result"}, {"output"}) else response
    return result_part(result.get("id") or result.get("name"), only, failed=failed)


def _parts_of(content: JsonValue) -> list[JsonObject]:
    match content:
        case str():
            return [{"text": content}]
        case dict():
            return objects_of(content.get("parts"))
        case _:
            return []


def _either(value: JsonObject, name: str) -> JsonValue:
    """A member by its name in camel case or in snake case: Gemini takes both."""
    snake = _ENDS.sub("_", name).lower()
    return value.get(name, value.get(snake))


def _normalised_name(name: str) -> str:
    return name.replace("_", "").lower()
