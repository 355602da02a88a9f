"""One reply of 1,300 input tokens, most of them read from a cache or written to it, and 50 output tokens."""

import json
from typing import Any

import pytest

from tests.gateway.models.model_server import ModelServer
from tests.gateway.models.other_agents import GEMINI

CHAT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
ASKED: dict[str, Any] = {"model": "small-1", "messages": [{"role": "user", "content": "Hi"}]}
CACHED, TIMES = {"cached_tokens": 1000}, {"ephemeral_5m_input_tokens": 60, "ephemeral_1h_input_tokens": 40}
FRESH, START = {"input_tokens": 200, "output_tokens": 50}, {"input_tokens": 200, "output_tokens": 1}
CACHE = {"cache_read_input_tokens": 1000, "cache_creation_input_tokens": 100}
SUM = {"prompt_tokens": 1300, "completion_tokens": 50, "total_tokens": 1350}
KNOWN = (1300, 50)


def whole(usage: Any, path: str = CHAT) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": "a"}, "finish_reason": "stop"}
    said = {
        CHAT: {"choices": [choice], "usage": usage},
        RESPONSES: {"status": "completed", "output": [], "usage": usage},
        MESSAGES: {"type": "message", "content": [], "stop_reason": "end_turn", "usage": usage},
        GEMINI: {"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}], "usageMetadata": usage},
    }[path]
    return json.dumps(said).encode()


def events(*said: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in said) + b"data: [DONE]\n\n"


def chunks(*more: Any) -> bytes:
    choice = {"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}
    return events({"choices": [choice]}, *({"choices": [], **one} for one in more))


def streamed(start: Any, end: Any) -> bytes:
    last = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": end}
    return events({"type": "message_start", "message": {"usage": start}}, last, {"type": "message_stop"})


@pytest.mark.parametrize(
    ("path", "said", "wanted"),
    [
        (CHAT, whole(SUM | {"prompt_tokens_details": CACHED}), KNOWN),
        (CHAT, whole(SUM | {"prompt_cache_hit_tokens": 1000, "prompt_cache_miss_tokens": 300}), KNOWN),  # DeepSeek
        (CHAT, whole(SUM | CACHE | {"prompt_tokens_details": CACHED}), KNOWN),  # LiteLLM
        (CHAT, whole(SUM | CACHE | {"prompt_tokens": 200}), KNOWN),  # a gateway to Bedrock, which counts it beside
        (CHAT, whole({"prompt_tokens": 1300.0, "completion_tokens": "50"}), KNOWN),
        (CHAT, whole(SUM | {"completion_tokens": 20}), KNOWN),  # Gemini: thoughts are in the total alone
        (CHAT, whole(SUM | {"completion_tokens": 20, "completion_tokens_details": {"reasoning_tokens": 30}}), KNOWN),
        (CHAT, whole({"prompt_tokens": None, "completion_tokens": 50, "total_tokens": 1350}), KNOWN),
        (CHAT, whole({"prompt_tokens": None, "completion_tokens": 50}), (None, 50)),
        (CHAT, whole({"prompt_tokens": -1, "completion_tokens": True, "total_tokens": "many"}), (None, None)),
        (CHAT, chunks({"usage": SUM}), KNOWN),
        (CHAT, chunks({"x_groq": {"usage": SUM}}), KNOWN),
        (
            CHAT,
            chunks({"usage": SUM}, {"usage": None}, {"usage": {"prompt_tokens": None, "completion_tokens": 7}}),
            KNOWN,
        ),
        (
            RESPONSES,
            whole({"input_tokens": 1300, "output_tokens": 50, "input_tokens_details": CACHED}, RESPONSES),
            KNOWN,
        ),
        (MESSAGES, whole(FRESH | CACHE, MESSAGES), KNOWN),
        (MESSAGES, whole(FRESH | {"cache_read_input_tokens": 1000, "cache_creation": TIMES}, MESSAGES), KNOWN),
        (MESSAGES, whole(FRESH | CACHE | {"input_tokens": 1300}, MESSAGES), (2400, 50)),  # always beside
        (MESSAGES, streamed(START | CACHE, {"output_tokens": 50}), KNOWN),
        (MESSAGES, streamed(START | CACHE, {"output_tokens": 50, "input_tokens": None}), KNOWN),
        (MESSAGES, streamed(START | CACHE, dict.fromkeys(CACHE, 0) | {"input_tokens": 0, "output_tokens": 50}), KNOWN),
        (MESSAGES, streamed({"input_tokens": 0, "output_tokens": 0}, FRESH | CACHE), KNOWN),
        (
            GEMINI,
            whole({"promptTokenCount": 1300, "candidatesTokenCount": 20, "thoughtsTokenCount": 30}, GEMINI),
            KNOWN,
        ),
        (
            GEMINI,
            whole({"promptTokenCount": 1200, "toolUsePromptTokenCount": 100, "totalTokenCount": 1350}, GEMINI),
            KNOWN,
        ),
    ],
    ids=lambda value: value.decode()[-150:] if isinstance(value, bytes) else "",
)
def test_a_reply_has_the_same_tokens_in_every_dialect(
    play, every_suite, models: ModelServer, path, said, wanted
) -> None:
    models.said = [said]
    stream = said.startswith(b"data:")
    asked = {
        CHAT: ASKED | {"stream": stream},
        MESSAGES: ASKED | {"stream": stream, "max_tokens": 9},
        RESPONSES: {"model": "small-1", "input": "Hi"},
        GEMINI: {"contents": [{"parts": [{"text": "Hi"}]}]},
    }[path]
    at = f"{path}generateContent" if path == GEMINI else path
    record = play("live", lambda agent: agent.ask_raw("POST", at, asked), model="live", suite=every_suite)
    (told,) = (span.attributes for span in record.spans if span.name.startswith("chat"))
    assert wanted == (told.get("gen_ai.usage.input_tokens"), told.get("gen_ai.usage.output_tokens"))
