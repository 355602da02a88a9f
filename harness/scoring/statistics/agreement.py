"""Agreement of two series of yes/no answers: the people's, which counts as right, and the judge's."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from pydantic import computed_field

from harness.scoring.statistics.intervals import Interval, effective_n, wilson
from harness.values import Frozen

# Agreement beyond chance. A coefficient that is not defined is None, never 0 or NaN.

_DIGITS = 12


def cohen_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Cohen (1960): (observed - expected) / (1 - expected), what is expected being taken from both raters' own shares.

    None for no pair, or if both raters always gave one and the same answer: there is then no chance to go beyond.
    """
    n = len(pairs)
    if not n:
        return None
    first, second = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    observed = sum(one == other for one, other in pairs) / n
    expected = sum(count * second[answer] for answer, count in first.items()) / (n * n)
    return None if expected == 1 else round((observed - expected) / (1 - expected), _DIGITS)


class AnswerPair(NamedTuple):
    """One item that both answered."""

    case_id: str
    """Items of one case go together: intervals count cases, not items."""
    right: bool
    judged: bool


class AgreementRate(Frozen):
    """A share, of how many, and how sure."""

    value: float | None
    """None: there was nothing to take a share of."""
    n: int
    interval: Interval | None = None


class BinaryAgreement(Frozen):
    """A judge against what counts as right. None: not defined for these items."""

    agreement: AgreementRate
    constant: float | None
    """Agreement of a predictor that always gives the more frequent right answer: to be beaten."""
    kappa: float | None
    """Cohen's kappa; None also if both always gave the same answer."""
    true_positive: AgreementRate
    """Of what is right to pass: the share that the judge passed."""
    true_negative: AgreementRate
    """Of what is right to fail: the share that the judge failed. A low one lets bad work through."""
    right_rate: float | None
    judged_rate: float | None

    @computed_field  # type: ignore[prop-decorator]  # python/mypy#14461
    @property
    def shift(self) -> float | None:
        """By how much the judge passes more often than is right."""
        if self.right_rate is None or self.judged_rate is None:
            return None
        return self.judged_rate - self.right_rate

    @computed_field  # type: ignore[prop-decorator]  # python/mypy#14461
    @property
    def beats_constant(self) -> bool | None:
        """Whether the judge is better than a constant answer; None if there was nothing to judge."""
        if self.agreement.value is None or self.constant is None:
            return None
        return self.agreement.value > self.constant


def binary_agreement(items: Sequence[AnswerPair]) -> BinaryAgreement:
    """All figures of one series; intervals are Wilson's over the effective number of items, which accounts for
    correlation within cases.
    """
    rights = [item.right for item in items]
    pairs = [(item.right, item.judged) for item in items]
    passed = rate([(item.case_id, item.judged) for item in items if item.right])
    failed = rate([(item.case_id, not item.judged) for item in items if not item.right])
    return BinaryAgreement(
        agreement=rate([(item.case_id, item.right == item.judged) for item in items]),
        constant=max(Counter(rights).values()) / len(rights) if rights else None,
        kappa=cohen_kappa(pairs),
        true_positive=passed,
        true_negative=failed,
        right_rate=_share(rights),
        judged_rate=_share([item.judged for item in items]),
    )


def rate(held: Sequence[tuple[str, bool]]) -> AgreementRate:
    """The share of (case, held) items that held, with Wilson's interval over the effective number of items."""
    by_case: defaultdict[str, list[float]] = defaultdict(list)
    for case_id, held_here in held:
        by_case[case_id].append(float(held_here))
    value = _share([held_here for _, held_here in held])
    return AgreementRate(
        value=value, n=len(held), interval=None if value is None else wilson(value, effective_n(by_case))
    )


def _share(held: Sequence[bool]) -> float | None:
    return sum(held) / len(held) if held else None
