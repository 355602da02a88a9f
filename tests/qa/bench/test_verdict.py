"""`make bench` fails where a promise is not kept, and says which; ratios are taken of runs that stand side by side."""

from collections.abc import Callable
from pathlib import Path

import pytest

from qa.bench.__main__ import held, verdict
from qa.bench.growth import ATTEMPTS, VERBS, Costs, Spent, in_turn, interleaved, middle, ratios
from qa.bench.overhead import RATIOS, measure, show

MET = "  run: a trial in a run 100 times as long               0.980   met (at most 1.2)"
NOT_MET = "  score: a trial in a run 100 times as long             1.380   NOT MET (at most 1.2)"
OVERHEAD = "trial / plain 1.21 (median of 20; at most 1.10: NOT MET)"


@pytest.mark.parametrize(
    ("lines", "status", "expected", "said"),
    [
        ([MET], 0, 0, []),
        ([MET, NOT_MET], 1, 1, ["promise not met: | part: score"]),
        ([MET, NOT_MET], 0, 1, ["promise not met: | part: score"]),
        ([OVERHEAD], 0, 1, ["promise not met: | part: trial / plain"]),
        ([MET], 1, 1, ["promise not met: part"]),
        ([MET], 2, 3, ["could not be run: part"]),
        ([], 0, 3, ["could not be run: part"]),
        ([NOT_MET], -9, 3, ["promise not met: | part: score", "could not be run: part"]),
    ],
)
def test_the_exit_status_tells_promises_from_failures(
    lines: list[str], status: int, expected: int, said: list[str]
) -> None:
    found, problems = verdict({"part": lines}, {"part": status})
    assert expected == found
    assert len(said) == len(problems)
    assert all(problem.startswith(begin) for problem, begin in zip(problems, said, strict=True))


def costs(trials: int, *seconds: float) -> list[Costs]:
    return [Costs(trials, {"run": Spent(2 * one, one)}) for one in seconds]


def test_a_large_run_is_held_against_the_median_of_the_small_ones_beside_it() -> None:
    beside = costs(100, 0.1, 0.2, 0.9)  # one of them was disturbed
    (largest,) = costs(10_000, 24.0)
    assert {"run": pytest.approx(1.2)} == ratios(beside, largest)
    assert 0.2 == middle(beside).spent["run"].own


def test_large_runs_are_made_between_small_ones() -> None:
    assert ("a", "b", "C", "D", "e", "f") == in_turn("abef", "CD")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_verb_is_measured_on_runs_of_every_size(tmp_path: Path) -> None:
    small, (large,) = interleaved(tmp_path / "measured", ATTEMPTS, [2 * ATTEMPTS], 2)

    assert [ATTEMPTS, ATTEMPTS, 2 * ATTEMPTS] == [one.trials for one in (*small, large)]
    assert all(set(VERBS) == set(one.spent) for one in (*small, large))
    assert all(ratio > 0 for ratio in ratios(small, large).values())


def test_subjects_take_turns_at_being_first_and_the_first_round_does_not_count() -> None:
    made: list[tuple[str, int]] = []

    def subject(name: str) -> Callable[[int], float]:
        return lambda number: made.append((name, number)) or float(number)

    figures = measure({name: subject(name) for name in "abc"}, 3)

    assert ["abc", "bca", "cab", "abc"] == ["".join(name for name, at in made if at == number) for number in range(4)]
    assert {name: [1.0, 2.0, 3.0] for name in "abc"} == figures


@pytest.mark.parametrize(("second", "kept"), [(1.05, "met"), (1.2, "NOT MET")])
def test_a_share_of_a_trial_in_a_plain_container_is_held_against_its_promise(
    capsys: pytest.CaptureFixture[str], second: float, kept: str
) -> None:
    subjects = {name for name, *_ in RATIOS} | {base for _, base, _ in RATIOS}
    figures = {name: [0.01, 0.01] for name in subjects} | {"plain": [1.0, 1.0], "true": [1.0, 1.0]}
    show({**figures, "trial": [second, second]}, 2)

    lines = capsys.readouterr().out.splitlines()
    (row,) = [one for one in held({"overhead": lines}) if "trial  / plain" in one]
    assert row.endswith("| **not met** |" if kept == "NOT MET" else "| met |")
