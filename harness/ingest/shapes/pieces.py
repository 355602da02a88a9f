"""What one part of a message is: a text, a thought, a call, or the result of one, however a provider writes it.

Known are the parts of Anthropic, Bedrock's Converse API, Gemini, the Vercel AI SDK (messages of models and of its user
interface), Pydantic AI and the GenAI conventions.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from harness.values import JsonObject, JsonValue


@dataclass(frozen=True, kw_only=True)
class MessagePart:
    """A part in one vocabulary. A text that is none (an image) keeps its part in `content`."""

    kind: Literal["text", "thought", "call", "result"]
    content: JsonValue = None
    """The text, or what the tool answered."""
    id: JsonValue = None
    name: JsonValue = None
    arguments: JsonValue = None
    failed: bool | None = None
    """Of a result; None: the part does not tell."""
    role: str | None = None
    """Whose the part is, where the part tells it and not the message."""


def pieces_of(part: JsonValue) -> Iterator[MessagePart]:
    """The pieces of one part: mostly one; a call that its part shows with the answer is two."""
    if not isinstance(part, dict):
        yield MessagePart(kind="text", content=part)
        return
    kind = part.get("type") or part.get("part_kind")
    known = _TYPES.get(kind) if isinstance(kind, str) else None
    if known is not None:
        yield from known(part)
    elif isinstance(kind, str) and kind.endswith("tool_result"):
        yield from _anthropic_result(part)
    elif isinstance(kind, str) and kind.startswith("tool-") and "toolCallId" in part:
        yield from _interface(part, kind.removeprefix("tool-"))
    else:
        yield from _by_field(part)


def _by_field(part: JsonObject) -> Iterator[MessagePart]:
    """Parts that have a field in place of a type: Bedrock's and Gemini's."""
    for field, read in _FIELDS.items():
        inner = part.get(field)
        if isinstance(inner, dict):
            yield from read(inner)
            return
    text = part.get("text")
    yield MessagePart(kind="thought" if part.get("thought") is True else "text", content=part if text is None else text)


def _anthropic_call(part: JsonObject) -> Iterator[MessagePart]:
    yield MessagePart(kind="call", id=part.get("id"), name=part.get("name"), arguments=part.get("input"))


def _anthropic_result(part: JsonObject) -> Iterator[MessagePart]:
    flag = part.get("is_error")
    failed = flag if isinstance(flag, bool) else None
    yield MessagePart(kind="result", id=part.get("tool_use_id"), content=part.get("content"), failed=failed)


def _thinking(part: JsonObject) -> Iterator[MessagePart]:
    texts = (part.get(name) for name in ("thinking", "text", "content"))
    said = next((one for one in texts if isinstance(one, str)), None)
    yield MessagePart(kind="thought", content=said or f"[{part.get('type') or 'thinking'}]")


def _vercel_call(part: JsonObject) -> Iterator[MessagePart]:
    asked = part.get("args", part.get("input"))
    yield MessagePart(kind="call", id=part.get("toolCallId"), name=part.get("toolName"), arguments=asked)


def _vercel_result(part: JsonObject) -> Iterator[MessagePart]:
    result = part.get("result", part.get("output"))
    failed = part.get("isError") is True
    if isinstance(result, dict) and "value" in result and isinstance(result.get("type"), str):
        failed = failed or str(result["type"]).startswith("error")
        result = result["value"]
    id, name = part.get("toolCallId"), part.get("toolName")
    yield MessagePart(kind="result", content=result, failed=failed or None, id=id, name=name)


def _invocation(part: JsonObject) -> Iterator[MessagePart]:
    inner = part.get("toolInvocation")
    if isinstance(inner, dict):
        yield from _vercel_call(inner)
        if inner.get("state") == "result":
            yield from _vercel_result(inner)


def _dynamic(part: JsonObject) -> Iterator[MessagePart]:
    yield from _interface(part, part.get("toolName"))


def _interface(part: JsonObject, name: JsonValue) -> Iterator[MessagePart]:
    """A tool's part of a message of the user interface: the call, and its answer or its error."""
    yield MessagePart(kind="call", id=part.get("toolCallId"), name=name, arguments=part.get("input"))
    if part.get("errorText") is not None:
        yield MessagePart(kind="result", id=part.get("toolCallId"), name=name, content=part["errorText"], failed=True)
    elif "output" in part:
        yield MessagePart(kind="result", id=part.get("toolCallId"), name=name, content=part["output"])


def _bedrock_call(part: JsonObject) -> Iterator[MessagePart]:
    yield MessagePart(kind="call", id=part.get("toolUseId"), name=part.get("name"), arguments=part.get("input"))


def _bedrock_result(part: JsonObject) -> Iterator[MessagePart]:
    content = part.get("content")
    if isinstance(content, list):
        values = [one.get("json", one.get("text", one)) if isinstance(one, dict) else one for one in content]
        content = values[0] if len(values) == 1 else values
    status = part.get("status")
    yield MessagePart(
        kind="result", id=part.get("toolUseId"), content=content, failed=None if status is None else status == "error"
    )


def _bedrock_thought(part: JsonObject) -> Iterator[MessagePart]:
    inner = part.get("reasoningText")
    yield MessagePart(kind="thought", content=inner.get("text") if isinstance(inner, dict) else "[reasoning]")


def _gemini_call(part: JsonObject) -> Iterator[MessagePart]:
    yield MessagePart(kind="call", id=part.get("id"), name=part.get("name"), arguments=part.get("args"))


def _gemini_result(part: JsonObject) -> Iterator[MessagePart]:
    response = part.get("response")
    failed = True if isinstance(response, dict) and set(response) == {"error"} else None
    if isinstance(response, dict) and len(response) == 1:
        response = next(iter(response.values())) if set(response) <= {"output", "result", "error"} else response
    yield MessagePart(kind="result", id=part.get("id"), name=part.get("name"), content=response, failed=failed)


def _gemini_code(part: JsonObject) -> Iterator[MessagePart]:
    yield MessagePart(kind="call", name="code_execution", arguments={"code": part.get("code")})


def _gemini_code_result(part: JsonObject) -> Iterator[MessagePart]:
    failed = str(part.get("outcome")) not in ("OUTCOME_OK", "1", "None")
    yield MessagePart(kind="result", name="code_execution", content=part.get("output"), failed=failed or None)


def _pydantic(role: str) -> Callable[[JsonObject], Iterator[MessagePart]]:
    def read(part: JsonObject) -> Iterator[MessagePart]:
        yield MessagePart(kind="text", content=part.get("content"), role=role)

    return read


def _pydantic_call(part: JsonObject) -> Iterator[MessagePart]:
    yield MessagePart(kind="call", id=part.get("tool_call_id"), name=part.get("tool_name"), arguments=part.get("args"))


def _pydantic_result(part: JsonObject) -> Iterator[MessagePart]:
    failed = part.get("part_kind") == "retry-prompt"
    id, name = part.get("tool_call_id"), part.get("tool_name")
    yield MessagePart(kind="result", content=part.get("content"), failed=failed or None, id=id, name=name)


def _retry(part: JsonObject) -> Iterator[MessagePart]:
    if part.get("tool_name") is None:
        yield MessagePart(kind="text", content=part.get("content"), role="user")
    else:
        yield from _pydantic_result(part)


def _convention_call(part: JsonObject) -> Iterator[MessagePart]:
    yield MessagePart(kind="call", id=part.get("id"), name=part.get("name"), arguments=part.get("arguments"))


def _convention_result(part: JsonObject) -> Iterator[MessagePart]:
    yield MessagePart(kind="result", id=part.get("id"), content=part.get("response", part.get("result")))


def _nothing(_: JsonObject) -> Iterator[MessagePart]:
    yield from ()


_Read = Callable[[JsonObject], Iterator[MessagePart]]
_TYPES: Final[Mapping[str, _Read]] = MappingProxyType(
    {
        "tool_use": _anthropic_call,
        "server_tool_use": _anthropic_call,
        "mcp_tool_use": _anthropic_call,
        "thinking": _thinking,
        "redacted_thinking": _thinking,
        "reasoning": _thinking,
        "tool-result": _vercel_result,
        "tool-invocation": _invocation,
        "dynamic-tool": _dynamic,
        "step-start": _nothing,
        "user-prompt": _pydantic("user"),
        "system-prompt": _pydantic("system"),
        "tool-return": _pydantic_result,
        "retry-prompt": _retry,
        "tool-call": lambda part: _pydantic_call(part) if "tool_name" in part else _vercel_call(part),
        "tool_call": _convention_call,
        "tool_call_response": _convention_result,
    }
)
_FIELDS: Final[Mapping[str, _Read]] = MappingProxyType(
    {
        "toolUse": _bedrock_call,
        "toolResult": _bedrock_result,
        "reasoningContent": _bedrock_thought,
        "functionCall": _gemini_call,
        "function_call": _gemini_call,
        "functionResponse": _gemini_result,
        "function_response": _gemini_result,
        "executableCode": _gemini_code,
        "executable_code": _gemini_code,
        "codeExecutionResult": _gemini_code_result,
        "code_execution_result": _gemini_code_result,
    }
)
