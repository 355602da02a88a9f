"""The cause of a trial with a model: searched with the recorded answers, or with live ones."""

import json
from collections.abc import Iterator

import pytest

from tests.gateway.models.model_server import ModelServer, Thought, serve_models
from tests.walks.adder import ADDER
from tests.walks.conftest import Walk, WriteSuite, walk, write_suite

__all__ = ["walk", "write_suite"]

SUITE = """\
checks:
  - {{name: answered, verifier: final_answer, with: {{contains: seven}}}}
model: {{base_url: "{url}", api_key: WALK_KEY}}
"""
CASES = "- {id: sum, task: Add three and four., expected_output: seven}\n"
LOCAL = ("--sandbox", "local", "--jobs", "1")
KEY = {"WALK_KEY": "sk-walk-0123456789abcdef"}


@pytest.fixture
def models(write_suite: WriteSuite, walk: Walk) -> Iterator[ModelServer]:
    with serve_models() as server:
        server.think = lambda results: Thought("7") if results else Thought("I add.", (("add", {"a": 3, "b": 4}),))
        write_suite(SUITE.format(url=server.url), CASES, {"main.py": ADDER})
        walk("run", "s", "--live", "model,record", "--run-name", "r", *LOCAL, env=KEY)
        yield server


@pytest.mark.slow
def test_a_cause_is_searched_with_recorded_answers_or_with_live_ones(walk: Walk, models: ModelServer) -> None:
    asked, blame = len(models.seen), ("blame", "r", "sum", "--json", *LOCAL)
    recorded = json.loads(walk(*blame, env=KEY).stdout)
    assert asked == len(models.seen)
    live = json.loads(walk(*blame, "--live", "model", env=KEY).stdout)
    assert [["answer_itself"]] * 2 == [one["cause"]["kinds"] for one in (recorded, live)]
    assert len(models.seen) - asked >= 2 * live["trials"]
