"""What users of the providers' own clients (openai 3.54, anthropic 2.12) send passes, field by field."""

from typing import Any

import pytest

from tests.gateway.models.model_server import ModelServer as Models

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
SCHEMA: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
FUNCTION = {"name": "look", "description": "d", "parameters": SCHEMA, "strict": True}
CUSTOM = {"name": "c", "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: /a/"}}}
NAMED = {"name": "o", "schema": SCHEMA, "strict": True}
PICTURE = {"url": "data:image/png;base64,AAAA", "detail": "low"}
CACHED = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
HELLO = [{"role": "user", "content": "Hello"}]
LEAST = {
    CHAT: {"model": "small-1", "messages": HELLO},
    RESPONSES: {"model": "small-1", "input": "Hello"},
    MESSAGES: {"model": "small-1", "max_tokens": 100, "messages": HELLO},
}
SENT: dict[str, dict[str, Any]] = {
    CHAT: {
        "tools": [
            {"type": "function", "function": FUNCTION},
            {"type": "custom", "custom": CUSTOM},
        ],
        "tool_choice": {"type": "function", "function": {"name": "look"}},
        "parallel_tool_calls": False,
        "response_format": {"type": "json_schema", "json_schema": NAMED},
        "stream_options": {"include_usage": True, "include_obfuscation": False},
        "reasoning_effort": "low",
        "seed": 1,
        "logprobs": True,
        "top_logprobs": 2,
        "metadata": {"a": "b"},
        "service_tier": "auto",
        "prompt_cache_key": "k",
        "prompt_cache_retention": "24h",
        "safety_identifier": "u",
        "verbosity": "low",
        "store": True,
        "n": 2,
        "stop": ["x"],
        "temperature": 0.1,
        "top_p": 0.9,
        "max_tokens": 5,
        "max_completion_tokens": 5,
        "presence_penalty": 0.1,
        "frequency_penalty": 0.1,
        "logit_bias": {"1": 1},
        "user": "u",
        "prediction": {"type": "content", "content": "x"},
        "modalities": ["text"],
        "audio": {"voice": "alloy", "format": "wav"},
        "functions": [{"name": "f", "parameters": SCHEMA}],
        "function_call": "auto",
        "messages": [
            {"role": "developer", "content": "x"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "a"},
                    {"type": "image_url", "image_url": PICTURE},
                    {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
                    {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
                ],
            },
        ],
    },
    RESPONSES: {
        "tools": [{"type": "function", **FUNCTION}, {"type": "custom", "name": "c"}, {"type": "apply_patch"}],
        "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "look"}]},
        "parallel_tool_calls": True,
        "max_tool_calls": 3,
        "include": ["reasoning.encrypted_content", "message.output_text.logprobs"],
        "store": False,
        "reasoning": {"effort": "low", "summary": "auto"},
        "text": {"format": {"type": "json_schema", **NAMED}, "verbosity": "low"},
        "stream_options": {"include_obfuscation": False},
        "instructions": "i",
        "metadata": {"a": "b"},
        "service_tier": "auto",
        "prompt_cache_key": "k",
        "prompt_cache_retention": "24h",
        "safety_identifier": "u",
        "temperature": 0.1,
        "top_p": 0.9,
        "top_logprobs": 2,
        "max_output_tokens": 50,
        "truncation": "auto",
        "user": "u",
        "background": False,
        "context_management": [{"type": "compaction", "compact_threshold": 1000}],
        "input": [
            {"role": "developer", "content": "x"},
            {
                "type": "message",
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "a"},
                    {"type": "input_image", "image_url": PICTURE["url"], "detail": "low"},
                    {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AA"},
                ],
            },
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
            {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "{}"},
        ],
    },
    MESSAGES: {
        "tools": [{"name": "look", "input_schema": SCHEMA, "strict": True, **CACHED}],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "system": [{"type": "text", "text": "s", **CACHED}],
        "cache_control": {"type": "ephemeral"},
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
        "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]},
        "metadata": {"user_id": "u"},
        "service_tier": "auto",
        "stop_sequences": ["x"],
        "temperature": 0.1,
        "top_p": 0.9,
        "top_k": 5,
        "inference_geo": "us",
        "speed": "fast",
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "t", "signature": "s"},
                    {"type": "tool_use", "id": "t1", "name": "look", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "r"}],
            },
        ],
    },
}


@pytest.mark.parametrize("path", SENT)
def test_it_reaches_the_provider_as_it_was_sent(play, models: Models, path: str) -> None:
    wanted = [
        LEAST[path],
        *(LEAST[path] | {name: value} for name, value in SENT[path].items()),
        LEAST[path] | SENT[path],
    ]
    answers: list[tuple[int, dict[str, Any]]] = []
    beta = {"anthropic-beta": "interleaved-thinking-2025-05-14", "Content-Type": "application/json"}
    play("live", lambda agent: answers.extend(agent.ask("POST", path, body, beta) for body in wanted), model="live")

    assert [] == [said for status, said in answers if status != 200]
    assert len(wanted) == len(models.seen)
