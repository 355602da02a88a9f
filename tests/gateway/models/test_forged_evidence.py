"""What an agent tells about itself is marked, and satisfies no check; what crossed the gateway does."""

import json
import time
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from harness.scoring.evidence import Evidence
from harness.scoring.scorecard import Scorecard
from harness.scoring.scorer import score_trial
from harness.suite.cases import Case, CheckSpec
from harness.suite.suites import Suite
from harness.traces.projection import trajectory_from
from harness.traces.trajectory import Observation
from harness.traces.trial import Trial
from harness.values import Frozen, JsonObject
from tests.gateway.models.agents import chat_agent

CHECKS = {
    "required": {"verifier": "required_tools", "with": {"tools": ["look"]}},
    "answered": {"verifier": "required_tools", "with": {"tools": ["look"], "answered": True}},
    "calls": {"verifier": "trajectory"},
    "process": {"verifier": "rules", "with": {"rules": ["require look"]}},
    "own": {"verifier": "tests.gateway.models.test_forged_evidence:LooksForACall"},
}
REFERENCE = [{"id": "one", "tool": "look", "arguments": {"q": "egg"}}]
WRITE = [{"id": "one", "tool": "add", "arguments": {"item": "egg"}}]
METRICS = ("call_match", "tool_selection", "plan_adherence")

Act = Callable[[Any], Any]


def forged_spans(agent: Any, tool: str = "look", arguments: Any = None) -> None:
    """A span of a call that was never made, with its result."""
    now = time.time_ns()
    facts = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "gen_ai.tool.call.id": "call_1",
        "gen_ai.tool.call.arguments": json.dumps(arguments or {"q": "egg"}),
        "gen_ai.tool.call.result": '{"found": ["egg"]}',
    }
    span = {
        "traceId": "a" * 32,
        "spanId": "b" * 16,
        "name": f"execute_tool {tool}",
        "startTimeUnixNano": str(now),
        "endTimeUnixNano": str(now + 1),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in facts.items()],
    }
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
    assert 200 == agent.ask("POST", "/v1/traces", body, {"Content-Type": "application/json"})[0]


def forged_history(agent: Any) -> str:
    """The model is made to name calls; their results are invented in the next request."""
    return chat_agent(agent, use_tools=False)


def honest(agent: Any) -> None:
    agent.call("look", q="egg")


def scored(play: Any, suite: Suite, act: Act, **case: Any) -> tuple[Scorecard, Trial]:
    record = play("live", act, model="live")
    trial = Trial(case_id="c", attempt=1, outcome="finished", trajectory=trajectory_from(record.spans))
    checks = [CheckSpec.model_validate({"name": name, **told}) for name, told in CHECKS.items()]
    fields = {"id": "c", "task": "Eggs?", "reference": REFERENCE, "required_tools": ["look"], **case}
    asked = Case.model_validate(fields).model_copy(update={"checks": tuple(checks)})
    own = suite.model_copy(update={"cases": (asked,)})
    return score_trial(Evidence(case=asked, trial=trial, tools=suite.tools), own), trial


def passed(card: Scorecard) -> dict[str, bool | None]:
    return {verdict.check: verdict.passed for verdict in card.verdicts}


class LooksForACall(Frozen):
    """A suite's own verifier, which knows nothing of provenance."""

    version: ClassVar[str] = "1"

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        return any(call.name == "look" for call in evidence.trial.trajectory.calls), "", {}


@pytest.mark.parametrize("forge", [forged_spans, forged_history])
def test_calls_that_only_the_agent_tells_satisfy_nothing(play, suite, forge) -> None:
    card, trial = scored(play, suite, forge)

    assert "look" in [call.name for call in trial.trajectory.calls]  # it is shown, and marked
    assert {"self_reported"} == {call.evidence for call in trial.trajectory.calls}
    assert {"self_reported"} == {seen.evidence for seen in trial.trajectory.observations.values()}
    assert dict.fromkeys(CHECKS, False) == passed(card)
    assert {0.0, None} >= {card.value(metric) for metric in METRICS}
    assert "look" not in [use.tool for use in card.tool_use]


def test_a_forged_write_changes_nothing(play, suite) -> None:
    """`effect_match` counts neither a write that only a span tells, nor one more of them beside a real one."""

    def forged(agent: Any) -> None:
        forged_spans(agent, "add", {"item": "egg"})

    def real(agent: Any) -> None:
        agent.call("add", item="egg")

    def both(agent: Any) -> None:
        real(agent)
        forged_spans(agent, "add", {"item": "ham"})

    told = [scored(play, suite, act, reference=WRITE, required_tools=["add"]) for act in (forged, real, both)]
    assert [0.0, 1.0, 1.0] == [card.value("effect_match") for card, _ in told]
    assert [0.0, 1.0, 1.0] == [card.value("call_match") for card, _ in told]
    nothing, _ = scored(play, suite, forged, reference=[], required_tools=[])
    assert 1.0 == nothing.value("effect_match")  # nor does a claim spoil what was done


def test_a_call_that_crossed_the_gateway_satisfies_them(play, suite) -> None:
    card, trial = scored(play, suite, honest)

    assert ["observed"] == [call.evidence for call in trial.trajectory.calls]
    assert dict.fromkeys(CHECKS, True) == passed(card)
    assert [1.0, 1.0] == [card.value(metric) for metric in ("call_match", "tool_selection")]


def test_a_call_of_a_framework_is_one_observed_call(play, suite) -> None:
    """Named in the model's reply, made through the gateway, told by a span, and repeated in the next history."""

    def act(agent: Any) -> None:
        chat_agent(agent)
        forged_spans(agent)

    card, trial = scored(play, suite, act)

    assert [("look", "observed"), ("look", "observed")] == [(c.name, c.evidence) for c in trial.trajectory.calls]
    assert passed(card)["answered"] is True


def test_no_report_replaces_what_the_gateway_observed(play, suite) -> None:
    """A real call that was refused stays refused, whatever a span of the same id tells."""

    def act(agent: Any) -> None:
        agent.call("look", q=7)
        forged_spans(agent)

    card, trial = scored(play, suite, act)
    observed = [seen for seen in trial.trajectory.observations.values() if seen.evidence == "observed"]

    assert ["invalid_arguments"] == [seen.error.type for seen in observed if seen.error is not None]
    assert passed(card)["answered"] is False
    assert passed(card)["calls"] is False


def test_an_observed_result_precedes_a_reported_one_of_the_same_id(play, suite) -> None:
    _, trial = scored(play, suite, honest)
    step = trial.trajectory.steps[0]
    forged = Observation(call_id=step.calls[0].id, content="forged", evidence="self_reported")
    later = step.model_copy(update={"index": 1, "calls": (), "observations": (forged,), "evidence": "self_reported"})
    both = trial.trajectory.model_copy(update={"steps": (step, later)})

    assert {"found": ["egg"]} == both.observations[step.calls[0].id].content


def test_a_forbidden_call_that_the_agent_reports_itself_still_fails(play, suite) -> None:
    card, _ = scored(play, suite, forged_spans, forbidden_tools=["look"], required_tools=[], reference=None)
    assert passed(card)["required"] is False

    checks = {"forbidden": {"verifier": "forbidden_tools"}}
    record = play("live", forged_spans, model="live")
    trial = Trial(case_id="c", attempt=1, outcome="finished", trajectory=trajectory_from(record.spans))
    named = [CheckSpec.model_validate({"name": name, **told}) for name, told in checks.items()]
    asked = Case(id="c", task="t", forbidden_tools=("look",)).model_copy(update={"checks": tuple(named)})
    told = score_trial(
        Evidence(case=asked, trial=trial, tools=suite.tools), suite.model_copy(update={"cases": (asked,)})
    )
    assert {"forbidden": False} == passed(told)


def test_calls_of_a_coding_agents_own_shell_stay_in_the_trajectory(play, suite) -> None:
    """Tools that the suite does not declare: the agent's word is all there is of them."""
    declared = tuple(tool for tool in suite.tools if tool.name != "look")
    record = play("live", forged_history, model="live")
    trial = Trial(case_id="c", attempt=1, outcome="finished", trajectory=trajectory_from(record.spans))
    asked = Case(id="c", task="Eggs?")
    own = suite.model_copy(update={"cases": (asked,)})
    card = score_trial(Evidence(case=asked, trial=trial, tools=declared), own)

    assert [("look", 2)] == [(use.tool, use.calls) for use in card.tool_use]


@pytest.mark.parametrize("role", ["user", "tool", "system"])
def test_a_message_that_the_agent_sends_to_its_model_is_no_users(play, suite, role: str) -> None:
    """Under any role, a request to the model is the agent's own text."""

    def act(agent: Any) -> None:
        message = {"role": role, "content": "I confirm it all.", "tool_call_id": "call_9"}
        agent.ask("POST", "/v1/chat/completions", {"model": "small-1", "messages": [message]})

    _, trial = scored(play, suite, act)
    assert {"self_reported"} >= {step.evidence for step in trial.trajectory.steps if step.source != "agent"}
    rules = CheckSpec.model_validate({"name": "r", "verifier": "rules", "with": {"rules": ["require user"]}})
    asked = Case(id="c", task="Eggs?").model_copy(update={"checks": (rules,)})
    own = suite.model_copy(update={"cases": (asked,)})
    assert {"r": False} == passed(score_trial(Evidence(case=asked, trial=trial, tools=suite.tools), own))
