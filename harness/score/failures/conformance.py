"""The conformance checks of the detector seam, which run against any detector.

To check a detector of your own, call `check_detector(MyDetector)`, with evidence of stored trials if you have any, and
read the results that are not None.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

from harness.case import Case, ToolSpec
from harness.plugins import described
from harness.score.diagnosis import Diagnosis, Kind
from harness.score.evidence import Evidence, Verdict
from harness.score.protocols import Detector
from harness.trace import Observation, Outcome, Step, ToolCall, ToolFailure, Trajectory, Trial
from harness.values import JsonObject

_OWN_PACKAGE = "harness.score.failures."
_SHORT, _LONG = 500, 4000
_ALLOWED_RATIO = 3 * _LONG / _SHORT
_ALWAYS_ALLOWED_S = 1.0


class _NotConforming(Exception):
    """The detector does not conform; the message describes its behaviour."""


@dataclass(frozen=True, kw_only=True)
class _Subject:
    """What is checked, and the evidence that it is given."""

    make: Callable[[], Detector]
    evidence: tuple[Evidence, ...]


def it_has_a_name_and_a_version(subject: _Subject) -> None:
    detector = subject.make()
    for field in ("name", "version"):
        value = getattr(detector, field, None)
        _expect(f"`{field}` is a text", isinstance(value, str) and bool(value), True)


def its_findings_are_diagnoses_of_its_own_kind(subject: _Subject) -> None:
    detector = subject.make()
    built_in = type(detector).__module__.startswith(_OWN_PACKAGE)
    for evidence in subject.evidence:
        for found in detector.find(evidence):
            _expect("a finding", type(found), Diagnosis)
            _expect("its version", found.version, detector.version)
            owner, _, _ = found.kind.rpartition(":")
            if not (built_in and found.kind in get_args(Kind)):
                _expect(f"the part of the kind {found.kind!r} before the colon", owner, detector.name)
            _expect(f"{found.kind}: its evidence is in words", bool(found.evidence.strip()), True)


def its_steps_are_steps_of_the_trajectory(subject: _Subject) -> None:
    for evidence in subject.evidence:
        known = {step.index for step in evidence.trial.trajectory.steps}
        for found in subject.make().find(evidence):
            named = [*found.dependent_steps, *([] if found.origin_step is None else [found.origin_step])]
            _expect(f"{found.kind}: steps that the trajectory does not have", sorted(set(named) - known), [])
            _expect(f"{found.kind}: dependent steps", list(found.dependent_steps), sorted(set(found.dependent_steps)))
            if found.origin_step is not None:
                before = [step for step in found.dependent_steps if step <= found.origin_step]
                _expect(f"{found.kind}: dependent steps that do not follow the origin step", before, [])


def it_finds_the_same_again(subject: _Subject) -> None:
    first, second = subject.make(), subject.make()
    for evidence in subject.evidence:
        found = list(first.find(evidence))
        _expect("the findings of the same detector, asked again", list(first.find(evidence)), found)
        _expect("the findings of another instance", list(second.find(_fresh(evidence))), found)


def it_leaves_the_evidence_as_it_is(subject: _Subject) -> None:
    for evidence in subject.evidence:
        before = evidence.model_dump_json()
        list(subject.make().find(evidence))
        _expect("the evidence afterwards is unchanged", evidence.model_dump_json() == before, True)


def its_time_grows_with_the_length_only(subject: _Subject) -> None:
    took = [_time(subject.make(), _many_calls(length)) for length in (_SHORT, _LONG)]
    if took[1] > max(_ALWAYS_ALLOWED_S, _ALLOWED_RATIO * took[0]):
        raise _NotConforming(
            f"{_SHORT} steps took {took[0]:.3f} s and {_LONG} took {took[1]:.3f} s: expected time linear in the length"
        )


CHECKS: tuple[Callable[[_Subject], None], ...] = (
    it_has_a_name_and_a_version,
    its_findings_are_diagnoses_of_its_own_kind,
    its_steps_are_steps_of_the_trajectory,
    it_finds_the_same_again,
    it_leaves_the_evidence_as_it_is,
    its_time_grows_with_the_length_only,
)


def check_detector(make: Callable[[], Detector], evidence: Iterable[Evidence] = ()) -> dict[str, str | None]:
    """Runs every check on sample trials and on `evidence`; name of the check -> what is wrong, or None.

    `make` is the detector's class, or whatever else gives a new detector each time.
    """
    subject = _Subject(make=make, evidence=(*sample_evidence(), *evidence))
    found: dict[str, str | None] = {}
    for check in CHECKS:
        try:
            check(subject)
        except _NotConforming as problem:
            found[check.__name__] = str(problem)
        except Exception as error:  # noqa: BLE001  # a plug-in's own code
            found[check.__name__] = described(error)
        else:
            found[check.__name__] = None
    return found


def sample_evidence() -> tuple[Evidence, ...]:
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


def _expect(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise _NotConforming(f"{what}: expected {wanted!r}, found {found!r}")
