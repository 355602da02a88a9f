"""Calls stand where they crossed the gateway, whatever a model's reply or a span says about them."""

import json
import socket
import time
from collections.abc import Callable
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
from tests.gateway.models.model_server import Thought

LOOK, ADD = ("look", {"q": "egg"}), ("add", {"item": "egg"})
REFERENCE = [
    {"id": "policy", "tool": "look", "arguments": {"q": "egg"}},
    {"id": "refund", "tool": "add", "arguments": {"item": "egg"}, "after": ["policy"]},
]
CHECKS = {mode: ("trajectory", {"mode": mode}) for mode in ("strict", "ordered", "dag")}
CHECKS["rules"] = ("rules", {"rules": ["look before add"]})
ASKED = {"model": "small-1", "messages": [{"role": "user", "content": "Eggs?"}]}
ACTS: dict[str, Callable[[Any], Any]] = {
    "model": lambda agent: agent.ask("POST", "/v1/chat/completions", ASKED),
    "turn": lambda agent: agent.ask("GET", "/turn"),
    "reply": lambda agent: agent.ask("POST", "/reply", {"message": "One egg?"}),
    "look": lambda agent: agent.call(LOOK[0], **LOOK[1]),
    "add": lambda agent: agent.call(ADD[0], **ADD[1]),
    "order": lambda agent: agent.call("order"),
}


@pytest.fixture
def acted(play: Any, models: Any) -> Callable[..., Trajectory]:
    """What an agent did, in these words, while its model thought so."""

    def act(words: str, *thoughts: Thought) -> Trajectory:
        left = list(thoughts)
        models.think = lambda results: left.pop(0)
        loop = lambda agent: [ACTS[word](agent) for word in words.split()]  # noqa: E731
        return trajectory_from(play("live", loop, model="live").spans)

    return act


def trial_of(trajectory: Trajectory) -> Trial:
    return Trial(case_id="c", attempt=1, outcome="finished", trajectory=trajectory)


def verdicts(trajectory: Trajectory, suite: Suite, checks: dict[str, Any]) -> dict[str, bool | None]:
    named = [
        CheckSpec.model_validate({"name": name, "verifier": verifier, "with": given})
        for name, (verifier, given) in checks.items()
    ]
    case = Case.model_validate({"id": "c", "task": "Eggs?", "reference": REFERENCE})
    case = case.model_copy(update={"checks": tuple(named)})
    evidence = Evidence(case=case, trial=trial_of(trajectory), tools=suite.tools)
    card = score_trial(evidence, suite.model_copy(update={"cases": (case,)}))
    return {verdict.check: verdict.passed for verdict in card.verdicts}


@pytest.mark.parametrize(
    ("words", "thoughts"),
    [
        ("model add look", [Thought(None, (LOOK, ADD))]),
        ("model model add look", [Thought(None, (LOOK,)), Thought(None, (ADD,))]),
        ("model turn add reply look model", [Thought("I look.", (LOOK,)), Thought("Done.")]),
    ],
)
def test_a_check_that_is_named_first_and_made_last_came_last(acted, suite, words: str, thoughts) -> None:
    trajectory = acted(words, *thoughts)

    assert [("add", "observed"), ("look", "observed")] == [(call.name, call.evidence) for call in trajectory.calls]
    assert dict.fromkeys(CHECKS, False) == verdicts(trajectory, suite, CHECKS)


def test_an_agent_that_asks_its_user_before_it_acts_has_asked_before(acted, suite) -> None:
    trajectory = acted("turn model reply add look model", Thought("One egg?", (ADD, LOOK)), Thought("Done."))

    shown = [(step.message, [call.name for call in step.calls], step.asked_in) for step in trajectory.steps]
    assert [("One egg, please.", [], None), (None, [], None), ("One egg?", [], None)] == shown[:3]
    assert [(None, ["add", "look"], 1), ("Done.", [], None)] == shown[3:]
    checks = {"rules": ("rules", {"rules": ["reply before add"]}), "iterations": ("max_iterations", {"limit": 3})}
    assert dict.fromkeys(checks, True) == verdicts(trajectory, suite, checks)
    read = conversation_of("t", spans_of(trial_of(trajectory)))  # and so it is after it was exported
    assert read is not None
    assert unattributed(trajectory).steps == read.trajectory.steps


def test_narration_beside_a_call_that_crosses_later_is_no_reply(acted, suite) -> None:
    trajectory = acted("model order add", Thought("I add one.", (ADD,)))

    assert {"rules": False} == verdicts(trajectory, suite, {"rules": ("rules", {"rules": ["reply before add"]})})
    assert "I add one." in [step.thought for step in trajectory.steps]


def test_calls_that_never_cross_stay_at_the_reply_that_names_them_and_are_marked(acted) -> None:
    named = (("shell", {}), LOOK, ("shell", {"n": 1}), ADD)
    step = acted("model add look model", Thought(None, named), Thought("Done.")).steps[1]

    assert ["shell", "add", "look", "shell"] == [call.name for call in step.calls]
    assert ["self_reported", "observed", "observed", "self_reported"] == [call.evidence for call in step.calls]


def test_a_model_request_crosses_when_all_of_it_is_here(play) -> None:
    """Its head alone, sent before a call, does not put the reply before the call."""

    def order(agent: Any) -> None:
        body = json.dumps(ASKED).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nContent-Length: {len(body)}\r\n\r\n"
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(agent.path))
            connection.sendall(head.encode() + body[:10])
            time.sleep(0.2)
            ACTS["order"](agent)
            connection.sendall(body[10:])
            assert connection.recv(100).startswith(b"HTTP/1.1 200")

    steps = trajectory_from(play("live", order, model="live").spans).steps
    assert ["order"] == [call.name for call in steps[0].calls]
