"""The digest of a trajectory is that of its steps' identities, whatever stands in them."""

import pytest
from pydantic import JsonValue

from harness.traces.trajectory import Observation, Step, ToolCall, ToolFailure, Trajectory, Usage, step_identity
from harness.values import digest_of

VALUES: list[JsonValue] = [1.0, 1e22, -0.0, 2.5, 7, True, None, "1.0,", "caf\u00e9 \ud800", [], {"b": [3.0], "a": {}}]


@pytest.mark.parametrize("evidence", [None, "observed", "self_reported"])
@pytest.mark.parametrize("value", VALUES)
def test_the_digest_is_that_of_the_canonical_identities(value: JsonValue, evidence: object) -> None:
    call = {"id": "c", "name": "look", "arguments": {"z": value, "a": 1}, "evidence": evidence}
    seen = {"call_id": "c", "content": value, "evidence": evidence}
    failed = {**seen, "error": ToolFailure(type="timeout", message="late")}
    steps = (
        Step(index=0, source="user", message=str(value).replace("None", "")),
        Step.model_validate(
            {
                "index": 1,
                "source": "agent",
                "plan": ("one", "two"),
                "calls": (ToolCall.model_validate(call), ToolCall(id="d", name="x", arguments=None, unparsed="{")),
                "observations": (Observation.model_validate(seen), Observation.model_validate(failed)),
                "usage": Usage(input_tokens=3, cost_usd=1.0),
                "started_ns": 5,
                "evidence": evidence,
            }
        ),
    )
    trajectory = Trajectory(trace_id="t", agent="a", steps=steps, final_output=value)
    wanted = {"final_output": value, "steps": [step_identity(step) for step in steps]}
    assert trajectory.digest == digest_of(wanted)


@pytest.mark.parametrize("value", [1.0, float("nan")])
def test_calls_that_are_made_at_once_have_no_order_and_those_of_two_steps_have(value: float) -> None:
    calls = [ToolCall(id=name, name=name, arguments={"a": value}) for name in ("look", "find")]
    seen = [Observation(call_id=call.id, content=call.name) for call in calls]

    def digest(*steps: int) -> str:
        made = [
            Step(
                index=0,
                source="agent",
                calls=tuple(calls[place] for place in group),
                observations=tuple(seen[place] for place in group),
            )
            for group in ([steps] if len(steps) == 2 else [[place] for place in steps[:2]])
        ]
        return Trajectory(trace_id="t", agent="a", steps=tuple(made)).digest

    assert digest(0, 1) == digest(1, 0)
    assert digest(0, 1, -1) != digest(1, 0, -1)
