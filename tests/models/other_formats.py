"""Gemini's and Bedrock's formats for the model server: whole replies, and the pieces of streamed ones."""

import base64
import json
from typing import TYPE_CHECKING, Any

from harness.upstream.model.wire.aws_frames import Frame

if TYPE_CHECKING:
    from tests.models.model_server import ModelServer

Json = dict[str, Any]


def gemini(server: "ModelServer", body: Json) -> tuple[Json, list[Json]]:
    """A reply and its chunks; calls without ids, as Gemini's older models make them."""
    parts = [part for content in body["contents"] for part in content["parts"]]
    results = [part["functionResponse"]["response"]["result"] for part in parts if "functionResponse" in part]
    thought = server.think(results)
    said: list[Json] = []
    if thought.reasoning:
        said.append({"text": thought.reasoning, "thought": True})
    if thought.text:
        said.append({"text": thought.text})
    for name, arguments in thought.calls:
        signature = base64.b64encode(server.mint("sig").encode()).decode()
        said.append({"functionCall": {"name": name, "args": arguments}, "thoughtSignature": signature})
    usage = {
        "promptTokenCount": 100,
        "candidatesTokenCount": 7,
        "thoughtsTokenCount": 3,
        "cachedContentTokenCount": 40,
        "totalTokenCount": 110,
    }
    told: Json = {"modelVersion": "small-1-2026", "responseId": server.mint("resp")}

    def chunk(parts: list[Json], **candidate: Any) -> Json:
        return told | {"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, **candidate}]}

    chunks = [chunk([piece]) for part in said for piece in _halves(part)]
    end = {"usageMetadata": usage} if server.tells_usage else {}
    return chunk(said, finishReason="STOP") | end, [*chunks, chunk([], finishReason="STOP") | end]


def converse(server: "ModelServer", body: Json) -> tuple[Json, list[tuple[str, Json]]]:
    """A reply and the events of its stream."""
    blocks = [block for message in body["messages"] for block in message["content"]]
    thought = server.think([b["toolResult"]["content"][0]["text"] for b in blocks if "toolResult" in b])
    content: list[Json] = []
    if thought.reasoning:
        reasoning = {"text": thought.reasoning, "signature": server.mint("sig")}
        content.append({"reasoningContent": {"reasoningText": reasoning}})
    if thought.text:
        content.append({"text": thought.text})
    for name, arguments in thought.calls:
        content.append({"toolUse": {"toolUseId": server.mint("tooluse"), "name": name, "input": arguments}})
    usage = {"inputTokens": 60, "cacheReadInputTokens": 40, "outputTokens": 10, "totalTokens": 110}
    reason = "tool_use" if thought.calls else "end_turn"
    message = {"role": "assistant", "content": content}
    whole = {"output": {"message": message}, "stopReason": reason, "usage": usage, "metrics": {"latencyMs": 5}}
    events: list[tuple[str, Json]] = [("messageStart", {"role": "assistant"})]
    for index, block in enumerate(content):
        if "toolUse" in block:
            start = {name: block["toolUse"][name] for name in ("toolUseId", "name")}
            events.append(("contentBlockStart", {"start": {"toolUse": start}, "contentBlockIndex": index}))
        events += [("contentBlockDelta", {"delta": delta, "contentBlockIndex": index}) for delta in _deltas(block)]
        events.append(("contentBlockStop", {"contentBlockIndex": index}))
    events.append(("messageStop", {"stopReason": reason}))
    events.append(("metadata", {"usage": usage, "metrics": {"latencyMs": 5}}))
    return whole, events


def as_array(chunks: list[Json]) -> list[bytes]:
    """The pieces of a JSON array, as Gemini sends it."""
    texts = [json.dumps(chunk) for chunk in chunks]
    return [f"[{texts[0]}".encode(), *(f",\r\n{text}".encode() for text in texts[1:]), b"]"]


def frame(kind: str, payload: Json, *, message: str = "event") -> bytes:
    """One frame of AWS's event stream."""
    named = {f":{message}-type": kind, ":content-type": "application/json", ":message-type": message}
    headers = b"".join(_header(name, value) for name, value in named.items())
    return Frame(headers=headers, payload=json.dumps(payload).encode()).encoded


def _header(name: str, value: str) -> bytes:
    return bytes([len(name)]) + name.encode() + b"\x07" + len(value).to_bytes(2, "big") + value.encode()


def _halves(part: Json) -> list[Json]:
    text = part.get("text")
    return [part] if text is None else [part | {"text": text[:4]}, part | {"text": text[4:]}]


def _deltas(block: Json) -> list[Json]:
    if "toolUse" in block:
        told = json.dumps(block["toolUse"]["input"])
        return [{"toolUse": {"input": piece}} for piece in (told[:3], told[3:])]
    if "text" in block:
        return [{"text": piece} for piece in (block["text"][:4], block["text"][4:])]
    reasoning = block["reasoningContent"]["reasoningText"]
    return [{"reasoningContent": {name: value}} for name, value in reasoning.items()]
