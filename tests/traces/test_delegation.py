"""Calls by which one agent runs another are not calls of the suite's tools."""

from harness.scoring.evidence import Evidence
from harness.scoring.findings.facts import diagnose
from harness.suite.cases import Case
from harness.suite.tools import ToolSpec
from harness.traces.trajectory import Step, ToolCall, Trajectory, with_delegations
from harness.traces.trial import Trial


def step(index: int, agent: str, *calls: ToolCall, parent: int | None = None) -> Step:
    return Step(index=index, source="agent", agent=agent, calls=calls, parent=parent, model="m")


def call(name: str, evidence: str = "self_reported") -> ToolCall:
    return ToolCall.model_validate({"id": name, "name": name, "arguments": {}, "evidence": evidence})


def test_a_call_that_runs_an_agent_names_it():
    first, _ = with_delegations([step(0, "boss", call("ask_search")), step(1, "search", parent=0)])
    assert [one.delegated_to for one in first.calls] == ["search"]


def test_of_several_calls_the_one_with_the_agents_name_does():
    calls = call("cart_agent"), call("made_up"), call("search_agent")
    first, *_ = with_delegations([step(0, "boss", *calls), step(1, "search", parent=0), step(2, "cart", parent=0)])
    assert [one.delegated_to for one in first.calls] == ["cart", None, "search"]


def test_what_the_gateway_answered_and_what_ran_nobody_is_no_delegation():
    steps = [step(0, "boss", call("get_cart", "observed"), call("b", "observed")), step(1, "search", parent=0)]
    assert [one.delegated_to for one in with_delegations(steps)[0].calls] == [None, None]
    assert with_delegations([step(0, "boss", call("made_up"))])[0].calls[0].delegated_to is None


def test_a_delegation_is_no_invented_tool():
    tools = (ToolSpec.model_validate({"name": "get_cart", "server": "s", "http": {"path": "/cart"}}),)

    def found(*steps: Step) -> int:
        trajectory = Trajectory(trace_id="t", agent="boss", steps=with_delegations(steps))
        trial = Trial(case_id="c", attempt=1, outcome="finished", trajectory=trajectory)
        evidence = Evidence(case=Case(id="c", task="x"), trial=trial, tools=tools)
        return len(diagnose(evidence)) + len(evidence.made_calls)

    assert found(step(0, "boss", call("ask_search")), step(1, "search", parent=0)) == 0
    assert found(step(0, "boss", call("ask_search"))) == 2
