"""pass@k and pass^k against counting, and the tables of failure modes and tools."""

from collections.abc import Callable
from itertools import combinations

import pytest

from harness.reports.figures import reliability, unsteady
from harness.reports.render.sections import sections
from harness.reports.summarising import summarise
from harness.runs.store.manifest import RunManifest
from harness.scoring.scorecard import Diagnosis, Scorecard, ToolUse

Card = Callable[..., Scorecard]
Manifest = Callable[..., RunManifest]


def test_pass_at_k_and_pass_hat_k_are_what_counting_all_choices_gives(card: Card) -> None:
    attempts = {"a": (True, True, False, False), "b": (True, True, True, True), "c": (False, False, False, True)}
    cards = [card(case, success, n) for case, own in attempts.items() for n, success in enumerate(own, 1)]

    found = {one.k: one for one in reliability(cards)}

    for k in (1, 2, 3, 4):
        chosen = {case: list(combinations(own, k)) for case, own in attempts.items()}
        some = sum(sum(map(any, own)) / len(own) for own in chosen.values()) / 3
        every = sum(sum(map(all, own)) / len(own) for own in chosen.values()) / 3
        assert (found[k].at_least_one, found[k].all_of_them) == pytest.approx((some, every))
    assert found[2].all_of_them_interval is not None


def test_cases_with_too_few_known_attempts_are_left_out_and_one_attempt_says_nothing(card: Card) -> None:
    cards = [card("a", True), card("a", False, 2), card("b", True), card("b", None, 2, outcome="inconclusive")]

    assert [(one.k, one.cases, one.at_least_one, one.all_of_them) for one in reliability(cards)] == [
        (1, 2, 0.75, 0.75),
        (2, 1, 1.0, 0.0),
    ]
    assert reliability([card("a"), card("b")]) == ()


def test_a_case_whose_attempts_disagree_is_named_and_what_is_unknown_left_out(card: Card) -> None:
    attempts = {"a": "1111", "b": "1?1", "c": "1110", "d": "10", "e": "0000", "f": "1"}
    marks = {"1": True, "0": False, "?": None}
    cards = [card(case, marks[one], n) for case, own in attempts.items() for n, one in enumerate(own, 1)]

    assert [("d", 1, 2), ("c", 3, 4)] == [(one.case_id, one.successes, one.trials) for one in unsteady(cards)]


def test_failure_modes_count_trials_and_tools_are_summed(card: Card, manifest: Manifest) -> None:
    def loop(step: int) -> Diagnosis:
        return Diagnosis(
            failure="loop_trap", kind="repeated_call", origin_step=step, evidence="seen", confidence=0.9, version="1"
        )

    use = ToolUse(tool="add", model="m", calls=3, wrong=1, invalid={"missing": 1}, errors=2, recovered=1, cost_usd=0.5)
    cards = [
        card("a", False, diagnoses=(loop(2), loop(9)), tool_use=(use,)),
        card("b", diagnoses=(loop(1),), tool_use=(use, ToolUse(tool="find", calls=4))),
        card("c"),
    ]

    found = summarise(manifest(cards), cards)

    mode = found.failure_modes[0]
    assert (mode.failure, mode.trials, mode.failed_trials, mode.measured) == ("loop_trap", 2, 1, 3)
    assert (mode.kinds, mode.examples[0]) == ({"repeated_call": 2}, "a/1 step 2: seen")
    assert [(row.name, row.calls, row.trials, row.wrong, row.invalid_calls) for row in found.tools] == [
        ("add", 6, 2, 2, 2),
        ("find", 4, 1, 0, 0),
    ]
    assert [(row.name, row.errors, row.recovered, row.cost_usd) for row in found.models] == [("m", 4, 2, 1.0)]
    (table,) = (section for section in sections(found) if section.title == "tool calls by model")
    assert ("model", "tool calls") == table.heads[:2]
    assert ("m", "6") == table.rows[0][:2]
