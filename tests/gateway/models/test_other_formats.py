"""Gemini and Azure on a trial's socket, with a real model server behind."""

import http.client
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness.cassettes.cassette import load_cassette
from harness.cassettes.check import check_cassette
from harness.cassettes.transience import events_in
from harness.suite.suites import Suite
from harness.traces import names
from harness.traces.projection import trajectory_from
from tests.gateway.models.conftest import KEY
from tests.gateway.models.model_server import ModelServer, Thought
from tests.gateway.models.other_agents import (
    GEMINI,
    HI,
    QUERY,
    STREAMED,
    azure_agent,
    azure_responses_agent,
    gemini_agent,
)

LOOPS = {
    "gemini": gemini_agent,
    "gemini, events": partial(gemini_agent, stream="sse"),
    "gemini, array": partial(gemini_agent, stream="array"),
    "azure": azure_agent,
    "azure, streamed": partial(azure_agent, stream=True),
    "azure, responses": azure_responses_agent,
    "azure, responses streamed": partial(azure_responses_agent, stream=True),
}


@pytest.fixture
def suite(other_suite: Suite) -> Suite:
    return other_suite


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_what_was_recorded_is_replayed_without_provider_or_key(play, run, models, shop, tmp_path: Path, loop) -> None:
    said: list[str] = []
    recorded = play("record", lambda agent: said.append(loop(agent)), model="record")
    asked = len(models.seen), len(shop.seen)
    again = play("record", lambda agent: said.append(loop(agent)), model="record")
    replayed = run("replay", lambda agent: said.append(loop(agent)), model_mode="replay")

    assert ['Found: {"found": ["egg"]} {"found": ["ham"]}'] * 3 == said
    assert ({"live": 2}, {"live": 2}) == (recorded.tiers, recorded.model_tiers)
    assert 0 == again.recorded  # new ids, the same requests
    assert ({"exact": 2}, {"exact": 2}) == (replayed.tiers, replayed.model_tiers)
    assert () == replayed.misses
    assert (2 * asked[0], 2 * asked[1]) == (len(models.seen), len(shop.seen))
    assert () == check_cassette(tmp_path / "cassettes/breakfast/c1.yaml", {"MODEL_KEY": KEY})
    first, second = (trajectory_from(one.spans) for one in (recorded, replayed))
    assert first.digest == second.digest


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_the_trajectory_has_thoughts_calls_tokens_and_prompt(play, loop) -> None:
    record = play("live", loop, model="live")
    steps = [step for step in trajectory_from(record.spans).steps if step.model is not None]

    assert ["Let me look.", 'Found: {"found": ["egg"]} {"found": ["ham"]}'] == [step.message for step in steps]
    assert "The guest wants breakfast." == steps[0].thought
    assert [("look", {"q": "egg"}), ("look", {"q": "ham"})] == [(c.name, c.arguments) for c in steps[0].calls]
    assert [{"found": ["egg"]}, {"found": ["ham"]}] == [seen.content for seen in steps[0].observations]
    assert [(100, 10)] * 2 == [(s.usage.input_tokens, s.usage.output_tokens) for s in steps if s.usage is not None]
    (first, *_) = [span for span in record.spans if names.SYSTEM in span.attributes]
    assert "You take orders." == first.attributes[names.SYSTEM]
    assert 40 == first.attributes[names.CACHE_READ_TOKENS]


def test_results_of_the_agents_own_tools_are_read_from_the_history(play) -> None:
    loop = partial(gemini_agent, use_tools=False)
    steps = trajectory_from(play("live", loop, model="live").spans).steps
    (step,) = [step for step in steps if step.calls]
    assert [{"here": {"q": "egg"}}, {"here": {"q": "ham"}}] == [seen.content for seen in step.observations]
    assert 2 == len({call.id for call in step.calls})


def test_the_key_is_sent_as_each_provider_expects_it_and_the_agents_own_is_not(play, models: ModelServer) -> None:
    def act(agent: Any) -> None:
        own = {"x-goog-api-key": "mine", "api-key": "mine", "Authorization": "Bearer mine"}
        agent.ask("POST", f"{GEMINI}generateContent?key=mine", HI["sse"], own)
        agent.ask("POST", f"/openai/deployments/small-1/embeddings{QUERY}", {"input": "Hi"}, own)

    play("live", act, model="live")
    gemini, azure = [headers for _, headers, _ in models.seen]
    assert (KEY, KEY) == (gemini["x-goog-api-key"], azure["api-key"])
    assert "mine" not in repr(models.seen)
    assert f"/openai/deployments/small-1/embeddings{QUERY}" == models.seen[1][0]


@pytest.mark.parametrize("form", STREAMED)
def test_a_stream_passes_in_pieces_and_is_replayed_as_the_same_bytes(play, models, tmp_path: Path, form) -> None:
    models.think, models.pause_s = lambda _: Thought("one two three four"), 0.02
    answers: list[tuple[int, dict[str, str], bytes]] = []

    def act(agent: Any) -> None:
        answers.append(agent.ask_raw("POST", *STREAMED[form]))

    play("live", act, model="record")
    play("replay", act, model="replay")
    (live, headers, body), (replayed, again, same) = answers
    assert (200, 200, body) == (live, replayed, same)
    assert headers["content-type"] == again["content-type"]
    assert "chunked" == headers["transfer-encoding"] == again["transfer-encoding"]
    assert 1 == len(load_cassette(tmp_path / "cassettes/breakfast/c1.yaml"))


@pytest.mark.parametrize("form", STREAMED)
def test_a_key_that_the_provider_echoes_in_a_stream_stays_in_the_gateway(play, models, tmp_path: Path, form) -> None:
    models.think = lambda _: Thought(f"Hi, {KEY}" if form == "array" else None, (("look", {"q": KEY}),))
    answers: list[bytes] = []

    def act(agent: Any) -> None:
        answers.append(agent.ask_raw("POST", *STREAMED[form])[2])

    models.tells_usage = True
    record = play("live", act, model="record")
    play("replay", act, model="replay")
    assert answers[0] == answers[1]
    assert events_in(answers[0])[0]
    assert KEY.encode() not in answers[0]
    assert KEY not in repr(record)
    assert all(KEY.encode() not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.parametrize("form", STREAMED)
def test_a_stream_that_breaks_off_is_cut_for_the_agent_and_not_recorded(play, models: ModelServer, form) -> None:
    models.think, models.cut_after = lambda _: Thought("one two three four"), 2
    cut: list[bool] = []

    def act(agent: Any) -> None:
        try:
            agent.ask_raw("POST", *STREAMED[form])
            cut.append(False)
        except (OSError, http.client.HTTPException):
            cut.append(True)

    record = play("live", act, model="record")
    assert [True] == cut
    assert 0 == record.recorded
    (error,) = [span.attributes.get("error.type") for span in record.spans if span.name.startswith("chat")]
    assert "reset" == error


def test_errors_have_the_shape_of_the_format(play, models: ModelServer) -> None:
    answers: list[tuple[int, Any]] = []

    def act(agent: Any) -> None:
        answers.append(agent.ask("POST", f"{GEMINI}generateContent", HI["sse"]))
        answers.append(agent.ask("POST", f"/openai/deployments/small-1/chat/completions{QUERY}", {"messages": []}))

    play("replay", act, model="replay")
    (gemini, google), (azure, openai) = answers
    assert [424] * 2 == [gemini, azure]
    assert (424, "FAILED_PRECONDITION") == (google["error"]["code"], google["error"]["status"])
    assert "replay_miss" == google["error"]["details"][0]["reason"]
    assert "replay_miss" == openai["error"]["code"]
