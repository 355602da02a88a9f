"""Chooses a prompt by the validation part: beyond the judge's own noise, and not vetoed."""

from collections.abc import Mapping, Sequence

from harness.judge.lab.calibration.figures import AgreementFigures
from harness.stats import sign_test
from harness.values import Frozen


class Choice(Frozen):
    """The result of choosing among prompts."""

    chosen: str | None
    """None: none of them is better than the current prompt."""
    why: str
    vetoed: tuple[str, ...] = ()
    """Candidates that pass more critical failures than the current prompt."""


def choose(before: AgreementFigures, candidates: Mapping[str, AgreementFigures], margin: float) -> Choice:
    """The candidate with the highest validation agreement, the earlier one in a tie.

    It is chosen only where it is ahead by more than `margin` and passes the veto: it must not pass more
    critical failures than the current prompt.
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
        reason = (
            f"the best candidate is ahead by {gain:.3f} on validation, within the judge's own noise of {margin:.3f}"
        )
        return Choice(chosen=None, why=reason if gain > 0 else "no candidate is ahead on validation", vetoed=vetoed)
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
