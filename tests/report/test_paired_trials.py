"""Trials of a run paired with those of a reference: what a success is, and what the pairs say."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.report import found_in_pairs, pair_words, reference_trials
from harness.report.figures.paired_trials import is_replayed, tally_of
from harness.results import RunFolder, RunManifest, Stop, write_rounds, write_stop
from harness.score import Scorecard
from harness.stats import PairTally
from harness.trace import Trajectory, Trial

Card = Callable[..., Scorecard]
Manifest = Callable[..., RunManifest]


@pytest.fixture
def store(tmp_path: Path, card: Card, manifest: Manifest) -> Callable[..., RunFolder]:
    """A run with one trial for each mark: `.` succeeds, `x` fails, `?` is undecided, `i` inconclusive, `h` not run."""

    def build(run: str, marks: str, **fields: Any) -> RunFolder:
        outcomes = {"i": "inconclusive", "h": "harness_failed"}
        cards = [
            card(f"c{place}", {".": True, "x": False}.get(mark), outcome=outcomes.get(mark, "finished"))
            for place, mark in enumerate(marks)
        ]
        with RunFolder.create(tmp_path, manifest(cards, run, **fields)) as folder:
            for one in cards:
                nothing = Trajectory(trace_id="t", agent="a", steps=())
                folder.commit(Trial(case_id=one.case_id, attempt=1, outcome=one.outcome, trajectory=nothing), (), one)
        return RunFolder.open(folder.path)

    return build


def test_a_trial_whose_success_is_unknown_counts_as_failed_unless_the_harness_failed(
    store: Callable[..., RunFolder], card: Card
) -> None:
    found = reference_trials(store("before", ".x?ih"))
    assert {("c0", 1): True, ("c1", 1): False, ("c2", 1): False, ("c3", 1): False} == dict(found.successes)
    assert ("before", "d" * 64, False) == (found.name, found.suite_digest, found.is_baseline)
    more = found.model_copy(update={"successes": {("a", 3): True, ("a", 2): True, ("b", 1): False}})
    assert {"a": 3, "b": 1} == more.attempts
    after = [card("c0", None), card("c1"), card("c2", False), card("c4"), card("c3", None, outcome="harness_failed")]
    assert PairTally(better=1, worse=1, same=1) == tally_of(found, after)


@pytest.mark.parametrize(
    ("tools", "model", "replayed"),
    [
        ("replay", "none", True),
        ("sealed", "replay", True),
        ("live", "replay", False),
        ("replay", "live", False),
        ("live", "live", False),
    ],
)
def test_only_a_run_whose_tools_and_model_are_replayed_repeats_itself(
    manifest: Manifest, tools: str, model: str, replayed: bool
) -> None:
    assert replayed == is_replayed(manifest(tool_mode=tools, model_mode=model))


def test_one_worse_trial_of_a_replayed_run_is_enough(store: Callable[..., RunFolder]) -> None:
    reference = reference_trials(store("before", "..xx"))
    for run, marks, found in (("w", ".x..", "worse"), ("b", "...x", "better"), ("s", "..xx", None)):
        said = found_in_pairs(reference, store(run, marks, allocated_against="before"))
        assert said is not None
        assert found == said[0]
    assert found_in_pairs(reference, store("apart", "....")) is None


def test_a_live_run_keeps_what_ended_it_and_counts_complete_rounds_otherwise(store: Callable[..., RunFolder]) -> None:
    reference = reference_trials(store("before", "." * 16))
    live = store("after", "x" * 15, tool_mode="live", allocated_against="before")
    assert ("worse", pair_words(PairTally(worse=15), "before", "worse")) == found_in_pairs(reference, live)
    write_rounds(live, [[(f"c{n}", 1) for n in range(6)], [(f"c{n}", 1) for n in range(6, 16)]])
    assert (None, pair_words(PairTally(worse=6), "before", None)) == found_in_pairs(reference, live)
    write_stop(live, Stop(reason="budget"))
    assert (None, pair_words(PairTally(worse=6), "before", None)) == found_in_pairs(reference, live)
    write_stop(live, Stop(reason="enough", found="better"))
    assert ("better", "enough") == found_in_pairs(reference, live)


def test_the_pairs_are_counted_in_words() -> None:
    tally = PairTally(better=1, worse=2, same=3)
    assert pair_words(tally, "old", "worse").startswith("worse than old: 1 better, 2 worse, 3 alike of 6 pairs")
    assert "old: 1 better" in pair_words(tally, "old", None)
