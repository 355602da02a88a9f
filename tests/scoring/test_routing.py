"""The metric `routing`: the expected sub-agents for each turn."""

import pytest

from harness.scoring.evidence import Evidence
from harness.scoring.metrics.calls import Routing
from harness.scoring.metrics.efficiency import Turns
from harness.suite.cases import Case
from harness.traces.trajectory import Step, Trajectory
from harness.traces.trial import Trial

ROUTES = [
    {"when": 1, "agents": ["search", "cart"]},
    {"when": "wine", "agents": ["search"]},
    {"when": "bye", "agents": []},
]


def measured(*turns: tuple[str, str], routes=ROUTES) -> tuple[float | None, str]:
    """(message, sub-agents) of each turn; the orchestrator acts first and last in each."""
    steps: list[Step] = []
    for message, agents in turns:
        steps.append(Step(index=len(steps), source="user", message=message))
        for agent in ("orchestrator", *agents.split(), "orchestrator"):
            steps.append(Step(index=len(steps), source="agent", agent=agent, model="m", message="x"))
    trajectory = Trajectory(trace_id="t", agent="shopper", steps=tuple(steps))
    trial = Trial(case_id="c", attempt=1, outcome="finished", trajectory=trajectory)
    case = Case.model_validate({"id": "c", "task": "x", "routes": routes})
    return Routing().measure(Evidence(case=case, trial=trial, tools=()))


@pytest.mark.parametrize(
    ("turns", "value"),
    [
        ([("Risotto.", "search cart")], 1.0),
        ([("Risotto.", "cart search search")], 1.0),
        ([("Risotto.", "preferences search cart")], 0.5),
        ([("Risotto.", "search")], 0.0),
        ([("Risotto.", "")], 0.0),
        ([("Risotto.", "search cart"), ("Add a WINE.", "search cart")], 0.75),
        ([("Risotto.", "search cart"), ("Bye.", "")], 1.0),
        ([("Risotto.", "search cart"), ("Bye.", "cart")], 0.5),
        ([("Risotto.", "search cart"), ("Something else.", "cart")], 1.0),
    ],
)
def test_each_turn_is_compared_with_its_route(turns, value):
    assert measured(*turns)[0] == value


def test_what_went_wrong_is_told_by_turn():
    _, words = measured(("Risotto.", "preferences search cart"), ("Wine.", "cart"))
    assert "1 rerouted" in words
    assert "turn 2: expected search, acted cart" in words
    assert "1 of 1 turns went to the expected agents only" == measured(("Risotto.", "search cart"))[1]


def test_without_routes_or_turns_nothing_is_known():
    assert measured(("Risotto.", "search"), routes=[])[0] is None
    assert measured(("Risotto.", "search"), routes=[{"when": 3, "agents": ["cart"]}])[0] is None


@pytest.mark.parametrize("route", [{"agents": ["a"]}, {"agents": [], "when": 0}, {"agents": [], "when": ""}])
def test_a_route_names_its_turns(route):
    with pytest.raises(ValueError, match="when"):
        Case.model_validate({"id": "c", "task": "x", "routes": [route]})


def test_messages_of_sub_agents_are_no_turns():
    steps = (
        Step(index=0, source="user", message="Risotto."),
        Step(index=1, source="agent", agent="orchestrator", message="Which rice?"),
        Step(index=2, source="agent", agent="search", message="Found rice.", parent=1),
        Step(index=3, source="agent", agent="orchestrator", message="Rice is added."),
    )
    trial = Trial(
        case_id="c",
        attempt=1,
        outcome="finished",
        trajectory=Trajectory(trace_id="t", agent="shopper", steps=steps),
    )

    told = Turns().measure(Evidence(case=Case.model_validate({"id": "c", "task": "x"}), trial=trial, tools=()))
    assert (2.0, "2 messages to the user") == told
