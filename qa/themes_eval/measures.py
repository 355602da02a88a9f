"""Purity and the adjusted Rand index (Hubert and Arabie 1985) of found groups against true ones."""

from collections import Counter
from collections.abc import Sequence
from math import comb


def purity(found: Sequence[str], true: Sequence[str]) -> float:
    """The share of sessions whose cause is the most frequent one of their group."""
    pairs = Counter(zip(found, true, strict=True))
    best: Counter[str] = Counter()
    for (group, _), count in pairs.items():
        best[group] = max(best[group], count)
    return sum(best.values()) / len(true)


def adjusted_rand_index(found: Sequence[str], true: Sequence[str]) -> float:
    """1 for the same grouping, 0 for what chance gives."""
    together = sum(comb(count, 2) for count in Counter(zip(found, true, strict=True)).values())
    by_found = sum(comb(count, 2) for count in Counter(found).values())
    by_true = sum(comb(count, 2) for count in Counter(true).values())
    expected = by_found * by_true / comb(len(true), 2)
    most = (by_found + by_true) / 2
    return 1.0 if most == expected else (together - expected) / (most - expected)
