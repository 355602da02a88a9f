"""Forks by another prompt and another model: the trial is the same up to the step, and asked otherwise from there."""

import json
from collections.abc import Iterator

import pytest

from tests.gateway.models.model_server import ModelServer, Thought, serve_models
from tests.walks.adder import ADDER
from tests.walks.conftest import Walk, WriteSuite, walk, write_suite

__all__ = ["walk", "write_suite"]

AGENT = ADDER.replace(
    "messages = [{",
    'from pathlib import Path\nrules = (Path(__file__).parent / "rules.md").read_text()\n'
    'messages = [{"role": "system", "content": "You add.\\n" + rules}, {',
)
SUITE = """\
checks:
  - {{name: answered, verifier: final_answer, with: {{contains: seven}}}}
model: {{base_url: "{url}", api_key: WALK_KEY}}
"""
CASES = "- {id: sum, task: Add three and four., expected_output: seven}\n"
RULES = 'Answer in "digits".\nBe short.\n'
LOCAL = ("--sandbox", "local", "--jobs", "1")
KEY = {"WALK_KEY": "sk-walk-0123456789abcdef"}


@pytest.fixture
def models(write_suite: WriteSuite, walk: Walk) -> Iterator[ModelServer]:
    with serve_models() as server:

        def think(results: list[str]) -> Thought:
            asked = server.seen[-1][2].decode()
            by_rule = "seven" if "In words." in asked or "large-1" in asked else "7"
            return Thought(by_rule) if results else Thought("I add.", (("add", {"a": 3, "b": 4}),))

        server.think = think
        write_suite(SUITE.format(url=server.url), CASES, {"main.py": AGENT, "rules.md": RULES})
        suite = walk.folder / "suites" / "s" / "suite.yaml"
        suite.write_text(suite.read_text().replace("files: agent}", "files: agent, prompts: [rules.md]}"))
        walk("run", "s", "--live", "model,record", "--run-name", "r", *LOCAL, env=KEY)
        yield server


@pytest.mark.slow
@pytest.mark.parametrize("change", ["prompt", "model"])
def test_the_request_at_the_step_is_the_first_that_is_another(walk: Walk, models: ModelServer, change: str) -> None:
    words = walk.folder / "words.md"
    words.write_text("In words.\n")
    asked = len(models.seen)
    given = ("--prompt", f"rules.md={words}") if change == "prompt" else ("--with-model", "large-1")
    last = max(step["index"] for step in walk.trial("r", "sum")["trajectory"]["steps"])
    fork = ("fork", "r", "sum", "--at", str(last), *given, "--live", "model", "--json", *LOCAL)
    result = json.loads(walk(*fork, env=KEY).stdout)
    assert [(False, True)] == [(result["parent_success"], one["success"]) for one in result["trials"]]
    assert 1 == len(models.seen) - asked  # the earlier request was answered as it was recorded
    sent = json.loads(models.seen[-1][2])
    system = sent["messages"][0]["content"]
    expected = ("small-1", "You add.\nIn words.") if change == "prompt" else ("large-1", f"You add.\n{RULES}")
    assert (expected[0], expected[1].strip()) == (sent["model"], system.strip())


@pytest.mark.slow
def test_a_cause_is_searched_with_recorded_answers_or_with_live_ones(walk: Walk, models: ModelServer) -> None:
    asked, blame = len(models.seen), ("blame", "r", "sum", "--json", *LOCAL)
    recorded = json.loads(walk(*blame, env=KEY).stdout)
    assert asked == len(models.seen)
    live = json.loads(walk(*blame, "--live", "model", env=KEY).stdout)
    assert [["answer_itself"]] * 2 == [one["cause"]["kinds"] for one in (recorded, live)]
    assert len(models.seen) - asked >= 2 * live["trials"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("tone.md=FILE", "has no prompt 'tone.md'"),
        ("FILE", "does not stand in any request"),
        ("rules.md=nowhere.md", "cannot be read"),
    ],
)
def test_what_cannot_be_replaced_is_refused_before_anything_starts(
    walk: Walk, models: ModelServer, given: str, told: str
) -> None:
    text = walk.folder / "text.md"
    text.write_text("x")
    (walk.folder / "suites" / "s" / "agent" / "rules.md").write_text("Another text.\n" if given == "FILE" else RULES)
    fork = ("fork", "r", "sum", "--at", "1", "--prompt", given.replace("FILE", str(text)), *LOCAL)
    assert told in walk(*fork, env=KEY, status=2).stderr


def test_a_suite_without_a_model_has_no_prompt_to_change(basics: Walk) -> None:
    done = basics("fork", "good", "planned-meeting", "--at", "2", "--with-model", "large-1", status=2)
    assert "'basics'" in done.stderr
