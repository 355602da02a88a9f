"""One metric before and after: its change, the certainty of the change, and the number of cases that a
decision needs.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from harness.reports.units import AMOUNTS, chance, p_words
from harness.scoring.statistics.intervals import Interval, cases_needed, mean_interval, paired_interval
from harness.scoring.statistics.significance import LEVEL, holm, sign_test
from harness.values import Frozen

_SAME = 1e-9
_FEWEST = 6
"""The minimum number of changed cases with which an exact two-sided sign test can be significant at 5 %."""

LATENCY = "latency_s"

Found = Literal["better", "worse", "same", "cannot_tell"]


class MetricChange(Frozen):
    """One metric over the trials where both runs know it."""

    metric: str
    pairs: int
    before: float | None
    after: float | None
    better: int = 0
    """Trials with a better value than before: higher, or lower where less is better."""
    worse: int = 0
    same: int = 0
    lower_is_better: bool = False
    cases: int = 0
    cases_better: int = 0
    """Cases whose mean over the attempts is better than before; attempts at one case are not independent, cases are."""
    cases_worse: int = 0
    p: float | None = None
    """Exact two-sided sign test over the cases; None where no case changed."""
    p_corrected: float | None = None
    """Holm's correction over all metrics of the comparison; None: not tested, or not corrected."""
    interval: Interval | None = None
    """Of the difference of the means, 95 %, cases being what is counted."""
    relative: Interval | None = None
    """Of the difference as a share of `before`, 95 %, by Student's t over cases; only for amounts."""
    width: float = 1.0
    """The metric's range: 1 for shares, else the range of the observed values."""
    cases_needed: int | None = None
    """The number of cases with which a difference of this size would be detected in four of five comparisons; None
    where no difference was observed.
    """

    @property
    def difference(self) -> float | None:
        return None if self.before is None or self.after is None else self.after - self.before

    @property
    def relative_difference(self) -> float | None:
        """The difference as a share of `before`; None where it has no meaning."""
        return None if self.difference is None or not self.before else self.difference / self.before

    @property
    def is_amount(self) -> bool:
        """Whether the metric is an amount, so that a percentage of the earlier value is meaningful."""
        return self.metric in AMOUNTS or self.width != 1

    @property
    def found(self) -> Found:
        """The conclusion at 5 %, corrected for multiple metrics where the comparison has several."""
        p = self.p if self.p_corrected is None else self.p_corrected
        if p is None:
            return "same" if self.pairs else "cannot_tell"
        if p > LEVEL:
            return "cannot_tell"
        return "better" if self.cases_better > self.cases_worse else "worse"

    @property
    def verdict(self) -> str:
        """The conclusion as text, with a note if there are too few cases."""
        changed = self.cases_better + self.cases_worse
        if self.p is None:
            return "no case changed"
        corrected = "" if self.p_corrected is None else f", {chance(self.p_corrected)} for all metrics together"
        if self.found != "cannot_tell":
            return f"{self.found} ({p_words(self.p)}{corrected})"
        more = self.cases_needed is not None and self.cases_needed > max(self.cases, _FEWEST)
        needed = f"; about {self.cases_needed} cases would be enough" if more else ""
        if changed < _FEWEST:
            few = f"only {changed} case(s) changed: too few to exclude chance ({_FEWEST} in one direction are needed)"
            return f"{few}{needed}"
        return f"could be chance ({p_words(self.p)}{corrected}){needed}"


Values = tuple[str, float, float]
"""Case id, value before, value after."""


def change(metric: str, values: Sequence[Values], *, lower_is_better: bool = False) -> MetricChange:
    """The change of one metric."""
    n = len(values)
    sign = -1.0 if lower_is_better else 1.0
    steps = [sign * (after - before) for _, before, after in values]
    plain = MetricChange(
        metric=metric,
        pairs=n,
        before=math.fsum(before for _, before, _ in values) / n if n else None,
        after=math.fsum(after for _, _, after in values) / n if n else None,
        better=sum(step > _SAME for step in steps),
        worse=sum(step < -_SAME for step in steps),
        same=sum(abs(step) <= _SAME for step in steps),
        lower_is_better=lower_is_better,
    )
    if not n:
        return plain
    found = plain.model_copy(update=_tested(metric, values, sign))
    return found.model_copy(update={"relative": _relative(found, values)}) if found.is_amount else found


def _relative(found: MetricChange, values: Sequence[Values]) -> Interval | None:
    """Treats the earlier mean as a constant: both sides have the same cases."""
    interval = mean_interval(case_differences(values))
    if interval is None or not found.before or found.before < 0:
        return None
    return Interval(low=interval.low / found.before, high=interval.high / found.before)


def latency_change(before: Mapping[str, float], after: Mapping[str, float]) -> MetricChange | None:
    """Seconds by `case/attempt`, as `real_durations` gives them; None where no trial has them in both."""
    values = [(key.rpartition("/")[0], before[key], after[key]) for key in after if key in before]
    return change(LATENCY, values, lower_is_better=True) if values else None


def case_differences(values: Sequence[Values]) -> list[float]:
    """The mean difference (after - before) of each case, sorted by case name."""
    by_case: dict[str, list[float]] = {}
    for case, before, after in values:
        by_case.setdefault(case, []).append(after - before)
    return [math.fsum(own) / len(own) for _, own in sorted(by_case.items())]


def spread_of(metric: str, values: Sequence[Values]) -> float:
    """The range of a metric: 1 for shares, else the range of the observed values."""
    seen = [value for _, before, after in values for value in (before, after)]
    is_share = metric not in AMOUNTS and all(0 <= value <= 1 for value in seen)
    return 1.0 if is_share else max(seen) - min(seen)


def corrected(changes: Sequence[MetricChange]) -> tuple[MetricChange, ...]:
    """Holm's correction of all performed tests; the order is kept."""
    found = holm([one.p for one in changes])
    return tuple(one.model_copy(update={"p_corrected": p}) for one, p in zip(changes, found, strict=True))


def _tested(metric: str, values: Sequence[Values], sign: float) -> dict[str, object]:
    differences, width = case_differences(values), spread_of(metric, values)
    better = sum(sign * value > _SAME for value in differences)
    worse = sum(sign * value < -_SAME for value in differences)
    return {
        "cases": len(differences),
        "cases_better": better,
        "cases_worse": worse,
        "p": sign_test(better, worse),
        "width": width,
        "interval": paired_interval(differences, width),
        "cases_needed": cases_needed(differences),
    }
