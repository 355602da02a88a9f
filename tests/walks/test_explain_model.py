"""`harness explain --model`: what the model was sent and what it answered, whole, and steering no terminal."""

import json
from collections.abc import Iterator

import pytest

from tests.gateway.models.model_server import ModelServer, Thought, serve_models
from tests.walks.adder import ADDER
from tests.walks.conftest import Walk, WriteSuite
from tests.walks.recordings.test_models import LOCAL, SUITE, WITH_KEY

LONG = "a text that is longer than what explain shows of one " * 20 + "and this is its end"
HOSTILE = "\x1b[2J\u202e\x9b31m"


@pytest.fixture
def run(walk: Walk, write_suite: WriteSuite) -> Iterator[str]:
    asked = ADDER.replace('"messages": messages}', '"messages": messages, "temperature": 0.25}').replace(
        "Add three and four.", LONG
    )
    with serve_models() as server:
        server.think = think
        write_suite(SUITE.format(url=server.url), "- {id: a, task: Add three and four.}\n", {"main.py": asked})
        walk("run", "s", "--live", "model,record", "--run-name", "r", *LOCAL, env=WITH_KEY)
        assert isinstance(server, ModelServer)
        yield "r"


def think(results: list[str]) -> Thought:
    return Thought(f"seven {HOSTILE}") if results else Thought("I add.", (("add", {"a": 3, "b": 4}),))


def test_every_request_is_shown_whole_and_what_it_repeats_in_a_word(walk: Walk, run: str) -> None:
    shown = walk("explain", run, "a", "--model").stdout

    first, second = shown.split("request 2:")
    assert first.startswith("request 1: small-1 [live]")
    assert LONG in first
    assert '"temperature": 0.25' in first
    assert "I add." in first
    assert LONG not in second
    assert "the first 1 message(s): as before" in second
    assert "options: as before" in second
    assert "sum" in second
    assert "seven" in second


@pytest.mark.slow
def test_what_the_model_says_steers_no_terminal(walk: Walk, run: str) -> None:
    shown = walk("explain", run, "a", "--model").stdout
    assert set() == {char for char in shown if not char.isprintable() and char != "\n"}


@pytest.mark.slow
def test_json_has_every_request_whole(walk: Walk, run: str) -> None:
    first, second = json.loads(walk("explain", run, "a", "--model", "--json").stdout)
    assert first["messages"] == second["messages"][:1]
    assert {"temperature": 0.25} == first["options"]
    assert LONG in str(second["messages"])


def test_an_agent_without_a_model_is_told_so(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite("", "- {id: a, task: Say it.}\n", {"main.py": "print('done')\n"})
    walk("run", "s", "--sandbox", "local", "--run-name", "r")
    assert "no request to a model passed the gateway\n" == walk("explain", "r", "a", "--model").stdout
