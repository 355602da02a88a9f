"""Gemini's format for the model server: whole replies, and the pieces of streamed ones."""

import base64
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.gateway.models.model_server import ModelServer

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


def as_array(chunks: list[Json]) -> list[bytes]:
    """The pieces of a JSON array, as Gemini sends it."""
    texts = [json.dumps(chunk) for chunk in chunks]
    return [f"[{texts[0]}".encode(), *(f",\r\n{text}".encode() for text in texts[1:]), b"]"]


def _halves(part: Json) -> list[Json]:
    text = part.get("text")
    return [part] if text is None else [part | {"text": text[:4]}, part | {"text": text[4:]}]
