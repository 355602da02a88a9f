"""A scorecard as named values: what is known, by its name, and nothing of what is not."""

import pytest

from harness.scoring.evidence import Verdict
from harness.scoring.findings.facts import outdated
from harness.scoring.scorecard import Diagnosis, Score, Scorecard, card_values


def card(**fields: object) -> Scorecard:
    values = {"case_id": "c", "attempt": 1, "category": "x", "outcome": "finished", "digest": ""}
    return Scorecard.model_validate({**values, "success": None, **fields})


def verdict(check: str, passed: bool | None) -> Verdict:
    return Verdict(check=check, verifier="v", version="1", passed=passed, reason=f"of {check}")


LOOP = Diagnosis(failure="loop_trap", kind="repeated_call", origin_step=1, evidence="e", confidence=0.9, version="1")


def test_what_is_not_known_has_no_value() -> None:
    scores = (
        Score(metric="steps", version="1", value=3, explanation="three"),
        Score(metric="unknown", version="1", value=None),
    )
    checks = (verdict("a", True), verdict("b", False), verdict("j", None))
    found = list(card_values(card(scores=scores, verdicts=checks, outcome="inconclusive"), "late"))
    assert [("steps", 3.0, "three"), ("check.a", True, "of a"), ("check.b", False, "of b")] == found


@pytest.mark.parametrize(("success", "said"), [(True, [True]), (False, [False]), (None, [])])
def test_success_has_the_reason_of_the_outcome(success: bool | None, said: list[bool]) -> None:
    own = card(success=success, outcome="harness_failed")
    assert [("success", one, "late") for one in said] == list(card_values(own, "late"))
    assert [("success", one, "") for one in said] == list(card_values(own))


def test_a_mode_has_a_value_if_a_fact_shows_it_and_none_if_no_fact_does() -> None:
    found = {name: (value, why) for name, value, why in card_values(card(diagnoses=(LOOP, LOOP)))}
    assert {"failure.loop_trap": (True, "repeated_call: e; repeated_call: e")} == found


def test_results_of_another_version_are_named() -> None:
    now = {"metric:b": "2", "metric:a": "1", "metric:c": "1"}
    assert ("metric:b 1, now 2", "metric:c absent, now 1") == outdated({"metric:a": "1", "metric:b": "1"}, now)
    assert () == outdated({**now, "gone": "1"}, now)
    assert any(one.startswith("detector:facts absent, now ") for one in outdated({}))
