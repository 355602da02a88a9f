"""How a success holds over attempts, against a count of all ways to choose them."""

from itertools import combinations

import pytest

from harness.scoring.statistics.intervals import pass_at_k, pass_hat_k


@pytest.mark.parametrize(("n", "c"), [(1, 0), (1, 1), (5, 0), (5, 1), (5, 3), (5, 5), (6, 4)])
def test_the_estimates_are_the_shares_of_all_choices_of_attempts(n: int, c: int) -> None:
    attempts = [True] * c + [False] * (n - c)
    for k in range(1, n + 1):
        chosen = list(combinations(attempts, k))
        assert sum(map(any, chosen)) / len(chosen) == pytest.approx(pass_at_k(n, c, k))
        assert sum(map(all, chosen)) / len(chosen) == pytest.approx(pass_hat_k(n, c, k))
