"""Exact tests by hand: coins, a table of four cells, and Holm's correction."""

import pytest

from harness.scoring.statistics.significance import fisher_greater, holm, sign_test, sign_test_greater


@pytest.mark.parametrize(
    ("more", "less", "expected"), [(3, 1, 5 / 16), (1, 3, 15 / 16), (5, 0, 1 / 32), (2, 2, 11 / 16)]
)
def test_one_sided_signs(more: int, less: int, expected: float) -> None:
    assert expected == pytest.approx(sign_test_greater(more, less), abs=1e-4)


@pytest.mark.parametrize(("better", "worse", "expected"), [(5, 0, 1 / 16), (0, 5, 1 / 16), (4, 1, 3 / 8), (2, 2, 1)])
def test_two_sided_signs(better: int, worse: int, expected: float) -> None:
    assert expected == pytest.approx(sign_test(better, worse), abs=1e-4)


def test_ties_alone_tell_nothing() -> None:
    assert sign_test(0, 0) is None
    assert sign_test_greater(0, 0) is None


def test_fisher_and_the_lady_tasting_tea() -> None:
    assert 1 / 70 == pytest.approx(fisher_greater(4, 0, 0, 4), abs=1e-4)
    assert 17 / 70 == pytest.approx(fisher_greater(3, 1, 1, 3), abs=1e-4)


def test_holm_multiplies_by_the_tests_that_are_left_and_never_falls() -> None:
    assert [0.03, None, 0.06, 0.06] == pytest.approx(holm([0.01, None, 0.04, 0.03]))
