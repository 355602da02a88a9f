"""Every built-in detector keeps the promises of a detector, on small trials of many shapes."""

import time
from collections.abc import Sequence
from typing import Final, get_args

import pytest

from harness.scoring.evidence import Evidence, Verdict
from harness.scoring.failures.diagnose import built_in_detectors
from harness.scoring.scorecard import Detector, Kind
from harness.suite.cases import Case
from harness.suite.tools import ToolSpec
from harness.traces.trajectory import Observation, Step, ToolCall, ToolFailure, Trajectory
from harness.traces.trial import Outcome, Trial
from harness.values import JsonObject

_SHORT, _LONG = 500, 4000
_ALLOWED_RATIO: Final = 3 * _LONG / _SHORT
_ALWAYS_ALLOWED_S: Final = 1.0


@pytest.fixture(params=built_in_detectors(), ids=lambda one: one.name)
def detector(request: pytest.FixtureRequest) -> Detector:
    return request.param


def test_its_findings_are_of_a_known_kind_and_have_its_version(detector: Detector) -> None:
    assert detector.version
    for evidence in _sample():
        for found in detector.find(evidence):
            assert detector.version == found.version
            assert found.kind in get_args(Kind)
            assert found.evidence.strip()


def test_its_steps_are_steps_of_the_trajectory(detector: Detector) -> None:
    for evidence in _sample():
        known = {step.index for step in evidence.trial.trajectory.steps}
        for found in detector.find(evidence):
            assert set(found.dependent_steps) <= known
            assert sorted(set(found.dependent_steps)) == list(found.dependent_steps)
            if found.origin_step is not None:
                assert found.origin_step in known
                assert [] == [step for step in found.dependent_steps if step <= found.origin_step]


def test_it_finds_the_same_again_and_leaves_the_evidence_as_it_is(detector: Detector) -> None:
    for evidence in _sample():
        before = evidence.model_dump_json()
        found = list(detector.find(evidence))
        assert found == list(detector.find(evidence))
        assert found == list(detector.find(_fresh(evidence)))
        assert before == evidence.model_dump_json()


@pytest.mark.slow
def test_its_time_grows_with_the_length_only(detector: Detector) -> None:
    short, long = (_time(detector, _many_calls(length)) for length in (_SHORT, _LONG))
    assert long <= max(_ALWAYS_ALLOWED_S, _ALLOWED_RATIO * short)


def _sample() -> tuple[Evidence, ...]:
    """Small trials of many shapes: empty, a chat, errors, repeated calls, arguments that are not JSON, odd texts."""
    return (
        _evidence(()),
        _evidence((), outcome="agent_failed", passed=False),
        _evidence(_chat("What is 2 + 2?", "4"), final="4", passed=True),
        _evidence(_chat("", "\u202e\x00 \U0001f600" + "a" * 10_000), passed=False),
        _evidence(_calls([{"city": "Rome"}] * 6), passed=False, outcome="limit_reached"),
        _evidence(_calls([{"city": "Rome"}, None, {}, {"city": None}], fails=True), passed=False),
        _evidence(_calls([{"city": "Rome"}, {"city": "Oslo"}]), final={"answer": [1, None]}, passed=None),
        _many_calls(40),
    )


def _many_calls(length: int) -> Evidence:
    arguments: list[JsonObject | None] = [{"city": f"city {number % 7}", "n": number} for number in range(length)]
    return _evidence(_calls(arguments), passed=False, outcome="limit_reached")


def _evidence(
    steps: Sequence[Step], *, final: object = None, passed: bool | None = None, outcome: Outcome = "finished"
) -> Evidence:
    trajectory = Trajectory.model_validate(
        {"trace_id": "conformance", "agent": "a", "steps": tuple(steps), "final_output": final}
    )
    verdict = Verdict(check="answer", verifier="final_answer", version="1", passed=passed, reason="sample")
    return Evidence(
        case=Case(id="sample", task="What is the weather in Rome?"),
        trial=Trial(case_id="sample", attempt=1, outcome=outcome, trajectory=trajectory),
        tools=(
            ToolSpec(name="weather", server="s", effect="read", source="mcp", parameters={"type": "object"}),
            ToolSpec(name="book", server="s", source="mcp", parameters={"type": "object"}),
        ),
        verdicts=(verdict,),
    )


def _chat(question: str, answer: str) -> tuple[Step, ...]:
    return (Step(index=0, source="user", message=question), Step(index=1, source="agent", message=answer))


def _calls(arguments: Sequence[JsonObject | None], *, fails: bool = False) -> tuple[Step, ...]:
    failure = ToolFailure(type="tool_error", message="there is no such city") if fails else None
    question = Step(index=0, source="user", message="What is the weather in Rome?")
    return (question, *(_call(number, given, failure) for number, given in enumerate(arguments, 1)))


def _call(number: int, given: JsonObject | None, failure: ToolFailure | None) -> Step:
    call = ToolCall(
        id=f"c{number}",
        name="book" if number % 5 == 0 else "weather",
        arguments=given,
        unparsed="{city:" if given is None else None,
        evidence="observed",
    )
    seen = Observation(call_id=call.id, content={"sky": "clear", "n": number}, error=failure, evidence="observed")
    return Step(index=number, source="agent", message="Let me see.", calls=(call,), observations=(seen,))


def _fresh(evidence: Evidence) -> Evidence:
    """The same without what was computed for it."""
    return evidence.model_copy(deep=True, update={"verdicts": evidence.verdicts, "tools": evidence.tools})


def _time(detector: Detector, evidence: Evidence) -> float:
    began = time.process_time()
    list(detector.find(evidence))
    return time.process_time() - began
