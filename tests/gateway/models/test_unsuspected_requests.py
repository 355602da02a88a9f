"""Requests of endpoints that give no reply of a model, and of unusual shapes: the provider fetches nothing."""

import json
from typing import Any

import pytest

from harness.suite.suites import Suite
from tests.gateway.models.conftest import KEY
from tests.gateway.models.model_server import ModelServer
from tests.gateway.models.other_agents import GEMINI

AWAY = "https://attacker.example/a.png"
IMAGE = {"type": "image", "source": {"type": "url", "url": AWAY}}
FILE = {"fileData": {"fileUri": AWAY, "mimeType": "image/png"}}
SAID = {"model": "small-1", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9}
COUNTED = {"model": "small-1", "messages": [{"role": "user", "content": "Hi"}]}
SHOT = {"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot"}}


def _asked(run: Any, suite: Suite, path: str, body: object) -> tuple[int, Any]:
    answers: list[tuple[int, Any]] = []
    run(
        "live",
        lambda agent: answers.append(agent.ask("POST", path, body)),
        model_mode="live",
        secrets={"MODEL_KEY": KEY},
        suite=suite,
    )
    return answers[0]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/messages/count_tokens", COUNTED | {"messages": [{"role": "user", "content": [IMAGE]}]}),
        ("/v1/messages/count_tokens", COUNTED | {"tools": [{"type": "web_fetch_20250910", "name": "f"}]}),
        (f"{GEMINI}countTokens", {"contents": [{"parts": [FILE]}]}),
        (f"{GEMINI}embedContent", {"content": {"parts": [FILE]}}),
        (f"{GEMINI}embedContent", {"content": [{"parts": [FILE]}]}),
        (f"{GEMINI}batchEmbedContents", {"requests": [{"model": "small-1", "content": {"parts": [FILE]}}]}),
        (f"{GEMINI}batchEmbedContents", {"requests": [{"model": "models/dear-1", "content": {"parts": []}}]}),
        (f"{GEMINI}batchEmbedContents", {"requests": {"model": "models/dear-1", "content": {"parts": []}}}),
        (
            f"{GEMINI}generateContent",
            {"contents": [], "systemInstruction": {"parts": []}, "system_instruction": {"parts": [FILE]}},
        ),
        ("/v1/responses", {"model": "small-1", "input": [SHOT | {"output": {"image_url": AWAY}}]}),
        ("/v1/responses", {"model": "small-1", "input": [SHOT | {"output": {"file_id": "file_1"}}]}),
    ],
    ids=lambda value: value if isinstance(value, str) else json.dumps(value)[:80],
)
def test_nothing_is_left_to_the_provider_to_fetch_by_any_endpoint(
    run, every_suite, models: ModelServer, path: str, body
) -> None:
    status, said = _asked(run, every_suite, path, body)
    assert status in {400, 403}, said
    assert [] == models.seen


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/messages/count_tokens", COUNTED),
        (f"{GEMINI}countTokens", {"contents": [{"parts": [{"text": "Hi"}]}]}),
        (f"{GEMINI}embedContent", {"content": {"parts": [{"text": "Hi"}]}}),
        (f"{GEMINI}batchEmbedContents", {"requests": [{"model": "models/small-1", "content": {"parts": []}}]}),
        (
            "/v1/responses",
            {"model": "small-1", "input": [SHOT | {"output": {"image_url": "data:image/png;base64,AA"}}]},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_same_requests_without_it_reach_the_provider(run, every_suite, models: ModelServer, path, body) -> None:
    models.statuses = [400]
    _asked(run, every_suite, path, body)
    assert [path] == [path for path, _, _ in models.seen]


ODD: list[Any] = [[], {}, [[]], {"type": []}, 0, True, None, "x", [None], [{"type": {}}], [{"type": []}]]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/messages", SAID),
        ("/v1/messages/count_tokens", COUNTED),
        ("/v1/chat/completions", SAID),
        ("/v1/responses", {"model": "small-1", "input": "Hi"}),
        ("/v1/embeddings", {"model": "small-1", "input": "Hi"}),
        (f"{GEMINI}generateContent", {"contents": []}),
        (f"{GEMINI}batchEmbedContents", {"requests": []}),
    ],
)
def test_no_shape_of_a_request_is_the_harness_s_failure(run, every_suite, models, path: str, body) -> None:
    models.statuses = [400] * 10_000
    open_list = every_suite.model.model_copy(update={"models": ()})
    suite = every_suite.model_copy(update={"model": open_list})
    answers: list[int] = []

    def agent(agent: Any) -> None:
        for value in ODD:
            for changed in _changed(body, value):
                answers.append(agent.ask_raw("POST", path, changed)[0])

    run("live", agent, model_mode="live", secrets={"MODEL_KEY": KEY}, suite=suite)
    assert 500 not in answers


def _changed(body: dict[str, Any], odd: Any) -> list[dict[str, Any]]:
    blocks = [{"type": "image", "source": odd}, {"type": "image", "source": {"type": odd}}, {"type": odd}, odd]
    blocks += [{name: odd} for name in ("text", "image_url", "functionCall", "functionResponse")]
    blocks += [
        {"type": "tool_result", "tool_use_id": odd, "content": odd},
        {"type": "tool_use", "id": odd, "input": odd},
    ]
    messages: list[Any] = [{"role": odd, "content": odd}, {"role": "user", "content": blocks, "parts": blocks}, odd]
    messages += [
        {"role": "assistant", "tool_calls": odd},
        {"role": "assistant", "tool_calls": [odd, {"function": odd}]},
    ]
    messages += [{"type": odd, "output": odd, "call_id": odd}, {"role": "tool", "tool_call_id": odd, "content": odd}]
    found = [body | {name: odd} for name in ("messages", "input", "contents", "tools", "model", "system", "requests")]
    found += [body | {name: [one]} for name in ("messages", "input", "contents", "tools", "system") for one in messages]
    found += [body | {"toolConfig": odd}, body | {"toolConfig": {"tools": [odd]}}, body | {"metadata": odd}]
    found += [body | {"previous_response_id": odd, "stream": odd, "n": odd, "system_instruction": odd}]
    return found
