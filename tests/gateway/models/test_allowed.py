"""The provider's key goes with known requests only: no other path, method, parameter, header, field or model."""

import json

import pytest

from harness.suite.suites import Suite
from tests.gateway.models.conftest import KEY
from tests.gateway.models.model_server import ModelServer as Models

HELLO = {"model": "small-1", "messages": [{"role": "user", "content": "Hello"}]}
CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"


def asked(play, *requests, suite: Suite | None = None) -> list[tuple[int, str]]:
    """Status and text of each answer; a request: method, path, body, headers."""
    answers: list[tuple[int, str]] = []

    def act(agent) -> None:
        for method, path, *more in requests:
            status, _, body = agent.ask_raw(method, path, *more)
            answers.append((status, body.decode()))

    play("live", act, model="live", **({} if suite is None else {"suite": suite}))
    return answers


@pytest.mark.parametrize(
    "path",
    [
        "/v1/models/../../admin",
        "/v1/models/../files",
        "/v1/models/%2e%2e/%2e%2e/admin",
        "/v1/models/.%2E/files",
        "/v1/models/%252e%252e/files",
        "/v1/models/..%2f..%2ffiles",
        "/v1/models/..\\..\\files",
        "/v1/models/%5c..%5cfiles",
        "/v1/models/..;/files",
        "/v1/models//files",
        "//v1/models",
        "/v1//models",
        "/v1/./models",
        "/v1/models/",
        "/v1/models/%00",
        "/v1/models/a%0d%0aX-A:b",
        "/v1/models/a%3Fb",
        "/v1/models/a%23b",
        "/v1/models/a/b/c/d/e",
        "/v1/files",
        "/v1/responses/resp_1",
        "/v1/chat/completions/",
        "/v1/models/.hidden",
    ],
)
def test_no_other_path_goes_upstream(play, models: Models, path: str) -> None:
    [(got, _), (posted, _)] = asked(play, ("GET", path), ("POST", path, HELLO))

    assert {got, posted} <= {400, 403, 404, 405}
    assert [] == models.seen


def test_models_are_listed_and_looked_up_whatever_their_ids_look_like(play, models: Models) -> None:
    paths = ["/v1/models", "/v1/models/small-1", "/v1/models/ft:small:acme::a1", "/v1/models/acme%2Fsmall-1.5"]
    answers = asked(play, *(("GET", path) for path in paths), ("GET", "/v1/models?limit=5&after_id=a"))

    assert [200] * 5 == [status for status, _ in answers]
    seen = [path for path, _, _ in models.seen]
    assert [*paths[:3], "/v1/models/acme/small-1.5", "/v1/models?limit=5&after_id=a"] == seen


@pytest.mark.parametrize(
    "request_",
    [
        ("GET", CHAT, HELLO),
        ("PUT", CHAT, HELLO),
        ("DELETE", "/v1/models/small-1"),
        ("GET", "/v1/models", HELLO),
        ("POST", CHAT),
        ("POST", CHAT, b"[]"),
        ("POST", f"{CHAT}?plugins=web", HELLO),
        ("POST", f"{MESSAGES}?beta=true&key=x", HELLO),
        ("GET", "/v1/models?path=../files"),
    ],
    ids=str,
)
def test_no_other_method_body_or_parameter_goes_upstream(play, models: Models, request_) -> None:
    [(status, _)] = asked(play, request_)

    assert status in {400, 404, 405}
    assert [] == models.seen


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (CHAT, b'{"model": "small-1", "tools": [{"type": "web_search"}], "tools": [], "messages": []}'),
        (CHAT, b'{"model": "small-1", "tools": [], "tools": [{"type": "web_search"}], "messages": []}'),
        (RESPONSES, b'{"model": "small-1", "input": "Hi", "tools": [{"type": "mcp", "type": "function"}]}'),
        (MESSAGES, b'{"model": "small-1", "messages": [], "mcp_servers": [{"url": "x"}], "mcp_\\u0073ervers": []}'),
        (CHAT, {"plugins": [{"id": "web"}]}),
        (CHAT, {"Tools": [{"type": "web_search"}]}),
        (CHAT, {"tools": {"0": {"type": "web_search"}}}),
        (CHAT, {"tools": [[{"type": "web_search"}]]}),
        (CHAT, {"extra_body": {"tools": [{"type": "web_search"}]}}),
        (CHAT, {"web_search": True}),
        (CHAT, {"search_parameters": {"mode": "on"}}),
        (CHAT, {"models": ["other-1"]}),
        (CHAT, {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": "https://x/a.png"}]}]}),
        (CHAT, {"messages": [{"role": "user", "content": [{"type": "v", "video_url": {"url": "https://x/a"}}]}]}),
        (RESPONSES, {"input": "Hi", "prompt": {"id": "pmpt_1"}}),
        (RESPONSES, {"input": "Hi", "background": True}),
        (RESPONSES, {"input": "Hi", "conversation": "conv_1"}),
        (MESSAGES, {"container": {"skills": [{"skill_id": "xlsx"}]}}),
        (MESSAGES, {"tools": [{"type": "custom_web_search", "name": "x"}]}),
        (MESSAGES, {"tools": [{"type": "bash_code_execution", "name": "x"}]}),
    ],
    ids=str,
)
def test_a_tool_of_the_provider_slips_in_by_no_other_field(play, models: Models, path: str, body) -> None:
    [(status, said)] = asked(play, ("POST", path, body if isinstance(body, bytes) else HELLO | body))

    assert status in {400, 403}
    assert "error" in json.loads(said)
    assert [] == models.seen


def test_what_is_sent_is_what_was_read_written_anew(play, models: Models) -> None:
    raw = '{ "model":"small-1",\n "messages": [{"role":"user","content":"caf\\u00e9 1.50"}], "temperature": 0.50}'
    sent = {"X-HTTP-Method-Override": "DELETE", "X-Original-URL": "/v1/files", "Cookie": "a=b", "User-Agent": "sdk/1"}
    [(status, _)] = asked(play, ("POST", CHAT, raw.encode(), sent | {"X-Stainless-Lang": "python"}))

    assert 200 == status
    [(path, headers, body)] = models.seen
    assert (CHAT, f"Bearer {KEY}") == (path, headers["authorization"])
    assert json.dumps(json.loads(raw), ensure_ascii=False, separators=(",", ":")).encode() == body
    assert ("sdk/1", "python") == (headers["user-agent"], headers["x-stainless-lang"])
    assert set() == {"x-http-method-override", "x-original-url", "cookie"} & set(headers)


def test_a_suite_allows_a_field_and_names_its_models(play, suite: Suite, models: Models) -> None:
    field = ("POST", CHAT, HELLO | {"plugins": [{"id": "own"}]})
    [(refused, said)] = asked(play, field)
    assert (403, True) == (refused, "model.allow`" in said)

    spec = suite.model.model_copy(update={"allow": ("plugins",), "models": ("small-1",)})
    narrow = suite.model_copy(update={"model": spec})
    answers = asked(play, field, ("POST", CHAT, HELLO | {"model": "large-1"}), suite=narrow)
    assert [200, 403] == [status for status, _ in answers]
    assert "`model.models`: small-1" in answers[1][1]
    assert 1 == len(models.seen)


def test_a_model_with_a_name_of_any_length_is_refused_and_shown_in_short(play, suite: Suite, models: Models) -> None:
    """Names stand in every report: one of a megabyte would make all of them unreadable."""
    answers: list[tuple[int, str]] = []

    def act(agent) -> None:
        for length in (200, 201, 1_000_000):
            status, _, said = agent.ask_raw("POST", CHAT, HELLO | {"model": "m" * length})
            answers.append((status, said.decode()))

    record = play("live", act, model="live")
    assert [200, 403, 403] == [status for status, _ in answers]
    assert "1000000 characters; at most 200" in answers[2][1]
    assert 1 == len(models.seen)
    named = [
        str(span.attributes["gen_ai.request.model"])
        for span in record.spans
        if "gen_ai.request.model" in span.attributes
    ]
    assert [200] * 3 == [len(name) for name in named]


def test_a_large_request_passes_where_warnings_are_errors(play, models: Models) -> None:
    """As they are in these tests, and in many of a user's: aiohttp warns of 1 MB in one piece."""
    large = HELLO | {"messages": [{"role": "user", "content": "Hello, you there. " * 100_000}]}
    [(status, answered)] = asked(play, ("POST", CHAT, large))

    assert 200 == status, answered[:500]
    [(_, _, received)] = models.seen
    assert large["messages"] == json.loads(received)["messages"]
