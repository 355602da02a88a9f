"""A case from a trace is proven on the spot: the failed trial fails it, a trial that succeeded passes it."""

import json

import pytest
import yaml

from harness.suite.loading import load_suite
from tests.walks.conftest import Walk, WriteSuite


def conversation(case: str, reward: float, calls: list[tuple[str, dict[str, object], str]], last: str) -> str:
    """One line of somebody else's log."""
    messages: list[dict[str, object]] = [{"role": "user", "content": "Is the lamp there?"}]
    for number, (name, arguments, answer) in enumerate(calls):
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": answer})
    messages.append({"role": "assistant", "content": last})
    return json.dumps({"messages": messages, "task_id": case, "reward": reward})


LOOK = ("get_stock", {"sku": "lamp"}, '{"left": 2}')
SUITE = """
servers: {shop: {base_url: "http://127.0.0.1:9"}}
tools:
  - name: get_stock
    server: shop
    effect: read
    http: {method: GET, path: "/stock/{sku}"}
    parameters: {type: object, properties: {sku: {type: string}}, required: [sku]}
limits: {steps: 30}
cases: [cases.yaml, regressions.yaml]
"""


@pytest.fixture
def shop(walk: Walk, write_suite: WriteSuite) -> Walk:
    """A failed trial that asks the same eight times, and in another run one that succeeded by asking twice."""
    write_suite(SUITE, "- {id: hello, task: Hello.}\n", {"main.py": ""})
    (walk.folder / "suites" / "s" / "regressions.yaml").write_text("- {id: bye, task: Bye.}\n", encoding="utf-8")
    for name, reward, calls in (("good", 1.0, [LOOK, LOOK]), ("bad", 0.0, [LOOK] * 8)):
        log = walk.folder / f"{name}.jsonl"
        log.write_text(conversation("lamps", reward, calls, "Two are left.") + "\n", encoding="utf-8")
        walk("import", "openai-chat", str(log), "--run-name", name)
    return walk


def drafted(walk: Walk) -> dict[str, object]:
    cases = yaml.safe_load((walk.folder / "suites" / "s" / "regressions.yaml").read_text(encoding="utf-8"))
    found: dict[str, object] = cases[-1]
    return found


def test_the_diagnosed_failure_becomes_a_check_that_the_failed_trial_fails_and_another_passes(shop: Walk) -> None:
    done = shop("case", "from-trace", "bad", "lamps", "--suite", "s")
    assert "the trial it was made from fails it" in done.stdout
    assert "good/lamps/1, which succeeded, passes it" in done.stdout
    checks = drafted(shop)["checks"]
    assert [{"failure": "loop_trap", "kinds": ["repeated_call"]}] == [one["with"] for one in checks]


@pytest.mark.slow
def test_a_fix_that_needs_more_than_the_failed_trial_used_is_not_punished(shop: Walk) -> None:
    log = shop.folder / "early.jsonl"
    log.write_text(conversation("lamps", 0.0, [], "I have looked: two are left.") + "\n", encoding="utf-8")
    shop("import", "openai-chat", str(log), "--run-name", "early")
    shop("case", "from-trace", "early", "lamps", "--suite", "s", status=1)
    # Nothing was diagnosed, so no check shows the failure: that is said, and the limits are the suite's own.
    assert 30 == load_suite(shop.folder, "s").cases[-1].limits.steps


@pytest.mark.slow
def test_a_check_that_a_successful_trial_would_fail_is_left_out_and_the_case_is_not_proven(shop: Walk) -> None:
    log = shop.folder / "lucky.jsonl"
    log.write_text(conversation("lamps", 1.0, [LOOK] * 8, "Two are left.") + "\n", encoding="utf-8")
    shop("import", "openai-chat", str(log), "--run-name", "lucky")
    done = shop("case", "from-trace", "bad", "lamps", "--suite", "s", status=1)
    assert "no_loop_trap is omitted: lucky/lamps/1 succeeded with the same finding" in done.stderr
    assert "not verified" in done.stderr
    assert "checks" not in drafted(shop)


@pytest.mark.slow
def test_without_a_successful_trial_it_says_so(shop: Walk) -> None:
    log = shop.folder / "alone.jsonl"
    log.write_text(conversation("desks", 0.0, [LOOK] * 8, "Two are left.") + "\n", encoding="utf-8")
    shop("import", "openai-chat", str(log), "--run-name", "alone")
    done = shop("case", "from-trace", "alone", "desks", "--suite", "s")
    assert "no stored trial succeeded" in done.stdout
