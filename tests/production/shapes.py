"""Conversations as spans, in the shapes that public exporters give them: what each calls a message, a call, an answer.

A conversation is a list of messages: `{"role": "user", "content"}`, `{"role": "assistant", "content", "calls": [(id,
name, arguments)]}` and `{"role": "tool", "id", "name", "content"}`.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from tests.production.receiving import span

Message = dict[str, Any]
Spans = Iterator[dict[str, Any]]
SECOND = 10**9


def _event(name: str, **facts: str) -> dict[str, Any]:
    return {"name": name, "attributes": [{"key": key, "value": {"stringValue": told}} for key, told in facts.items()]}


def _parts(message: Message) -> dict[str, Any]:
    """As the GenAI conventions have it since 1.37."""
    if message["role"] == "tool":
        part = {"type": "tool_call_response", "id": message["id"], "response": message["content"]}
        return {"role": "tool", "parts": [part]}
    parts = [{"type": "text", "content": message["content"]}] if message["content"] else []
    parts += [
        {"type": "tool_call", "id": number, "name": name, "arguments": arguments}
        for number, name, arguments in message.get("calls", ())
    ]
    return {"role": message["role"], "parts": parts}


def _openai(message: Message) -> dict[str, Any]:
    if message["role"] == "tool":
        return {"role": "tool", "tool_call_id": message["id"], "content": _text(message["content"])}
    calls = [
        {"id": number, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for number, name, arguments in message.get("calls", ())
    ]
    told = {"role": message["role"], "content": message["content"]}
    return {**told, "tool_calls": calls} if calls else told


def _text(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content)


def genai(history: list[Message], reply: Message) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.input.messages": json.dumps([_parts(one) for one in history]),
        "gen_ai.output.messages": json.dumps([_parts(reply)]),
    }


def genai_call(number: str, name: str, arguments: Any, result: Any) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": number,
        "gen_ai.tool.call.arguments": json.dumps(arguments),
        "gen_ai.tool.call.result": json.dumps(result),
    }


def openinference(history: list[Message], reply: Message) -> dict[str, Any]:
    facts: dict[str, Any] = {"openinference.span.kind": "LLM", "llm.model_name": "m"}
    for place, messages in (("input", history), ("output", [reply])):
        for number, message in enumerate(messages):
            start = f"llm.{place}_messages.{number}.message"
            facts[f"{start}.role"] = message["role"]
            facts[f"{start}.content"] = _text(message["content"] or "")
            if message["role"] == "tool":
                facts[f"{start}.tool_call_id"] = message["id"]
            for position, (call, name, arguments) in enumerate(message.get("calls", ())):
                one = f"{start}.tool_calls.{position}.tool_call"
                facts |= {f"{one}.id": call, f"{one}.function.name": name}
                facts[f"{one}.function.arguments"] = json.dumps(arguments)
    return facts


def openinference_call(number: str, name: str, arguments: Any, result: Any) -> dict[str, Any]:
    return {
        "openinference.span.kind": "TOOL",
        "tool.name": name,
        "tool_call.id": number,
        "input.value": json.dumps(arguments),
        "output.value": _text(result),
    }


def langfuse(history: list[Message], reply: Message) -> dict[str, Any]:
    return {
        "langfuse.observation.type": "generation",
        "langfuse.observation.input": json.dumps([_openai(one) for one in history]),
        "langfuse.observation.output": json.dumps(_openai(reply)),
    }


def langfuse_call(number: str, name: str, arguments: Any, result: Any) -> dict[str, Any]:
    return {
        "langfuse.observation.type": "tool",
        "langfuse.observation.input": json.dumps(arguments),
        "langfuse.observation.output": _text(result),
    }


def older(history: list[Message], reply: Message) -> dict[str, Any]:
    """As the GenAI conventions had it before 1.37: messages are events of the span."""
    names = {"user": "gen_ai.user.message", "assistant": "gen_ai.assistant.message", "tool": "gen_ai.tool.message"}
    events = [_event(names[one["role"]], **_event_facts(one)) for one in history]
    events.append(_event("gen_ai.choice", message=json.dumps(_openai(reply)), finish_reason="stop"))
    return {"gen_ai.operation.name": "chat", "gen_ai.system": "openai", "gen_ai.request.model": "m", "events": events}


def _event_facts(message: Message) -> dict[str, str]:
    told = _openai(message)
    if message["role"] == "tool":
        return {"id": message["id"], "content": _text(message["content"])}
    facts = {"content": told["content"]} if told["content"] else {}
    return facts | ({"tool_calls": json.dumps(told["tool_calls"])} if "tool_calls" in told else {})


def _gemini(message: Message) -> dict[str, Any]:
    if message["role"] == "tool":
        answered = {"id": message["id"], "name": message["name"], "response": _object(message["content"])}
        return {"role": "user", "parts": [{"function_response": answered}]}
    parts: list[dict[str, Any]] = [{"text": message["content"]}] if message["content"] else []
    parts += [
        {"function_call": {"id": number, "name": name, "args": arguments}}
        for number, name, arguments in message.get("calls", ())
    ]
    return {"role": "model" if message["role"] == "assistant" else "user", "parts": parts}


def _object(content: Any) -> dict[str, Any]:
    return content if isinstance(content, dict) else {"result": content}


def adk(history: list[Message], reply: Message) -> dict[str, Any]:
    """As Google's ADK has it: no operation, and Gemini's request and response as JSON."""
    asked = {"model": "m", "config": {}, "contents": [_gemini(one) for one in history]}
    return {
        "name": "call_llm",
        "gen_ai.system": "gcp.vertex.agent",
        "gen_ai.request.model": "m",
        "gcp.vertex.agent.llm_request": json.dumps(asked),
        "gcp.vertex.agent.llm_response": json.dumps({"content": _gemini(reply), "partial": False}),
    }


def adk_call(number: str, name: str, arguments: Any, result: Any) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": number,
        "gcp.vertex.agent.llm_request": "{}",
        "gcp.vertex.agent.llm_response": "{}",
        "gcp.vertex.agent.tool_call_args": json.dumps(arguments),
        "gcp.vertex.agent.tool_response": json.dumps(_object(result)),
    }


Chat = Callable[[list[Message], Message], dict[str, Any]]
Call = Callable[[str, str, Any, Any], dict[str, Any]]
SHAPES: dict[str, tuple[Chat, Call, str, dict[str, str]]] = {
    "genai": (genai, genai_call, "gen_ai.conversation.id", {"gen_ai.operation.name": "invoke_agent"}),
    "openinference": (openinference, openinference_call, "session.id", {"openinference.span.kind": "AGENT"}),
    "langfuse": (langfuse, langfuse_call, "langfuse.session.id", {"langfuse.observation.type": "agent"}),
    "older": (older, genai_call, "session.id", {"gen_ai.operation.name": "invoke_agent"}),
    "adk": (adk, adk_call, "gcp.vertex.agent.session_id", {"gen_ai.operation.name": "invoke_agent"}),
}
"""What a model's reply and a tool's call look like, the attribute that names the session, and the root's attributes."""


def spans_in(shape: str, session: str, number: int, messages: list[Message]) -> Spans:
    """The spans of one session, a trace with a root; `number` makes its ids."""
    chat, call, named, root = SHAPES[shape]
    results = {one["id"]: one["content"] for one in messages if one["role"] == "tool"}
    at, start = 1, 1_700_000_000 * SECOND + number * 1000 * SECOND

    def timed(**more: Any) -> dict[str, Any]:
        begun = start + at * SECOND
        times = {"startTimeUnixNano": str(begun), "endTimeUnixNano": str(begun + SECOND // 2)}
        return span(number, at, **times, **more)

    whole = timed(name="agent", attributes={**root, named: session})
    whole["endTimeUnixNano"] = str(start + 4 * len(messages) * SECOND)
    yield whole
    parent = whole["spanId"]
    for place, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        at += 1
        facts = chat(messages[:place], message)
        events, named = facts.pop("events", []), facts.pop("name", "chat")
        yield timed(name=named, parentSpanId=parent, attributes=facts, events=events)
        for identity, name, arguments in message.get("calls", ()):
            at += 1
            facts = call(identity, name, arguments, results.get(identity))
            yield timed(name=name, parentSpanId=parent, attributes=facts)
