"""Small agents of three wire formats: plain HTTP, a loop over model and tools, the whole history sent each time."""

import json
from typing import Any

from tests.gateway.conftest import Agent

Json = dict[str, Any]


def post(agent: Agent, path: str, body: Json) -> Json:
    """The reply's JSON; a stream's reply put together by the wire format's own rules."""
    status, headers, raw = agent.ask_raw("POST", path, body, {"Content-Type": "application/json"})
    assert 200 == status, raw
    if not body.get("stream"):
        return json.loads(raw)
    assert headers["content-type"].startswith("text/event-stream")
    datas = [line[6:] for line in raw.decode().split("\n") if line.startswith("data: ") and line != "data: [DONE]"]
    return {"events": [json.loads(data) for data in datas]}


def chat_agent(agent: Agent, *, stream: bool = False, use_tools: bool = True, **more: Any) -> str:
    """OpenAI chat completions."""
    messages: list[Json] = [{"role": "system", "content": "You take orders."}, {"role": "user", "content": "Eggs?"}]
    while True:
        body = {"model": "small-1", "messages": messages, "stream": stream, **more}
        if stream:
            body["stream_options"] = {"include_usage": True}
        reply = post(agent, "/v1/chat/completions", body)
        message = _from_chunks(reply["events"]) if stream else reply["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            return str(message["content"])
        for call in message["tool_calls"]:
            arguments = json.loads(call["function"]["arguments"])
            result = _use(agent, call["function"]["name"], arguments, use_tools)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


def responses_agent(agent: Agent, *, stream: bool = False, at_provider: bool = False, use_tools: bool = True) -> str:
    """OpenAI responses; `at_provider`: the history is kept there."""
    items: list[Json] = [{"role": "user", "content": "Eggs?"}]
    previous: str | None = None
    while True:
        body: Json = {"model": "small-1", "instructions": "You take orders.", "input": items, "stream": stream}
        reply = post(agent, "/v1/responses", body | ({"previous_response_id": previous} if previous else {}))
        whole = reply["events"][-1]["response"] if stream else reply
        results: list[Json] = []
        for item in whole["output"]:
            if item["type"] == "function_call":
                told = _use(agent, item["name"], json.loads(item["arguments"]), use_tools)
                results.append({"type": "function_call_output", "call_id": item["call_id"], "output": told})
        if not results:
            said = [item for item in whole["output"] if item["type"] == "message"]
            return str(said[-1]["content"][0]["text"])
        items = results if at_provider else [*items, *whole["output"], *results]
        previous = whole["id"] if at_provider else None


def anthropic_agent(agent: Agent, *, stream: bool = False, use_tools: bool = True) -> str:
    """Anthropic messages."""
    messages: list[Json] = [{"role": "user", "content": "Eggs?"}]
    while True:
        body = {"model": "small-1", "max_tokens": 100, "system": "You take orders.", "messages": messages}
        reply = post(agent, "/v1/messages", body | {"stream": stream})
        content = _from_events(reply["events"]) if stream else reply["content"]
        messages.append({"role": "assistant", "content": content})
        calls = [block for block in content if block["type"] == "tool_use"]
        if not calls:
            return str(content[-1]["text"])
        results = [
            {
                "type": "tool_result",
                "tool_use_id": call["id"],
                "content": _use(agent, call["name"], call["input"], use_tools),
            }
            for call in calls
        ]
        messages.append({"role": "user", "content": results})


def _use(agent: Agent, name: str, arguments: Json, use_tools: bool) -> str:
    if not use_tools:
        return json.dumps({"here": arguments})
    return json.dumps(agent.call(name, **arguments)[1])


def _from_chunks(events: list[Json]) -> Json:
    message: Json = {"role": "assistant", "content": ""}
    calls: dict[int, Json] = {}
    for event in events:
        for choice in event["choices"]:
            delta = choice["delta"]
            message["content"] += delta.get("content") or ""
            for piece in delta.get("tool_calls", []):
                call = calls.setdefault(piece["index"], {"type": "function", "function": {"name": "", "arguments": ""}})
                call.setdefault("id", piece.get("id"))
                for field in ("name", "arguments"):
                    call["function"][field] += piece["function"].get(field) or ""
    return message | ({"tool_calls": [call for _, call in sorted(calls.items())]} if calls else {})


def _from_events(events: list[Json]) -> list[Json]:
    blocks: dict[int, Json] = {}
    inputs: dict[int, str] = {}
    for event in events:
        if event["type"] == "content_block_start":
            blocks[event["index"]] = dict(event["content_block"])
        if event["type"] == "content_block_delta":
            delta = event["delta"]
            for name in ("text", "thinking"):
                if name in delta:
                    blocks[event["index"]][name] += delta[name]
            inputs[event["index"]] = inputs.get(event["index"], "") + delta.get("partial_json", "")
    for index, told in inputs.items():
        if told:
            blocks[index]["input"] = json.loads(told)
    return [block for _, block in sorted(blocks.items())]
