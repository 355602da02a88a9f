"""Calls that a model asked for together: a program may make them in any order, and others may lie between them."""

from collections.abc import Iterator

import pytest

from harness.improve.blame import BlameRequest, CauseSearch
from harness.improve.forks import ForkChange, variant_at
from harness.improve.subject import open_subject_of
from harness.runs.execution.variants import VariantBench, VariantRequest, open_variants
from harness.runs.plan.plan import RunOptions
from harness.runs.plan.planning import plan_of
from harness.scoring.evidence import fed_calls
from harness.suite.interventions import CallEdit, Intervention, Invocation, TrialVariant
from tests.gateway.models.model_server import ModelServer, Thought, serve_models
from tests.walks.conftest import Walk, WriteSuite, walk, write_suite

__all__ = ["walk", "write_suite"]

AGENT = """\
import json, os, sys, urllib.request

def post(url, body):
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    return json.loads(urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).read())

def ask(messages):
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    return post(url, {"model": "small-1", "messages": messages})["choices"][0]["message"]

messages = [{"role": "user", "content": "Write both down."}]
while True:
    message = ask(messages)
    messages.append(message)
    calls = message.get("tool_calls") or []
    if not calls:
        break
    given = {}
    for call in calls:
        function = call["function"]
        url = os.environ["HARNESS_GATEWAY_URL"] + "/tools/" + function["name"]
        given[call["id"]] = json.dumps(post(url, json.loads(function["arguments"])))
    messages += [{"role": "tool", "tool_call_id": call["id"], "content": given[call["id"]]} for call in calls]
post(os.environ["HARNESS_GATEWAY_URL"] + "/reply", {"message": message["content"]})
"""
TOOLS = """\
def note(text: str) -> dict:
    return {"noted": text}
"""
SUITE = """\
tools:
  - {{python: tools.py, writes: [note], disposable: true, double: true}}
checks:
  - {{name: once, verifier: rules, with: {{rules: ["note at most 2 times"]}}}}
model: {{base_url: "{url}", api_key: WALK_KEY}}
"""
CASES = "- {id: both, task: Write both down.}\n"
LOCAL = ("--sandbox", "local", "--jobs", "1")
KEY = {"WALK_KEY": "sk-walk-0123456789abcdef"}


def think(results: list[str]) -> Thought:
    asked = (("note", {"text": "eggs"}), ("note", {"text": "ham"}))
    return Thought("Both are noted.") if results else Thought("I note both.", asked)


@pytest.fixture
def models(write_suite: WriteSuite, walk: Walk) -> Iterator[ModelServer]:
    with serve_models() as server:
        server.think = think
        write_suite(SUITE.format(url=server.url), CASES, {"main.py": AGENT})
        (walk.folder / "suites" / "s" / "tools.py").write_text(TOOLS)
        walk("tool", "refresh", "s")
        walk("run", "s", "--live", "all,record", "--run-name", "r", *LOCAL, env=KEY)
        yield server


@pytest.fixture
def bench(walk: Walk, models: ModelServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[VariantBench]:
    monkeypatch.setenv("WALK_KEY", KEY["WALK_KEY"])
    options = RunOptions(suite="s", tools="live", model="replay", sandbox="local", jobs=1)
    with open_variants(plan_of(walk.folder, options), lambda _: None) as opened:
        yield opened


@pytest.mark.slow
def test_a_call_that_was_made_between_them_is_the_cause(walk: Walk, bench: VariantBench) -> None:
    case = bench.suite.cases[0]
    twice = CallEdit(at=1, kind="before", calls=(Invocation(tool="note", arguments={"text": "eggs"}),))
    doubled = TrialVariant(interventions=(Intervention(step=1, words="note is called twice", edits=(twice,)),))
    plain, failed = bench.run([VariantRequest(case=case), VariantRequest(case=case, variant=doubled)])
    assert (True, False) == (plain.success, failed.success)
    subject = open_subject_of(walk.folder, bench.keep([failed]), "both", 1)
    calls = fed_calls(subject.trial)
    assert ["eggs", "eggs", "ham"] == [(call.arguments or {})["text"] for call in calls]
    found = CauseSearch(subject, BlameRequest(repeats=1, passing=plain.scored.trial), bench).run()
    assert found.cause is not None, found
    assert ((calls[1].step,), ("needless_write",)) == (found.cause.steps, found.cause.kinds)


@pytest.mark.slow
def test_calls_of_one_reply_may_come_in_another_order(walk: Walk, bench: VariantBench) -> None:
    case = bench.suite.cases[0]
    (plain,) = bench.run([VariantRequest(case=case)])
    subject = open_subject_of(walk.folder, bench.keep([plain]), "both", 1)
    last = subject.trial.trajectory.steps[-1].index
    variant = variant_at(subject, last, ForkChange())
    turned = variant.model_copy(update={"fed": tuple(reversed(variant.fed))})
    apart = variant.model_copy(
        update={"fed": tuple(c.model_copy(update={"step": n}) for n, c in enumerate(turned.fed))}
    )
    fork, other = bench.run([VariantRequest(case=case, variant=one) for one in (turned, apart)])
    assert subject.trial.trajectory.digest == fork.scored.trial.trajectory.digest
    assert "the replay differs" in (other.scored.trial.reason or "")
