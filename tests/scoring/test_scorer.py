"""The scorer: suites that are wrong are refused before anything runs, and trials are judged by evidence alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UsageError
from harness.scoring.evidence import Evidence
from harness.scoring.scorer import build_scorer, score_trial
from harness.suite.cases import CheckSpec, StateProbe
from harness.suite.suites import Suite

MakeSuite = Callable[..., Suite]
Build = Callable[..., Evidence]


def check(name: str, verifier: str, **parameters: Any) -> CheckSpec:
    return CheckSpec.model_validate({"name": name, "verifier": verifier, "with": parameters})


YES = check("says yes", "final_answer", equals="yes")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (check("k", "no_such"), "check 'k': field 'verifier': there is no verifier named 'no_such'"),
        (check("k", "final_answer", equal="x"), "check 'k': field 'with.equal': unknown field, did you mean 'equals'?"),
        (
            check("k", "final_answer", regex="("),
            "check 'k': field 'with.regex': invalid regular expression",
        ),
        (check("k", "state", equals=1), "check 'k': field 'with.probe': is missing"),
        (check("k", "state", probe="p"), "check 'k': field 'with.probe': 'p' is none of the suite's probes (order)"),
        (check("k", "command"), "check 'k': field 'with.run': is missing"),
        (check("k", "absent.py:Thing"), "check 'k': field 'verifier': verifier: there is no file"),
    ],
)
def test_a_wrong_check_is_refused_with_its_name_and_field(suite: MakeSuite, wrong: CheckSpec, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        build_scorer(suite(checks=(wrong,), probes=(StateProbe(name="order", tool="find"),)))

    assert f"suite 's', case 'c', {said}" in caught.value.message


def test_two_checks_of_one_name_are_refused(suite: MakeSuite) -> None:
    with pytest.raises(UsageError, match=": says yes"):
        build_scorer(suite(cases=[{"checks": (YES,)}], checks=(YES,)))


@pytest.mark.parametrize(
    ("answer", "extra", "success"),
    [
        ("yes", (), True),
        ("no", (), False),
        ("yes", (check("unknown", "state", probe="order", equals=1),), None),
        ("no", (check("unknown", "state", probe="order", equals=1),), False),
    ],
)
def test_success_is_every_check_passing_and_unknown_where_one_cannot_tell(
    suite: MakeSuite, evidence: Build, answer: str, extra: tuple[CheckSpec, ...], success: bool | None
) -> None:
    asked = suite(checks=(YES, *extra), probes=(StateProbe(name="order", tool="find"),))

    card = score_trial(evidence(answer=answer), asked)

    assert card.success is success
    assert card.value("task_success") == (None if success is None else float(success))


@pytest.mark.parametrize("outcome", ["inconclusive", "harness_failed"])
def test_a_trial_that_was_not_measured_has_no_score_at_all(suite: MakeSuite, evidence: Build, outcome: str) -> None:
    card = score_trial(evidence(outcome=outcome, answer="yes"), suite(checks=(YES,)))

    assert card.success is None
    assert {score.value for score in card.scores} == {None}
    assert [verdict.passed for verdict in card.verdicts] == [None]


OWN = """
from typing import ClassVar

class Length:
    name: ClassVar[str] = "length"
    version: ClassVar[str] = "3"
    def measure(self, evidence):
        return float(len(evidence.trial.trajectory.final_output)), "characters"

class Broken(Length):
    name: ClassVar[str] = "broken"
    def measure(self, evidence):
        return float("nan"), ""

class Raises:
    version: ClassVar[str] = "1"
    def verify(self, evidence):
        raise KeyError("x")

class Nothing:
    pass
"""


def test_a_suites_own_metrics_stand_beside_the_built_in_ones(suite: MakeSuite, evidence: Build, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    scorer = build_scorer(suite(metrics=("own.py:Length", "own.py:Broken")))

    cards = [scorer.score(evidence(answer=answer)) for answer in ("four", "it")]

    assert [card.value("length") for card in cards] == [4.0, 2.0]
    assert [score.explanation for score in cards[0].scores if score.metric == "broken"] == [
        "the metric itself failed: ValueError: nan is not a finite number"
    ]
    assert scorer.versions["metric:length"] == "3"


def test_a_check_that_breaks_cannot_tell_and_costs_no_other_verdict(
    suite: MakeSuite, evidence: Build, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(OWN)

    card = score_trial(evidence(answer="yes"), suite(checks=(check("b", "own.py:Raises"), YES)))

    assert [verdict.passed for verdict in card.verdicts] == [None, True]
    assert card.verdicts[0].reason == "the check itself failed: own.py:18: KeyError: 'x'"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("Nothing", "has no `name`"),
        ("Idle", "has no `measure` or `find`"),
        ("exact", "is no class"),
    ],
)
def test_what_is_no_metric_is_refused(suite: MakeSuite, tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "own.py").write_text(f"{OWN}\nclass Idle:\n    name = version = 'x'\n\ndef exact(): ...\n")

    with pytest.raises(UsageError, match=f"field 'metrics': 'own.py:{name}' {problem}"):
        build_scorer(suite(metrics=(f"own.py:{name}",)))


def test_a_metric_that_takes_the_name_of_another_is_refused(suite: MakeSuite, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)

    with pytest.raises(UsageError, match=r"field .*: .* length"):
        build_scorer(suite(metrics=("own.py:Length", "own.py:Length")))


def test_equal_trials_give_equal_bytes_whatever_their_times_and_ids(suite: MakeSuite, evidence: Build) -> None:
    scorer = build_scorer(suite(checks=(YES,)))
    one = evidence([("find", {"query": "x"})], answer="yes")
    step = one.trial.trajectory.steps[0].model_copy(update={"started_ns": 7, "span_id": "s"})
    later = one.trial.trajectory.model_copy(update={"trace_id": "other", "steps": (step,)})
    other = one.model_copy(update={"trial": one.trial.model_copy(update={"trajectory": later, "duration_s": 9.0})})

    assert scorer.score(one).model_dump_json() == scorer.score(other).model_dump_json()


def test_values_that_are_no_json_do_not_stop_the_scorer(suite: MakeSuite, evidence: Build) -> None:
    card = score_trial(evidence([("add", {"item": float("nan")})], answer=float("inf")), suite(checks=(YES,)))

    assert card.success is False
    assert len(card.digest) == 64


def test_values_that_are_no_json_have_one_digest_whenever_they_were_sent(evidence: Build) -> None:
    sent = evidence([("add", {"item": float("nan")})], answer="done").trial.trajectory
    (step, *_) = sent.steps
    again = sent.model_copy(
        update={"trace_id": "other", "steps": (step.model_copy(update={"ended_ns": 9}), *sent.steps[1:])}
    )
    other = evidence([("add", {"item": float("inf")})], answer="done").trial.trajectory
    assert sent.digest == again.digest != other.digest
