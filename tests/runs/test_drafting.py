"""How much a drafted case allows, and what it is called."""

import re

from harness.runs.cases.drafting import limits_for, regression_id
from harness.suite.cases import Limits
from harness.traces.outcomes import Outcome
from harness.traces.trajectory import Step, ToolCall, Trajectory
from harness.traces.trial import ModelUse, ProgramExit, Trial


def trial(calls: int, *, outcome: Outcome = "finished", seconds: float = 30.5, timed_out: bool = False) -> Trial:
    steps = tuple(
        Step(index=n, source="agent", calls=(ToolCall(id=f"c{n}", name="look", arguments={}),)) for n in range(calls)
    )
    return Trial(
        case_id="a",
        attempt=1,
        outcome=outcome,
        trajectory=Trajectory(trace_id="0123456789abcdef", agent="v1", steps=steps),
        exit=ProgramExit(code=0, duration_s=seconds, timed_out=timed_out),
        model_use=ModelUse(replies=2, input_tokens=900, output_tokens=101, cost_usd=0.01),
    )


def test_limits_are_the_cases_own_whatever_the_failed_trial_used() -> None:
    own = Limits(steps=12, seconds=30, memory_mb=64)
    assert own == limits_for(own, Limits(steps=7), ())
    assert Limits(steps=7) == limits_for(Limits(), Limits(steps=7), ())


def test_limits_are_wide_enough_for_a_trial_that_passed_and_never_narrower() -> None:
    own = Limits(steps=4, seconds=60, tokens=500)
    assert Limits(steps=9, seconds=60, tokens=1001) == limits_for(own, Limits(), [trial(5), trial(9), trial(2)])


def test_a_case_is_called_by_the_first_eight_digits_of_its_trace() -> None:
    assert "prod-regression-01234567" == regression_id("0123456789abcdef0123456789abcdef")
    assert "prod-regression-01234567" == regression_id("01234567-89ab-cdef-0123-456789abcdef")


def test_traces_that_begin_with_a_word_are_told_apart() -> None:
    names = {regression_id(f"run-{number:04}") for number in range(100)}
    assert 100 == len(names)
    assert all(re.fullmatch(r"prod-regression-[0-9a-f]{8}", name) for name in names)
