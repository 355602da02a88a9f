"""An unchanged agent and its model through the command line: recorded, replayed, live under a budget."""

from collections.abc import Iterator

import pytest

from tests.gateway.models.model_server import ModelServer, Thought, serve_models
from tests.walks.adder import ADDER
from tests.walks.conftest import Walk, WriteSuite

KEY = "sk-walk-0123456789abcdef"
SUITE = """\
checks:
  - {{name: answered, verifier: final_answer, with: {{regex: "seven"}}}}
model:
  base_url: {url}
  api_key: WALK_KEY
  prices: {{small-1: {{input_usd_per_mtok: 1000, output_usd_per_mtok: 1000}}}}
"""
CASES = "".join(f"- {{id: c{number}, task: Add three and four.}}\n" for number in range(4))
LOCAL = ("--sandbox", "local", "--jobs", "1")
WITH_KEY = {"WALK_KEY": KEY}


def add(results: list[str]) -> Thought:
    return Thought("seven") if results else Thought("I add.", (("add", {"a": 3, "b": 4}),))


@pytest.fixture
def models(write_suite: WriteSuite) -> Iterator[ModelServer]:
    with serve_models() as server:
        server.think = add
        write_suite(SUITE.format(url=server.url), CASES, {"main.py": ADDER})
        yield server


@pytest.mark.slow
def test_a_model_is_recorded_once_and_replayed_without_key_and_server(walk: Walk, models: ModelServer) -> None:
    recorded = walk.summary("run", "s", "--live", "model,record", "--run-name", "recorded", *LOCAL, env=WITH_KEY)
    walk("run", "s", "--run-name", "live", "--live", "model", *LOCAL, env=WITH_KEY)
    words = walk("report", "live", "--all").stdout
    asked = len(models.seen)
    replayed = walk("run", "s", "--run-name", "replayed", "--trials", "2", *LOCAL)

    assert "record" == recorded["manifest"]["model_mode"]
    assert "tools replay, model live" in " ".join(words.split())
    assert "model answers: 8 live; 800 tokens in, 80 out, 0.88 USD" in words
    assert "8 trials" in replayed.stdout
    assert asked == len(models.seen)
    trial = walk.trial("replayed", "c0")
    steps = trial["trajectory"]["steps"]
    assert ["Add three and four.", "I add.", "seven"] == [step["message"] for step in steps]
    assert [{"name": "add", "arguments": {"a": 3, "b": 4}}] == [
        {name: call[name] for name in ("name", "arguments")} for call in steps[1]["calls"]
    ]
    assert {"sum": 7} == steps[1]["observations"][0]["content"]
    assert "seven" == trial["trajectory"]["final_output"]
    assert walk.trial("recorded", "c0")["trajectory"]["steps"][1]["usage"] == steps[1]["usage"]


def test_no_key_and_no_model_are_refused_before_anything_runs(walk: Walk, models: ModelServer) -> None:
    for asked in ("model", "model,record"):
        assert "WALK_KEY" in walk("run", "s", "--live", asked, *LOCAL, status=2, env={"WALK_KEY": ""}).stderr
    suite = walk.folder / "suites/s/suite.yaml"
    suite.write_text(suite.read_text().partition("model:")[0])
    assert "`model: " in walk("run", "s", "--live", "model", *LOCAL, status=2).stderr
    assert [] == models.seen
    assert not (walk.folder / "runs").exists()


@pytest.mark.slow
def test_without_a_recording_a_trial_is_inconclusive(walk: Walk, models: ModelServer) -> None:
    walk("run", "s", "--run-name", "missed", *LOCAL, status=1)
    assert "chat small-1" in walk("report", "missed", "--all").stdout
    assert "inconclusive" == walk.trial("missed", "c0")["outcome"]
    assert [] == models.seen


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "reason", "run"),
    [
        (("--budget", "tokens=300"), "budget: 330 of 300 tokens spent", 1),
        (("--budget", "usd=0.5"), "budget: 0.5500 of 0.5 USD spent", 2),
    ],
)
def test_a_budget_stops_the_run_and_what_is_left_was_not_run(
    walk: Walk, models: ModelServer, option: tuple[str, str], reason: str, run: int
) -> None:
    words = ("run", "s", "--live", "model", "--run-name", "short", *option, *LOCAL)
    summary = walk.summary(*words, status=3, env=WITH_KEY)

    assert (run, 4 - run, 0) == tuple(summary["counts"][name] for name in ("finished", "not_run", "limit_reached"))
    assert {reason} == {one["reason"] for one in summary["unmeasured"]}
    assert f"not run: {reason}" in walk("report", "short").stdout
    assert KEY not in "".join(path.read_text(errors="replace") for path in walk.folder.rglob("*") if path.is_file())
    whole = walk.summary("run", "--resume", "short", *LOCAL[2:], env=WITH_KEY)
    assert (4, 0) == (whole["counts"]["finished"], whole["counts"]["not_run"])


@pytest.mark.slow
def test_a_case_may_limit_tokens(walk: Walk, models: ModelServer) -> None:
    cases = walk.folder / "suites/s/cases.yaml"
    cases.write_text("- {id: c0, task: Add three and four., limits: {tokens: 100}}\n")
    walk("run", "s", "--live", "model", "--run-name", "limited", *LOCAL, env=WITH_KEY)
    trial = walk.trial("limited", "c0")
    assert ("limit_reached", "100 tokens") == (trial["outcome"], trial["reason"])


@pytest.mark.slow
@pytest.mark.docker
def test_a_sealed_agent_reaches_its_model_through_the_gateway_alone(walk: Walk, models: ModelServer) -> None:
    walk("record", "s", "--case", "c0", env=WITH_KEY)
    walk("cassette", "check", "s")
    replayed = walk.summary("run", "s", "--case", "c0", "--run-name", "sealed")
    assert (1, "replay") == (replayed["success"]["successes"], replayed["manifest"]["model_mode"])
    assert {"exact": 2} == replayed["model_tiers"]
