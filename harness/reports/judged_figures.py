"""The figures of a run's judgements: by rubric, domain and criterion."""

from harness.judging.verdicts import JudgeIdentity
from harness.scoring.statistics.correction import Corrected
from harness.scoring.statistics.intervals import Interval
from harness.values import Frozen


class JudgedDomain(Frozen):
    """One domain over the run's trials."""

    domain: str
    weight: float
    trials: int
    """Trials in which a criterion of the domain was eligible."""
    mean: float | None


class CriterionFigures(Frozen):
    """One criterion over the run's trials; items of checklists are listed under their criterion."""

    criterion: str
    domain: str
    points: float
    critical: bool
    passed: int
    failed: int
    not_eligible: int
    judge_failed: int
    corrected: Corrected | None = None
    """`rate` corrected for the judge's errors on people's labels; None: no labels tested the judge, or code decided."""
    uncertified: str | None
    """Why this judge's answers to the criterion can be shown and cannot gate; None: they can."""

    @property
    def rate(self) -> float | None:
        """Share of passes among the eligible."""
        decided = self.passed + self.failed
        return self.passed / decided if decided else None


class JudgedRubric(Frozen):
    """One rubric over the run's trials."""

    rubric: str
    rubric_version: str
    judges: tuple[JudgeIdentity, ...]
    """The judge whose verdicts count; None for criteria that code decides."""
    trials: int
    mean: float | None
    """Of the trials' scores, from 0 to 1. None: none is known, or the run's coverage is below the floor."""
    interval: Interval | None
    mean_before_critical: float | None
    """As `mean`, without making a trial's score 0 because of a failed critical criterion."""
    pass_rate: float | None
    """Trials in which no critical criterion failed, among those of which it is known."""
    pass_interval: Interval | None
    coverage: float | None
    """Mean share of criteria that were answered; below 1 a judge failed."""
    below_floor: int = 0
    """Trials whose score is unknown because of it."""
    domain_mean: float | None
    """Unweighted mean of the domains."""
    domains: tuple[JudgedDomain, ...]
    criteria: tuple[CriterionFigures, ...]
