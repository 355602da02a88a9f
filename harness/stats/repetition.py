"""How a success holds over attempts at one case, estimated without bias from `n` attempts of which `c` succeeded."""

import math


def pass_at_k(n: int, c: int, k: int) -> float:
    """1 - C(n-c, k) / C(n, k): of `k` attempts at least one succeeds (Chen et al. 2021); `k` is at most `n`."""
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """C(c, k) / C(n, k): all of `k` attempts succeed (Yao et al. 2024); `k` is at most `n`."""
    return math.comb(c, k) / math.comb(n, k)
