"""Gemini and Azure: the provider's key goes with known requests only."""

import json
from typing import Any

import pytest

from harness.suite.suites import Suite
from tests.gateway.models.model_server import ModelServer
from tests.gateway.models.other_agents import GEMINI, HI, QUERY


@pytest.fixture
def suite(other_suite: Suite) -> Suite:
    return other_suite


_GOOGLE = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
_FILE = {"fileUri": "https://x/a.pdf", "mimeType": "application/pdf"}
REFUSED = [
    *({"tools": [{name: {}}]} for name in ("googleSearch", "google_search", "googleSearchRetrieval", "codeExecution")),
    *({"tools": [{name: {}}]} for name in ("code_execution", "urlContext", "googleMaps", "fileSearch", "mcpServers")),
    {"tools": [{"functionDeclarations": [], "codeExecution": {}}]},
    {"tools": {"googleSearch": {}}},
    {"cachedContent": "cachedContents/a"},
    {"cached_content": "cachedContents/a"},
    {"contents": [{"role": "user", "parts": [{"fileData": _FILE}]}]},
    {"contents": [{"role": "user", "parts": [{"file_data": {"file_uri": "https://x/a"}}]}]},
    {"contents": [{"role": "user", "parts": {"fileData": _FILE}}]},
    {"contents": {"role": "user", "parts": [{"fileData": _FILE}]}},
    {"contents": [{"parts": [{"functionResponse": {"name": "f", "parts": [{"fileData": _FILE}]}}]}]},
    {"systemInstruction": {"parts": [{"fileData": _FILE}]}},
    {"model": "other"},
    {"unknown": 1},
]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        *((f"{GEMINI}generateContent", _GOOGLE | body) for body in REFUSED),
        (f"{GEMINI}streamGenerateContent?alt=sse", _GOOGLE | REFUSED[0]),
        (f"{GEMINI}streamGenerateContent", _GOOGLE | REFUSED[0]),
        (f"/openai/deployments/small-1/chat/completions{QUERY}", {"messages": [], "data_sources": [{"type": "x"}]}),
        (f"/openai/v1/responses{QUERY}", {"model": "m", "input": "", "tools": [{"type": "web_search"}]}),
    ],
    ids=str,
)
def test_what_the_provider_would_do_by_itself_is_refused(play, models: ModelServer, path: str, body) -> None:
    answers: list[tuple[int, Any]] = []
    play("live", lambda agent: answers.append(agent.ask("POST", path, body)), model="live")

    assert answers[0][0] in {400, 403}, answers
    assert [] == models.seen


@pytest.mark.parametrize(
    "path",
    [
        f"{GEMINI}generateContent?alt=media",
        f"{GEMINI}generateContent?$alt=proto",
        f"{GEMINI}generateContent?fields=x",
        f"{GEMINI}generateMessage",
        f"{GEMINI}batchGenerateContent",
        "/v1beta/cachedContents",
        "/v1beta/files",
        "/v1beta/models/..%2f..%2ffiles:generateContent",
        "/v1beta/tunedModels/x:generateContent",
        "/v2/models/small-1:generateContent",
        f"/openai/deployments/small-1/images/generations{QUERY}",
        f"/openai/deployments/small-1/chat/completions{QUERY}&x=y",
        f"/openai/files{QUERY}",
        f"/openai/deployments/small-1/extensions/chat/completions{QUERY}",
    ],
)
def test_no_other_path_or_parameter_reaches_the_provider(play, models: ModelServer, path: str) -> None:
    answers: list[int] = []
    play("live", lambda agent: answers.append(agent.ask_raw("POST", path, _GOOGLE)[0]), model="live")
    assert answers[0] in {400, 403, 404}
    assert [] == models.seen


def test_a_suite_without_the_provider_refuses_it(play, suite: Suite, models: ModelServer) -> None:
    answers: list[tuple[int, Any]] = []
    assert suite.model is not None
    narrow = suite.model.model_copy(update={"providers": {"azure": suite.model.providers["azure"]}})
    play(
        "live",
        lambda agent: answers.append(agent.ask("POST", f"{GEMINI}generateContent", HI["sse"])),
        model="live",
        suite=suite.model_copy(update={"model": narrow}),
    )
    assert 403 == answers[0][0]
    assert "'gemini'" in json.dumps(answers[0][1])
    assert [] == models.seen
