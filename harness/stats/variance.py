"""How much of a figure's variance lies between cases, and how much between trials of one case."""

import math
import statistics
from collections.abc import Mapping, Sequence

from harness.stats.intervals import rounded
from harness.values import Frozen

_Z = 1.959963984540054  # 5 %, two-sided
_LEVEL = 0.05
_Z_POWER = 0.8416212335729143  # 80 %


class VarianceComponents(Frozen):
    """Estimates of a one-way layout with random cases, in the figure's unit squared."""

    between_cases: float
    within_cases: float
    """Between the trials of one case."""

    @property
    def share_between(self) -> float | None:
        """The intraclass correlation: 1 where trials of a case always agree. None where nothing varies."""
        total = self.between_cases + self.within_cases
        return rounded(self.between_cases / total) if total else None

    def trials_to_tell(self, difference: float) -> int:
        """The number of trials of each of two agents, over all cases, that shows a true `difference` of their means at
        5 % with a power of 80 %; 0 where trials of a case always agree, since repeating then adds nothing.

        2 (z + z')^2 within / difference^2. Both agents are tried on the same cases, so that the variance between cases
        cancels out; the second agent's trials are taken to vary as those of this one, and cases to differ by the same
        amount.
        """
        return math.ceil(2 * (_Z + _Z_POWER) ** 2 * self.within_cases / difference**2)


def variance_components(by_case: Mapping[str, Sequence[float]]) -> VarianceComponents | None:
    """The analysis-of-variance estimator for unequal numbers of trials (Searle, Casella and McCulloch, "Variance
    Components", 1992, section 3.6): within is the pooled variance of the trials of a case; between is (mean square
    between - within) / n0, at least 0, where n0 = (N - sum of n_i^2 / N) / (cases - 1).

    None for fewer than two cases, or where no case was tried twice.
    """
    groups = [values for values in by_case.values() if values]
    cases, n = len(groups), sum(len(values) for values in groups)
    if cases < 2 or n == cases:
        return None
    grand = math.fsum(value for values in groups for value in values) / n
    means = [math.fsum(values) / len(values) for values in groups]
    inner = math.fsum((value - mean) ** 2 for values, mean in zip(groups, means, strict=True) for value in values)
    outer = math.fsum(len(values) * (mean - grand) ** 2 for values, mean in zip(groups, means, strict=True))
    within = inner / (n - cases)
    each = (n - sum(len(values) ** 2 for values in groups) / n) / (cases - 1)
    between = max(0.0, (outer / (cases - 1) - within) / each)
    return VarianceComponents(between_cases=rounded(between), within_cases=rounded(within))


def noise_margin(repeated: Sequence[Sequence[float]], n: int | None = None, *, comparisons: int = 1) -> float:
    """The difference that two measurements of the same over `n` cases may have by chance at 95 % confidence.

    It is z sqrt(2 v / n), with v the mean variance of repeated measurements of a case, and Bonferroni's z for that many
    `comparisons`.

    `repeated` holds for each case its repeated measurements. `n` defaults to their number. 0 where they never vary, and
    for single measurements.
    """
    if not repeated:
        return 0.0
    variances = [statistics.variance(values) if len(values) > 1 else 0.0 for values in repeated]
    z = _Z if comparisons <= 1 else statistics.NormalDist().inv_cdf(1 - _LEVEL / (2 * comparisons))
    return z * math.sqrt(2 * statistics.fmean(variances) / (n or len(repeated)))
