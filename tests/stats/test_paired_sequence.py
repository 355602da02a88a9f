"""Trials that are spent where they tell most, and a comparison that may be looked at after every pair."""

import random

import pytest

from harness.pipeline.auto_trials import AutoTrials
from harness.report import ReferenceTrials
from harness.results import PlannedTrial
from harness.stats import LEVEL, PairTally, sign_test, telling_pairs
from tests.stats.auto_trials import all_alike, broken, card, everywhere, planned, simulated, steady, unsteady


def test_a_few_pairs_tell_nothing_and_many_that_agree_do():
    assert PairTally(better=3, same=40).found() is None
    assert PairTally(better=9).found() == "better"
    assert PairTally(worse=9, same=400).found() == "worse"
    assert PairTally(better=60, worse=60).found() is None


def test_seven_pairs_that_agree_are_the_fewest_that_tell_at_five_percent():
    """All of n pairs agree: the likelihood ratio against 1/2 is C(2n, n) / 2^n, which passes 20 at n = 7."""
    assert [None, "better"] == [PairTally(better=n).found() for n in (6, 7)]
    assert [None, "worse"] == [PairTally(worse=n).found() for n in (6, 7)]
    assert PairTally(better=7).found(0.01) is None


def test_pairs_in_which_both_succeed_or_both_fail_change_nothing():
    tally = PairTally().with_pair(True, True).with_pair(False, False).with_pair(True, False).with_pair(False, True)
    assert tally == PairTally(better=1, worse=1, same=2)
    assert tally.pairs == 4


def test_pairs_go_to_the_cases_whose_trials_vary():
    seen = {"steady": (8, 0), "varies": (4, 4), "fails": (0, 8), "new": (0, 0)}
    chosen = telling_pairs(seen, dict.fromkeys(seen, 8), 12)
    counts = {case: chosen.count(case) for case in seen}
    assert len(chosen) == 12
    assert counts["varies"] > counts["steady"]
    assert counts["new"] > counts["steady"]
    assert counts["steady"] == counts["fails"]


def test_pairs_are_divided_by_the_variance_under_jeffreys_prior_and_dhondts_method():
    """Weights: 8.5 * 0.5 / 90 = 0.0472, and 4.5 * 4.5 / 90 = 0.225, of which a fifth is less than that."""
    assert [*"bbbb", "a", *"bbbb"] == telling_pairs({"a": (8, 0), "b": (4, 4)}, {"a": 9, "b": 9}, 9)
    # as much variance in one case of (3.5, 0.5), 0.0875, as lies between a half and a third of one never tried, 0.125
    assert [*"aba"] == telling_pairs({"b": (3, 0)}, {"a": 3, "b": 3}, 3)


def test_no_case_gets_more_pairs_than_it_has_left():
    assert sorted(telling_pairs({"a": (4, 4)}, {"a": 2, "b": 1, "c": 0}, 10)) == ["a", "a", "b"]


@pytest.mark.slow
@pytest.mark.parametrize("suite", [steady, unsteady, all_alike])
def test_without_a_difference_at_most_one_comparison_in_twenty_finds_one(suite):
    found = simulated(suite, everywhere, 0.0, 1000)
    assert sum(one.found is not None for one in found) <= LEVEL * len(found)


@pytest.mark.slow
@pytest.mark.parametrize("change", [everywhere, broken])
def test_a_real_difference_is_found_with_fewer_trials_than_planned(change):
    found = simulated(steady, change, 0.2, 100)
    assert {one.found for one in found} == {"worse"}
    assert sum(one.trials for one in found) < 0.6 * len(planned()) * len(found)


def test_looking_often_by_a_test_for_one_look_would_find_differences_that_are_none():
    """What the simulation would find if the sign test were repeated after every trial."""
    chance, wrong = random.Random(3), 0
    for _ in range(200):
        better = worse = 0
        for _ in range(200):
            better, worse = (better + 1, worse) if chance.random() < 0.5 else (better, worse + 1)
            p = sign_test(better, worse)
            if p is not None and p <= LEVEL:
                wrong += 1
                break
    assert wrong > 2 * LEVEL * 200


def test_a_resumed_run_counts_no_part_of_a_round() -> None:
    """The trials that an interruption left out may be those that would have failed: only their whole round counts."""
    cases = [f"c{n}" for n in range(12)]
    old = {(case, attempt): True for case in cases for attempt in (1, 2, 3)}
    first, second = (tuple((case, attempt) for case in cases) for attempt in (1, 2))
    resumed = AutoTrials(
        reference=ReferenceTrials(name="before", suite_digest="", successes=old), chosen=[first, second]
    )
    for key in first:
        resumed.note(card(*key, True))
    for key in second[:9]:
        resumed.note(card(*key, False))
    done = {*first, *second[:9]}
    missing = [PlannedTrial(case_id=case, attempt=attempt) for case, attempt in old if (case, attempt) not in done]
    coming = resumed.order(missing)
    rest = [(one.case_id, one.attempt) for one in (next(coming) for _ in second[9:])]
    assert (list(second[9:]), None, 12) == (rest, resumed.reached, resumed.tally.pairs)
    for key in rest:
        resumed.note(card(*key, False))
    assert resumed.reached is not None
    assert (24, "worse") == (resumed.tally.pairs, resumed.reached.found)
