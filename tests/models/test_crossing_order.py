"""Calls stand where they crossed the gateway, whatever a model's reply or a span says about them."""

import json
import socket
import time
from typing import Any

import pytest

from harness.runs.foreign_runs import conversation_of
from harness.scoring.evidence import Evidence
from harness.scoring.scorer import score_trial
from harness.suite.cases import Case, CheckSpec
from harness.suite.suites import Suite
from harness.traces.projection import trajectory_from
from harness.traces.spans import spans_of
from harness.traces.trajectory import Trajectory, unattributed
from harness.traces.trial import Trial
from tests.models.model_server import ModelServer, Thought

LOOK, ADD = ("look", {"q": "egg"}), ("add", {"item": "egg"})
REFERENCE = [
    {"id": "policy", "tool": "look", "arguments": {"q": "egg"}},
    {"id": "refund", "tool": "add", "arguments": {"item": "egg"}, "after": ["policy"]},
]
MODES = ("strict", "ordered", "dag", "superset")
CHECKS = [{"name": mode, "verifier": "trajectory", "with": {"mode": mode}} for mode in MODES[:3]]
CHECKS += [{"name": "rules", "verifier": "rules", "with": {"rules": ["look before add", "never look after add"]}}]


def ask_model(agent: Any, *results: str) -> None:
    told = [{"role": "tool", "tool_call_id": f"c{place}", "content": text} for place, text in enumerate(results)]
    messages = [{"role": "user", "content": "Eggs?"}, *told]
    assert 200 == agent.ask("POST", "/v1/chat/completions", {"model": "small-1", "messages": messages})[0]


def thoughts(*said: Thought) -> Any:
    left = list(said)
    return lambda results: left.pop(0)


def make(agent: Any, *calls: tuple[str, dict[str, str]]) -> None:
    for name, arguments in calls:
        agent.call(name, **arguments)


def verdicts(trajectory: Trajectory, suite: Suite, checks: list[dict[str, Any]]) -> dict[str, bool | None]:
    trial = Trial(case_id="c", attempt=1, outcome="finished", trajectory=trajectory)
    case = Case.model_validate({"id": "c", "task": "Eggs?", "reference": REFERENCE})
    case = case.model_copy(update={"checks": tuple(map(CheckSpec.model_validate, checks))})
    card = score_trial(Evidence(case=case, trial=trial, tools=suite.tools), suite.model_copy(update={"cases": (case,)}))
    return {verdict.check: verdict.passed for verdict in card.verdicts}


def in_one_reply(agent: Any, models: ModelServer) -> None:
    """Both are named at once, the check first."""
    models.think = thoughts(Thought(None, (LOOK, ADD)))
    ask_model(agent)
    make(agent, ADD, LOOK)


def in_two_replies(agent: Any, models: ModelServer) -> None:
    """The policy is named first, and looked at last."""
    models.think = thoughts(Thought(None, (LOOK,)), Thought(None, (ADD,)))
    ask_model(agent)
    ask_model(agent, "{}")
    make(agent, ADD, LOOK)


def beside_a_turn(agent: Any, models: ModelServer) -> None:
    models.think = thoughts(Thought("I look.", (LOOK,)), Thought("Done."))
    ask_model(agent)
    agent.ask("GET", "/turn")
    make(agent, ADD)
    agent.ask("POST", "/reply", {"message": "Refunded."})
    make(agent, LOOK)
    ask_model(agent, "{}")


@pytest.mark.parametrize("forge", [in_one_reply, in_two_replies, beside_a_turn])
def test_a_check_that_is_named_first_and_made_last_came_last(play, suite, models, forge) -> None:
    trajectory = trajectory_from(play("live", lambda agent: forge(agent, models), model="live").spans)

    assert ["add", "look"] == [call.name for call in trajectory.calls]
    assert {"observed"} == {call.evidence for call in trajectory.calls}
    told = verdicts(trajectory, suite, CHECKS)
    assert {"strict": False, "ordered": False, "dag": False, "rules": False} == told


def test_an_agent_that_asks_its_user_before_it_acts_has_asked_before(play, suite, models) -> None:
    def order(agent: Any) -> None:
        models.think = thoughts(Thought("One egg?", (ADD, LOOK)), Thought("Done."))
        agent.ask("GET", "/turn")
        ask_model(agent)
        agent.ask("POST", "/reply", {"message": "One egg?"})
        make(agent, ADD, LOOK)
        ask_model(agent, "{}", "{}")

    trajectory = trajectory_from(play("live", order, model="live").spans)

    assert [
        ("One egg, please.", []), (None, []), ("One egg?", []), (None, ["add", "look"]), ("Done.", [])
    ] == [(step.message, [call.name for call in step.calls]) for step in trajectory.steps]  # fmt: skip
    assert [None, None, None, 1, None] == [step.asked_in for step in trajectory.steps]
    checks = [
        {"name": "rules", "verifier": "rules", "with": {"rules": ["reply before add"]}},
        {"name": "iterations", "verifier": "max_iterations", "with": {"limit": 3}},
    ]
    assert {"rules": True, "iterations": True} == verdicts(trajectory, suite, checks)


def test_narration_beside_a_call_that_crosses_later_is_no_reply(play, suite, models) -> None:
    def order(agent: Any) -> None:
        models.think = thoughts(Thought("I add one.", (ADD,)))
        ask_model(agent)
        agent.call("order")
        make(agent, ADD)

    trajectory = trajectory_from(play("live", order, model="live").spans)

    rules = [{"name": "rules", "verifier": "rules", "with": {"rules": ["reply before add"]}}]
    assert {"rules": False} == verdicts(trajectory, suite, rules)
    assert "I add one." in [step.thought for step in trajectory.steps]


def test_calls_that_never_cross_stay_at_the_reply_that_names_them_and_are_marked(play, models) -> None:
    def order(agent: Any) -> None:
        models.think = thoughts(Thought(None, (("shell", {}), LOOK, ("shell", {"n": 1}), ADD)), Thought("Done."))
        ask_model(agent)
        make(agent, ADD, LOOK)
        ask_model(agent)

    trajectory = trajectory_from(play("live", order, model="live").spans)

    assert [
        ("shell", "self_reported"), ("add", "observed"), ("look", "observed"), ("shell", "self_reported")
    ] == [(call.name, call.evidence) for call in trajectory.steps[1].calls]  # fmt: skip


def test_a_model_request_crosses_when_all_of_it_is_here(play, models) -> None:
    """Its head alone, sent before a call, does not put the reply before the call."""
    models.think = thoughts(Thought("I looked first."))

    def order(agent: Any) -> None:
        body = json.dumps({"model": "small-1", "messages": [{"role": "user", "content": "Eggs?"}]}).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nContent-Length: {len(body)}\r\n\r\n"
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(agent.path))
            connection.sendall(head.encode() + body[:10])
            time.sleep(0.2)
            make(agent, LOOK)
            connection.sendall(body[10:])
            assert connection.recv(100).startswith(b"HTTP/1.1 200")

    steps = trajectory_from(play("live", order, model="live").spans).steps
    assert [["look"], [], []] == [[call.name for call in step.calls] for step in steps]


def test_the_place_of_a_late_call_is_stored_and_exported(play, models) -> None:
    record = play("live", lambda agent: in_two_replies(agent, models), model="live")
    trajectory = trajectory_from(record.spans)
    trial = Trial(case_id="c", attempt=1, outcome="finished", trajectory=trajectory)

    assert [None, None, None, 1] == [step.asked_in for step in trajectory.steps]
    read = conversation_of("trial", spans_of(trial))
    assert read is not None
    assert unattributed(trajectory).steps == read.trajectory.steps
