"""Agreement beyond chance. A coefficient that is not defined is None, never 0 or NaN."""

from collections import Counter
from collections.abc import Hashable, Sequence

_DIGITS = 12


def cohen_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Cohen (1960): (observed - expected) / (1 - expected), what is expected being taken from both raters' own shares.

    None for no pair, and where both raters always gave one and the same answer: there is then no chance to go beyond.
    """
    n = len(pairs)
    if not n:
        return None
    first, second = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    observed = sum(one == other for one, other in pairs) / n
    expected = sum(count * second[answer] for answer, count in first.items()) / (n * n)
    return None if expected == 1 else round((observed - expected) / (1 - expected), _DIGITS)


def weighted_kappa(pairs: Sequence[tuple[int, int]]) -> float | None:
    """Cohen's kappa (1968) with quadratic weights, for points of a scale: 1 - observed / expected squared distance.

    None for no pair, and where both raters always gave one and the same point.
    """
    n = len(pairs)
    if not n:
        return None
    first, second = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    observed = sum((one - other) ** 2 for one, other in pairs) / n
    expected = sum(a * b * (one - other) ** 2 for one, a in first.items() for other, b in second.items()) / (n * n)
    return None if expected == 0 else round(1 - observed / expected, _DIGITS)


def krippendorff_alpha(units: Sequence[Sequence[Hashable]]) -> float | None:
    """Krippendorff's alpha for names: 1 - observed / expected disagreement; any number of raters; answers may lack.

    A unit holds the answers to one item; units with fewer than two answers are ignored. None where no unit remains, or
    where all answers are the same.
    """
    paired = [Counter(unit) for unit in units if len(unit) > 1]
    totals: Counter[Hashable] = Counter()
    observed = 0.0
    for unit in paired:
        raters = unit.total()
        totals.update(unit)
        observed += _differing(unit) / (raters - 1)
    n = totals.total()
    expected = _differing(totals) / (n - 1) if n > 1 else 0.0
    return round(1 - observed / expected, _DIGITS) if expected else None


def position_consistency(both_orders: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Share of comparisons that named the same winner in both orders; None for no comparison."""
    if not both_orders:
        return None
    return sum(one == other for one, other in both_orders) / len(both_orders)


def _differing(answers: Counter[Hashable]) -> int:
    """Ordered pairs of answers that differ."""
    return answers.total() ** 2 - sum(count * count for count in answers.values())
