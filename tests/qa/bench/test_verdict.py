"""`make bench` fails where a promise is not kept, and says which; ratios are taken of runs that stand side by side."""

import pytest

from tests.qa.bench.__main__ import verdict
from tests.qa.bench.growth import Costs, Spent, middle, ratios

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
