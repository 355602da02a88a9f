"""The checks of detectors notice each way of breaking a promise, and no other check complains of it."""

from collections.abc import Iterable
from typing import Any, ClassVar

import pytest

from harness.score.evidence import Evidence
from harness.score.failures import Diagnosis
from harness.score.failures.conformance import check_detector, sample_evidence

KINDS = "its_findings_are_diagnoses_of_its_own_kind"
STEPS = "its_steps_are_steps_of_the_trajectory"


def finding(**fields: Any) -> Diagnosis:
    values = {
        "failure": "other",
        "kind": "sound:odd",
        "origin_step": 1,
        "dependent_steps": (2, 3),
        "evidence": "it says so",
        "confidence": 0.5,
        "version": "1",
    }
    return Diagnosis.model_validate(values | fields)


class Sound:
    """Finds one thing in every trajectory that is long enough."""

    name: ClassVar[str] = "sound"
    version: ClassVar[str] = "1"
    fields: ClassVar[dict[str, Any]] = {}

    def find(self, evidence: Evidence) -> Iterable[Diagnosis]:
        if len(evidence.trial.trajectory.steps) > 3:
            yield finding(**self.fields)


def problems_of(detector: type[Any]) -> dict[str, str]:
    return {name: said for name, said in check_detector(detector).items() if said is not None}


def test_a_sound_detector_has_no_problem() -> None:
    assert {} == problems_of(Sound)
    assert 6 == len(check_detector(Sound))


@pytest.mark.parametrize(
    ("fields", "check", "said"),
    [
        ({"version": "2"}, KINDS, "its version: expected '1', found '2'"),
        ({"kind": "other:odd"}, KINDS, "expected 'sound', found 'other'"),
        ({"kind": "repeated_call"}, KINDS, "expected 'sound', found ''"),
        ({"evidence": " "}, KINDS, "its evidence is in words"),
        ({"origin_step": 999, "dependent_steps": ()}, STEPS, "expected [], found [999]"),
        ({"dependent_steps": (2, 999)}, STEPS, "expected [], found [999]"),
        ({"dependent_steps": (3, 2)}, STEPS, "expected [2, 3], found [3, 2]"),
        ({"dependent_steps": (2, 2)}, STEPS, "expected [2], found [2, 2]"),
        ({"origin_step": 2}, STEPS, "do not follow the origin step: expected [], found [2]"),
        ({"origin_step": 3}, STEPS, "do not follow the origin step: expected [], found [2, 3]"),
    ],
)
def test_a_finding_that_breaks_a_promise_is_told_by_its_check(fields: dict[str, Any], check: str, said: str) -> None:
    [(name, problem)] = problems_of(type("Broken", (Sound,), {"fields": fields})).items()
    assert check == name
    assert said in problem


def test_a_finding_without_an_origin_may_have_any_dependent_steps() -> None:
    assert {} == problems_of(type("Vague", (Sound,), {"fields": {"origin_step": None, "dependent_steps": (1, 2)}}))


@pytest.mark.parametrize("field", ["name", "version"])
def test_a_name_and_a_version_are_texts(field: str) -> None:
    for value in ("", 3):
        assert "it_has_a_name_and_a_version" in problems_of(type("Nameless", (Sound,), {field: value}))


class Counting(Sound):
    """Tells how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def find(self, evidence: Evidence) -> Iterable[Diagnosis]:
        self.asked += 1
        yield from [one.model_copy(update={"evidence": f"{self.asked}"}) for one in super().find(evidence)]


class Changing(Sound):
    """Changes what it was given."""

    def find(self, evidence: Evidence) -> Iterable[Diagnosis]:
        object.__setattr__(evidence.case, "task", f"{evidence.case.task}!")
        return super().find(evidence)


class Failing(Sound):
    """Cannot read a trajectory without steps."""

    def find(self, evidence: Evidence) -> Iterable[Diagnosis]:
        _ = evidence.trial.trajectory.steps[0]
        return super().find(evidence)


def test_a_detector_that_remembers_changes_or_breaks_is_told() -> None:
    assert {"it_finds_the_same_again"} == set(problems_of(Counting))
    assert "it_leaves_the_evidence_as_it_is" in problems_of(Changing)
    assert "IndexError" in problems_of(Failing)[STEPS]


def test_the_sample_has_trials_of_many_shapes() -> None:
    sample = sample_evidence()
    trials = [one.trial for one in sample]
    calls = [call for trial in trials for call in trial.trajectory.calls]
    assert {"finished", "agent_failed", "limit_reached"} == {trial.outcome for trial in trials}
    assert {True, False, None} == {verdict.passed for one in sample for verdict in one.verdicts}
    assert {"weather", "book"} == {call.name for call in calls}
    assert {True, False} == {call.arguments is None for call in calls}
    assert all((call.arguments is None) == (call.unparsed is not None) for call in calls)
    assert {0, 2, 5, 7, 3, 41} == {len(trial.trajectory.steps) for trial in trials}
    errors = {seen.error is None for trial in trials for seen in trial.trajectory.observations.values()}
    assert {True, False} == errors
    for trial in trials:
        assert list(range(len(trial.trajectory.steps))) == [step.index for step in trial.trajectory.steps]
