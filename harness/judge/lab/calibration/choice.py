"""Which prompt wins: by the validation part, beyond the judge's own noise, and never at the price of a veto."""

import math
from collections.abc import Mapping, Sequence

from harness.judge.lab.calibration.figures import Figures
from harness.stats import Z, sign_test
from harness.values import Frozen


class Choice(Frozen):
    """The outcome of choosing among prompts."""

    chosen: str | None
    """None: none of them is better than what there is."""
    why: str
    vetoed: tuple[str, ...] = ()
    """Candidates that let more of what is critical pass than the prompt does that is in use."""


def noise_margin(agreeing: Sequence[Sequence[float]]) -> float:
    """The difference that two measurements of the same prompt may have at 95 % confidence: 1.96 sqrt(2) times the
    standard error of the agreement.

    `agreeing` holds for each question the scores of repeated answers with the same prompt. 0 for a judge whose answers
    never vary, and for single answers.
    """
    if not agreeing:
        return 0.0
    return Z * math.sqrt(2 * sum(_variance(scores) for scores in agreeing)) / len(agreeing)


def choose(before: Figures, candidates: Mapping[str, Figures], margin: float) -> Choice:
    """The candidate with the highest validation agreement, the earlier one where two are equal.

    It is chosen only where it is ahead by more than `margin` and passes the veto: it must not let more of what is
    critical through than the prompt in use.
    """
    vetoed = tuple(name for name, one in candidates.items() if one.critical_false_passes > before.critical_false_passes)
    allowed = {name: one for name, one in candidates.items() if name not in vetoed}
    best = max(allowed, key=lambda name: allowed[name].agreement, default=None)
    if best is None:
        return Choice(
            chosen=None, why="every candidate was vetoed" if vetoed else "no candidate came up", vetoed=vetoed
        )
    gain = allowed[best].agreement - before.agreement
    if gain <= margin + 1e-12:
        said = f"the best candidate is ahead by {gain:.3f} on validation, within the judge's own noise of {margin:.3f}"
        return Choice(chosen=None, why=said if gain > 0 else "no candidate is ahead on validation", vetoed=vetoed)
    return Choice(
        chosen=best,
        why=f"ahead by {gain:.3f} on validation, beyond the judge's own noise of {margin:.3f}",
        vetoed=vetoed,
    )


def paired_p(before: Sequence[float], after: Sequence[float]) -> float | None:
    """Exact McNemar test of the same questions answered under two prompts; None where no answer changed sides."""
    better = sum(now > then for then, now in zip(before, after, strict=True))
    worse = sum(now < then for then, now in zip(before, after, strict=True))
    return sign_test(better, worse)


def _variance(scores: Sequence[float]) -> float:
    """Unbiased, of a 0/1 value."""
    n = len(scores)
    share = sum(scores) / n
    return share * (1 - share) * n / (n - 1) if n > 1 else 0.0
