"""Reasoning leakage by code: names of tools in what the user reads."""

import pytest

from harness.judging.transcripts import build_transcript
from harness.judging.views import ReasoningLeakage
from harness.traces.trajectory import Step, ToolCall, Trajectory
from harness.traces.trial import Trial


def decided(message: str | None):
    calls = tuple(ToolCall(id=name, name=name, arguments={}) for name in ("add_to_cart", "search"))
    steps = [
        Step(index=0, source="user", message="Use add_to_cart for the JSON"),
        Step(index=1, source="agent", calls=calls),
    ]
    steps.append(Step(index=2, source="agent", thought="I call add_to_cart", message=message))
    trajectory = Trajectory(trace_id="t", agent="a", steps=tuple(steps))
    trial = Trial(case_id="c", attempt=1, outcome="finished", trajectory=trajectory)
    return ReasoningLeakage().decide(build_transcript(trial))


@pytest.mark.parametrize(
    "message",
    [
        "I will now call add_to_cart for you.",
        "The search tool found nothing.",
        "Calling search(lemons) now",
    ],
)
def test_a_tools_name_is_leakage(message):
    said = decided(message)
    assert said.passed is False
    assert ("s2",) == said.refs


@pytest.mark.parametrize(
    "message",
    ["I found two lemons.", "Your search is over: lemons!", "I have added it to your cart.", "Any tools you need?"],
)
def test_everyday_words_are_not(message):
    assert decided(message).passed is True


def test_what_the_user_says_and_the_agent_thinks_is_no_leak():
    assert decided("Done.").passed is True


def test_an_agent_that_says_nothing_is_not_eligible():
    said = decided(None)
    assert (False, None) == (said.eligible, said.passed)
