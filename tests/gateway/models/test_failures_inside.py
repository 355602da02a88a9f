"""A failure of the provider inside of a 200 is passed on as it is, and stands on no cassette."""

import json
from typing import Any

import pytest

from tests.gateway.models.model_server import ModelServer
from tests.gateway.models.other_agents import GEMINI
from tests.gateway.models.test_usage_dialects import ASKED, CHAT, MESSAGES, RESPONSES, events

GENERATE, STREAM = f"{GEMINI}generateContent", f"{GEMINI}streamGenerateContent"
ERROR = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
BUSY = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}


def named(name: str, said: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps(said)}\n\n".encode()


def chunk(reason: str | None = None, index: int = 0, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": index, "delta": {"content": "a"}, "finish_reason": reason}], **more}


def candidate(reason: str | None = None) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": [{"text": "a"}]}} | ({"finishReason": reason} if reason else {})]}


def response(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "response": {"id": "resp_1", "status": kind, "output": [], **more}}


def whole(said: Any) -> bytes:
    return json.dumps(said).encode()


BEGUN = named("message_start", {"type": "message_start", "message": {"id": "m", "content": []}})
TEXT = named("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": {"text": "a"}})
STOPPED = named("message_delta", {"type": "message_delta", "delta": {"stop_reason": "end_turn"}})
END = named("message_stop", {"type": "message_stop"})
FAILURES: list[tuple[str, bytes]] = [
    (MESSAGES, named("error", ERROR)),
    (MESSAGES, BEGUN + TEXT + named("error", ERROR)),
    (MESSAGES, BEGUN + TEXT + STOPPED + b"event: error\ndata: upstream timed out\n\n" + END),
    (MESSAGES, BEGUN + TEXT + STOPPED),
    (MESSAGES, whole(ERROR)),
    (MESSAGES, whole({"Output": {"__type": "com.amazon.coral.service#ThrottlingException"}, "Version": "1.0"})),
    (CHAT, events(BUSY)),
    (CHAT, events(chunk(), BUSY)),
    (CHAT, events(chunk("stop"), BUSY)),
    (CHAT, events(chunk(), {"object": "error", "message": "out of memory", "code": 500})),  # vLLM
    (CHAT, events(chunk("error", error={"code": 502, "message": "Provider disconnected"}))),  # OpenRouter
    (CHAT, events(chunk("insufficient_system_resource"))),  # DeepSeek
    (CHAT, events(chunk("stop", x_groq={"error": "over capacity"}))),
    (CHAT, events(chunk())),  # a proxy ends the stream that it lost
    (CHAT, events(chunk("stop"), chunk(index=1))),
    (CHAT, b'data: {"choices": [{"delta": {"content": "a"}}]}\n\nerror: {"code": 500}\n\n'),  # llama.cpp
    (CHAT, whole(BUSY)),
    (CHAT, whole({"choices": None, "base_resp": {"status_code": 1002, "status_msg": "rate limit"}})),  # MiniMax
    (CHAT, whole({"choices": [{"message": {"content": ""}, "finish_reason": "error", "error": {"code": 502}}]})),
    (CHAT, events(chunk(), {"code": "1305", "message": "busy"}, chunk("stop"))),  # GLM
    (CHAT, whole({"choices": [{"index": 0, "message": None}]})),
    (CHAT, whole({"choices": [{"message": {"role": "assistant", "content": None}, "finish_reason": None}]})),
    (MESSAGES, whole({"type": "message", "role": "assistant", "content": [], "stop_reason": None})),
    (RESPONSES, whole(response("in_progress")["response"])),
    (GENERATE, whole({"candidates": [{"index": 0, "content": {"role": "model"}}]})),
    (CHAT, b"<html>upstream busy</html>"),
    (CHAT, b""),
    (CHAT, b'{"choices": [{"message": {"content": "a'),
    (RESPONSES, events(response("created"), response("failed", error={"code": "server_error"}))),
    (RESPONSES, events(response("created"), {"type": "error", "code": "server_error", "message": "x"})),
    (RESPONSES, events(response("created"))),
    (RESPONSES, whole(response("failed")["response"])),
    (GENERATE, whole(BUSY)),
    (GENERATE, whole({"candidates": [], "usageMetadata": {"promptTokenCount": 3}})),
    (STREAM, whole([BUSY])),
    (STREAM, whole([candidate(), BUSY])),
    (STREAM, whole([candidate()])),
    (f"{STREAM}?alt=sse", events(candidate(), BUSY)),
    (f"{STREAM}?alt=sse", events(candidate())),
    ("/v1/embeddings", whole(BUSY)),
]
ANSWERS: list[tuple[str, bytes]] = [
    (MESSAGES, BEGUN + TEXT + STOPPED + END),
    (MESSAGES, whole({"content": [], "stop_reason": "refusal"})),
    (CHAT, events(chunk(error=None), chunk("stop"))),
    (CHAT, events(chunk(), chunk(index=1), chunk("length"), chunk("content_filter", index=1))),
    (CHAT, b"\xef\xbb\xbf" + whole({"choices": [{"message": {"content": "a"}}]})),
    (CHAT, b": keep-alive\n\n" + events(chunk("tool_calls"))),  # DeepSeek
    (CHAT, b"\n\n" + whole({"choices": [{"message": {"content": '{"error": "said by the model"}'}}], "error": None})),
    (RESPONSES, events(response("created"), response("incomplete", error=None))),
    (RESPONSES, whole(response("completed", error=None, output=[{"type": "mcp_call", "error": "x"}])["response"])),
    (GENERATE, whole({"promptFeedback": {"blockReason": "SAFETY"}})),
    (GENERATE, whole({"candidates": [{"finishReason": "SAFETY"}]})),
    (STREAM, whole([candidate(), candidate("STOP")])),
    (f"{STREAM}?alt=sse", events(candidate(), candidate("MAX_TOKENS"))),
    ("/v1/embeddings", whole({"data": []})),
]


@pytest.mark.parametrize(
    ("path", "said", "kept"),
    [(*one, 0) for one in FAILURES] + [(*one, 1) for one in ANSWERS],
    ids=lambda value: value.decode()[-120:] if isinstance(value, bytes) else "",
)
def test_a_failure_inside_of_a_success_is_passed_on_and_not_recorded(
    play, every_suite, models: ModelServer, path: str, said: bytes, kept: int
) -> None:
    models.said, got = [said], []
    asked = ASKED | {"stream": b"data:" in said, "max_tokens": 9} if path in (CHAT, MESSAGES) else None
    asked = asked or ({"contents": []} if path.startswith(GEMINI) else {"model": "small-1", "input": "Hi"})

    def ask(agent: Any) -> None:
        got.append(agent.ask_raw("POST", path, asked)[::2])

    recorded = play("live", ask, model="record", suite=every_suite)
    play("replay", ask, model="replay", suite=every_suite)

    assert (kept, 1 - kept) == (recorded.recorded, sum(recorded.recording.failed.values()))
    assert (200, said) == got[0]
    assert (200 if kept else 424) == got[1][0]
    (span,) = (span for span in recorded.spans if span.attributes.get("http.response.status_code") == 200)
    assert ("unset" if kept else "error") == span.status


def test_a_model_that_is_asked_live_is_not_counted_in_the_cassette_of_the_tools(play, models: ModelServer) -> None:
    models.statuses = [503]

    def order(agent: Any) -> None:
        agent.ask("POST", CHAT, ASKED)
        agent.call("look", q="egg")

    assert {} == play("record", order, model="live").recording.failed
