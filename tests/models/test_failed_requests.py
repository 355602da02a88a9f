"""Requests to a model that failed for the moment are counted by what recording says of the cassette."""

import json

from tests.models.agents import chat_agent
from tests.models.model_server import ModelServer

BODY = {"model": "small-1", "messages": [{"role": "user", "content": "Eggs?"}]}


def test_a_busy_model_is_counted_and_not_recorded(play, models: ModelServer) -> None:
    models.statuses = [503]

    def order(agent) -> None:
        headers = {"Content-Type": "application/json"}
        assert 503 == agent.ask_raw("POST", "/v1/chat/completions", json.dumps(BODY).encode(), headers)[0]
        assert 200 == agent.ask_raw("POST", "/v1/chat/completions", json.dumps(BODY).encode(), headers)[0]

    recording = play("replay", order, model="record").recording
    assert ({"model:openai": 1}, 1) == (recording.failed, recording.added)


def test_where_every_request_is_answered_none_is_counted(play) -> None:
    recording = play("live", lambda agent: chat_agent(agent, use_tools=False), model="record").recording
    assert ({}, 2) == (recording.failed, recording.added)


def test_a_model_that_is_asked_live_is_not_counted_in_the_cassette_of_the_tools(play, models: ModelServer) -> None:
    models.statuses = [503]

    def order(agent) -> None:
        agent.ask_raw("POST", "/v1/chat/completions", json.dumps(BODY).encode(), {"Content-Type": "application/json"})
        agent.call("look", q="egg")

    assert {} == play("record", order, model="live").recording.failed
