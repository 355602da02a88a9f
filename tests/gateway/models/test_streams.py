"""Bytes pass through as they are: streams piece by piece, failures as they look, and all of it replayed."""

import http.client
import json
import time
from pathlib import Path
from typing import Any

import pytest

from harness.cassettes.cassette import load_cassette
from harness.suite.suites import Suite
from tests.gateway.conftest import UnixConnection
from tests.gateway.models.model_server import ModelServer, Thought

HELLO = {"model": "small-1", "messages": [{"role": "user", "content": "Hello"}]}
STREAMED = HELLO | {"stream": True}
CHAT = "/v1/chat/completions"


def timed(agent, body: dict[str, Any] = STREAMED) -> tuple[list[float], bytes]:
    """When each piece of a stream came, in milliseconds since it was asked for; and all of it."""
    connection = UnixConnection(agent.path)
    began = time.monotonic()
    connection.request("POST", CHAT, json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    times, content = [], b""
    while piece := response.read1():
        times.append(1000 * (time.monotonic() - began))
        content += piece
    connection.close()
    return times, content


def broken_off(agent) -> tuple[str, bytes]:
    """How a stream ended, and what came of it."""
    connection = UnixConnection(agent.path)
    connection.request("POST", CHAT, json.dumps(STREAMED), {"Content-Type": "application/json"})
    try:
        return "whole", connection.getresponse().read()
    except http.client.IncompleteRead as error:
        return "cut", error.partial
    except ConnectionError:
        return "cut", b""
    finally:
        connection.close()


@pytest.fixture
def reached(play: Any) -> Any:
    """Plays with an agent that knows its socket."""

    def play_with_path(tools: str, act: Any, **more: Any) -> Any:
        def with_path(agent: Any) -> None:
            agent.path = agent._connection._path
            act(agent)

        return play(tools, with_path, **more)

    return play_with_path


def test_a_stream_is_told_as_it_came_and_replayed_at_once(reached, models: ModelServer, tmp_path: Path) -> None:
    models.think, models.pause_s = lambda _: Thought("one two three four"), 0.1
    got = []
    record = reached("live", lambda agent: got.append(timed(agent)), model="record")
    reached("replay", lambda agent: got.append(timed(agent)), model="replay")

    (live, body), (replayed, again) = got
    assert body == again
    (chat,) = [span for span in record.spans if span.name.startswith("chat")]
    assert chat.attributes["gen_ai.response.time_to_first_chunk"] < 0.3  # the provider's, and not the window's
    assert live[-1] > 400
    assert replayed[-1] < 100
    assert 1 == len(load_cassette(tmp_path / "cassettes/breakfast/c1.yaml"))


@pytest.mark.parametrize("cut_after", [0, 3], ids=["at once", "in the middle"])
def test_a_stream_that_breaks_off_is_cut_for_the_agent_too_and_not_recorded(
    reached, models: ModelServer, cut_after: int
) -> None:
    models.think, models.cut_after = lambda _: Thought("one two three four"), cut_after
    seen: list[tuple[str, bytes]] = []

    def act(agent) -> None:
        seen.append(broken_off(agent))

    recorded = reached("live", act, model="record")
    replayed = reached("replay", act, model="replay")

    assert "cut" == seen[0][0]
    assert "cut" != seen[1][0]
    assert (0, 1) == (recorded.recorded, len(replayed.misses))
    errors = [span.attributes.get("error.type") for span in recorded.spans if span.name.startswith("chat")]
    assert ["reset"] == errors


def test_an_agent_that_leaves_early_leaves_a_whole_recording(reached, models: ModelServer, tmp_path: Path) -> None:
    models.think, models.pause_s = lambda _: Thought("one two three four"), 0.05

    def leave(agent) -> None:
        connection = UnixConnection(agent.path)
        connection.request("POST", CHAT, json.dumps(STREAMED), {"Content-Type": "application/json"})
        connection.getresponse().read1(10)
        connection.close()

    reached("live", leave, model="record")

    (recording,) = load_cassette(tmp_path / "cassettes/breakfast/c1.yaml").recordings
    assert recording.body.endswith(b"data: [DONE]\n\n")
    assert "answer" == recording.mark.outcome


def test_what_is_about_the_moment_is_passed_on_and_not_kept(play, models: ModelServer) -> None:
    statuses: list[int] = []

    def act(agent) -> None:
        for status in (429, 500, 529, None):  # the harness asks after each, and is answered
            models.statuses = [] if status is None else [status]
            statuses.append(agent.ask("POST", CHAT, HELLO)[0])

    record = play("live", act, model="record")
    again = play("replay", lambda agent: statuses.append(agent.ask("POST", CHAT, HELLO)[0]), model="replay")

    assert [429, 500, 529, 200, 200] == statuses
    assert (1, ()) == (record.recorded, again.misses)


def test_a_refusal_by_the_model_is_replayed_as_it_was(play, models: ModelServer) -> None:
    models.statuses = [400]
    answers = []
    for mode in ("record", "replay"):
        play("live", lambda agent: answers.append(agent.ask("POST", CHAT, HELLO)), model=mode)
    assert [(400, {"error": {"message": "status 400"}})] * 2 == answers


def test_fields_that_the_suite_allows_survive_in_both_directions(play, suite: Suite, models: ModelServer) -> None:
    allowing = suite.model_copy(update={"model": suite.model.model_copy(update={"allow": ("x_new",)})})
    raw = b'{"model": "small-1",  "x_new": {"deep": [1.0, null]}, "messages": [{"role": "user", "content": "Hi"}]}'
    answers = []
    for mode in ("record", "replay"):
        play("live", lambda agent: answers.append(agent.ask_raw("POST", CHAT, raw)[2]), model=mode, suite=allowing)

    assert json.loads(raw) == json.loads(models.seen[0][2])
    assert b'"x_new":{"deep":[1.0,null]}' in models.seen[0][2]
    assert answers[0] == answers[1]
    assert b'"x_unknown": "kept"' in answers[0]


def test_headers_and_query_of_the_agents_client_reach_the_provider(play, models: ModelServer) -> None:
    headers = {"anthropic-version": "2023-06-01", "anthropic-beta": "x", "X-Api-Key": "harness", "Cookie": "a=b"}
    play("live", lambda agent: agent.ask("POST", "/v1/messages?beta=true", HELLO, headers), model="live")

    path, seen, _ = models.seen[0]
    assert "/v1/messages?beta=true" == path
    assert ("2023-06-01", "x") == (seen["anthropic-version"], seen["anthropic-beta"])
    assert "harness" != seen["x-api-key"]
    assert "cookie" not in seen


def test_other_endpoints_are_passed_recorded_and_no_step(play) -> None:
    asks = [
        ("GET", "/v1/models", None),
        ("POST", "/v1/embeddings", {"model": "small-1", "input": "egg"}),
        ("POST", "/v1/messages/count_tokens", HELLO),
    ]
    answers: list[Any] = []

    def act(agent) -> None:
        answers.append([agent.ask(*ask) for ask in asks])

    recorded = play("live", act, model="record")
    replayed = play("live", act, model="replay")

    assert answers[0] == answers[1]
    assert [200, 200, 200] == [status for status, _ in answers[0]]
    assert ({"live": 3}, {"exact": 3}) == (recorded.model_tiers, replayed.model_tiers)
    assert 0 == recorded.used.replies  # embeddings are charged, and are no reply
    names = ["models", "embeddings small-1", "count_tokens small-1"]
    assert names == [span.name for span in recorded.spans if span.name in names]


@pytest.mark.slow
def test_a_provider_that_does_not_answer_is_an_outage(play, suite: Suite) -> None:
    nobody = suite.model.model_copy(update={"base_url": "http://127.0.0.1:9"})
    record = play(
        "live",
        lambda agent: agent.ask("POST", CHAT, HELLO),
        model="record",
        suite=suite.model_copy(update={"model": nobody}),
    )
    assert ("model:openai", False) == (record.outage.server, record.outage.refused)


@pytest.mark.slow
def test_a_model_that_is_too_slow_is_a_timeout(reached, suite: Suite, models: ModelServer) -> None:
    models.pause_s, models.think = 1.0, lambda _: Thought("one two three four")
    hasty = suite.model_copy(update={"model": suite.model.model_copy(update={"timeout_s": 2.5})})
    seen: list[tuple[str, bytes]] = []
    record = reached("live", lambda agent: seen.append(broken_off(agent)), model="live", suite=hasty)
    assert ["cut"] == [how for how, _ in seen]
    errors = [span.attributes.get("error.type") for span in record.spans if span.name.startswith("chat")]
    assert ["timeout"] == errors


def test_a_rate_limit_of_the_provider_holds(play, suite: Suite) -> None:
    limit = suite.model.model_copy(update={"rate_limit": "2/0.4s"})
    began = time.monotonic()
    slow = suite.model_copy(update={"model": limit})
    play("live", lambda agent: [agent.ask("POST", CHAT, HELLO) for _ in range(4)], model="live", suite=slow)
    assert 0.4 <= time.monotonic() - began < 30


def test_a_request_is_told_by_what_matters_in_it(play) -> None:
    answers = []
    same = HELLO | {"user": "u1", "metadata": {"a": 1}, "store": True, "stream_options": None}
    other = HELLO | {"temperature": 0.5}
    play("live", lambda agent: agent.ask("POST", CHAT, HELLO), model="record")
    play(
        "live", lambda agent: answers.extend(agent.ask("POST", CHAT, a)[0] for a in (same, same, other)), model="replay"
    )
    assert [200, 200, 424] == answers


def test_secrets_that_tools_hand_out_stand_in_no_cassette_and_still_match(play, run, shop, tmp_path: Path) -> None:
    token = "tok_5f3a9c_very_long"
    shop.answer = (200, {"Content-Type": "application/json"}, json.dumps({"token": token}).encode())

    def act(agent) -> None:
        said = agent.call("answer")[1]
        asked = {"model": "small-1", "messages": [{"role": "user", "content": f"It said {json.dumps(said)}."}]}
        assert 200 == agent.ask("POST", CHAT, asked)[0]

    play("record", act, model="record")
    replayed = run("replay", act)

    assert () == replayed.misses
    assert token not in (tmp_path / "cassettes/breakfast/c1.yaml").read_text()
