"""Keys of requests: what is the same request, and what is not."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cassettes.redaction import Redactor
from harness.gateway.models.endpoints import endpoint_of
from harness.gateway.models.keys import RequestKeys
from harness.suite.tools import VolatilePart

Json = dict[str, Any]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def key(body: Json, path: str = "/v1/chat/completions", secrets: dict[str, str] | None = None) -> str:
    endpoint = endpoint_of("POST", path, anthropic=False)
    assert endpoint is not None
    return RequestKeys(Redactor(secrets or {}), ()).key(endpoint, body).key


def chat(identity: str, arguments: str = '{"id": "egg"}', result: str = "[1, 2]") -> Json:
    call = {"id": identity, "type": "function", "function": {"name": "look", "arguments": arguments}}
    return {
        "model": "m",
        "messages": [
            {"role": "user", "content": "Eggs?"},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": identity, "content": result},
        ],
    }


def anthropic(identity: str, item: str) -> Json:
    used = {"type": "tool_use", "id": identity, "name": "add", "input": {"id": item}}
    return {
        "model": "m",
        "messages": [
            {"role": "assistant", "content": [used]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": identity, "content": "ok"}]},
        ],
    }


def test_what_changes_by_itself_in_a_prompt_can_be_left_out() -> None:
    endpoint = endpoint_of("POST", "/v1/chat/completions", anthropic=False)
    assert endpoint is not None
    ignored = (
        VolatilePart(regex=r"\d\d:\d\d:\d\d"),
        VolatilePart(at="/messages/1/content", regex="/tmp/[a-z0-9]+"),
        "trace",
    )

    def told(time: str, folder: str, question: str, trace: str) -> str:
        system = f"You work in {folder}. It is {time}."
        messages = [{"role": "system", "content": system}, {"role": "user", "content": f"{question} in {folder}"}]
        body: Json = {"model": "m", "messages": messages, "trace": trace}
        return RequestKeys(Redactor({}), ignored).key(endpoint, body).key

    first = told("10:11:12", "/tmp/a1", "Eggs?", "x")
    assert first == told("23:59:01", "/tmp/a1", "Eggs?", "y")
    assert first != told("10:11:12", "/tmp/a1", "Ham?", "x")
    assert first != told("10:11:12", "/tmp/b2", "Eggs?", "x")  # the system prompt has the folder too


def test_what_rules_of_ignore_find_is_counted(play, every_suite) -> None:
    model = every_suite.model.model_copy(update={"ignore": ("user_note", VolatilePart(at="/messages", regex="[0-9]+"))})
    tools = [tool.model_copy(update={"ignore": ("/q", "nothing")}) for tool in every_suite.tools]
    suite = every_suite.model_copy(update={"model": model, "tools": tuple(tools)})

    def act(agent: Any) -> None:
        for said in ("It is 10", "It is noon"):
            agent.ask("POST", CHAT, {"model": "small-1", "messages": [{"role": "user", "content": said}]})
        agent.call("look", q="egg")

    assert {
        "model: ignore: the regex at /messages": 1,
        "model: ignore: user_note": 0,
        "tool 'look': ignore: /q": 1,
        "tool 'look': ignore: nothing": 0,
    } == play("record", act, model="record", suite=suite).recording.ignored


def test_minted_ids_do_not_matter_and_arguments_do() -> None:
    assert key(chat("call_a")) == key(chat("call_b"))
    assert key(chat("call_a")) == key(chat("call_a", arguments='{"id":"egg"}', result="[1,2]"))
    assert key(chat("call_a")) != key(chat("call_a", arguments='{"id": "ham"}'))
    assert key(chat("call_a")) != key(chat("call_a", result="[2, 1]"))
    assert key(anthropic("toolu_1", "egg"), "/v1/messages") == key(anthropic("toolu_2", "egg"), "/v1/messages")
    assert key(anthropic("toolu_1", "egg"), "/v1/messages") != key(anthropic("toolu_1", "ham"), "/v1/messages")


def test_a_result_that_goes_to_another_call_is_another_request() -> None:
    one = chat("a")
    one["messages"][1]["tool_calls"].append({"id": "b", "function": {"name": "look", "arguments": "{}"}})
    other = copy.deepcopy(one)
    other["messages"][2]["tool_call_id"] = "b"
    assert key(one) != key(other)


@pytest.mark.parametrize("field", ["model", "seed", "tools", "stream", "max_tokens", "unheard_of"])
def test_what_changes_the_answer_is_part_of_the_key(field: str) -> None:
    assert key(chat("a")) != key(chat("a") | {field: "another"})


TOOLS: list[Json] = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in "abc"]
DECLARED: list[Json] = [{"name": name} for name in "abc"]


@pytest.mark.parametrize(
    ("tools", "reordered"),
    [
        ({"tools": TOOLS}, {"tools": TOOLS[::-1]}),
        ({"functions": DECLARED}, {"functions": DECLARED[::-1]}),
        (
            {"tools": [{"functionDeclarations": DECLARED}, {"codeExecution": {}}]},
            {"tools": [{"codeExecution": {}}, {"functionDeclarations": DECLARED[::-1]}]},
        ),
    ],
)
def test_definitions_of_tools_are_the_same_in_any_order(tools: Json, reordered: Json) -> None:
    assert key(chat("a") | tools) == key(chat("a") | reordered)
    assert key(chat("a") | tools) != key(chat("a") | {name: value[:-1] for name, value in tools.items()})


CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"
AZURE = "/openai/deployments/small-1/chat/completions?api-version="
NOISE = {
    "User-Agent": "other/2",
    "X-Stainless-Lang": "js",
    "Accept": "text/event-stream",
    "X-Title": "a",
    "Authorization": "Bearer x",
    "x-api-key": "y",
    "Idempotency-Key": "z",
    "X-Client-Request-Id": "1",
}


@pytest.mark.parametrize(
    ("method", "paths", "headers"),
    [
        ("POST", (MESSAGES, MESSAGES), ({"Anthropic-Beta": "context-1m"}, {})),
        ("POST", (MESSAGES, MESSAGES), ({"anthropic-version": "2023-06-01"}, {"anthropic-version": "2023-01-01"})),
        ("POST", (CHAT, CHAT), ({"OpenAI-Beta": "a=v1"}, {"OpenAI-Beta": "a=v2"})),
        ("POST", (f"{AZURE}2024-10-21", f"{AZURE}2025-01-01"), ({}, {})),
        ("GET", ("/v1/models?after=a", "/v1/models?after=b"), ({}, {})),
    ],
)
def test_headers_and_query_of_a_model_request_are_in_its_key(play, every_suite, method, paths, headers) -> None:
    statuses = []

    def ask(mode: str, which: int, noise: Json) -> None:
        body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9} if method == "POST" else None
        named = {} if body is None or paths[which].startswith(AZURE) else {"model": "small-1"}
        asked = None if body is None else named | body

        def act(agent: Any) -> None:
            statuses.append(agent.ask(method, paths[which], asked, headers[which] | noise)[0])

        play(mode, act, model="record" if mode == "live" else mode, suite=every_suite)

    ask("live", 0, {})
    ask("replay", 0, NOISE)
    ask("replay", 1, {})
    assert [200, 200, 424] == statuses


def test_what_a_tool_tells_and_what_is_embedded_stays_as_it_is() -> None:
    def told(item: str, text: str = '{"a": 1}') -> str:
        body, blocks = anthropic("toolu_1", "egg"), [{"type": "found", "id": item, "content": text}]
        body["messages"][1]["content"][0]["content"] = blocks
        return key(body, MESSAGES)

    assert told("a") == told("a", '{"a":1}')
    assert told("a") != told("b")
    assert key({"model": "m", "input": ['{"a": 1}']}, "/v1/embeddings") != key(
        {"model": "m", "input": ['{"a":1}']}, "/v1/embeddings"
    )
    assert key(chat("a", result='{"a": 1, "a": 2}')) != key(chat("a", result='{"a": 2}'))


@given(JSON, JSON)
def test_one_json_text_has_one_key_however_it_is_written(content: Any, other: Any) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": content}]}
    assert key(body) == key(json.loads(json.dumps(body, indent=1, sort_keys=True)))
    if json.dumps(content, sort_keys=True) != json.dumps(other, sort_keys=True):
        told, also = (json.dumps([value], sort_keys=True) for value in (content, other))
        assert key(chat("a", result=told)) != key(chat("a", result=also))


@given(st.text("bcxyzé0189", min_size=6, max_size=20), st.text(max_size=10))
def test_a_known_secret_stands_in_no_key(secret: str, around: str) -> None:
    endpoint = endpoint_of("POST", "/v1/chat/completions", anthropic=False)
    assert endpoint is not None
    said = f"{around} {secret} {around}"
    body = {"model": "m", "messages": [{"role": "user", "content": said}]}
    made = RequestKeys(Redactor({"S": secret}), ()).key(endpoint, body)
    assert None is Redactor({"S": secret}).left_in([made.arguments])
