"""Whatever an agent does, diagnosing it gives the same findings each time, soon, and never raises."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.scoring.evidence import Evidence
from harness.scoring.findings.facts import diagnose
from harness.scoring.findings.recovery import recoveries

_TEXT = st.text(max_size=40)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=6,
)
_CALL = st.tuples(
    st.just("call"),
    st.sampled_from(["get_order", "cancel_order", "shell", "teleport"]),
    st.dictionaries(st.sampled_from(["order_id", "command", "odd"]), _JSON, max_size=2) | _TEXT,
    _JSON,
)
_FAILED_CALL = st.tuples(*[st.just("call"), st.just("shell"), st.just({"command": "x"}), _JSON, _TEXT])
_SAID = st.tuples(st.sampled_from(["user", "agent", "system"]), _TEXT.filter(bool))


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(turns=st.lists(_CALL | _FAILED_CALL | _SAID, max_size=12), failed=st.booleans())
def test_any_trajectory_is_diagnosed_and_always_alike(
    told: Callable[..., Evidence], turns: list[Any], failed: bool
) -> None:
    evidence = told(*turns, failed=failed)
    steps = {step.index for step in evidence.trial.trajectory.steps}
    first = diagnose(evidence)
    assert first == diagnose(evidence)
    assert all(one.origin_step is None or one.origin_step in steps for one in first)
    assert all(set(one.dependent_steps) <= steps for one in first)
    assert len(recoveries(evidence)) == len([turn for turn in turns if len(turn) == 5])


def _seconds(evidence: Evidence) -> float:
    started = time.process_time()
    diagnose(evidence)
    recoveries(evidence)
    return time.process_time() - started


@pytest.mark.slow
def test_thousands_of_calls_cost_time_in_proportion(told: Callable[..., Evidence]) -> None:
    def run(calls: int) -> list[Any]:
        strange = [("call", "get_order", {"order_id": f"W{n:07}"}, {"id": f"W{n:07}"}) for n in range(calls // 3)]
        failing = [("call", "shell", {"command": f"cat /x{n:05}"}, None, "no such file") for n in range(calls // 3)]
        same = [("call", "get_stock", {"item_id": "lamp"}, "none left")] * (calls // 3)
        return [*strange, *failing, *same, ("agent", "# " * 2000 + "I have " * 2000)]

    small, large = told(*run(1_500)), told(*run(6_000))
    ratio = min(_seconds(large) for _ in range(3)) / min(_seconds(small) for _ in range(3))
    assert ratio < 12  # four times the calls; the square would be sixteen
