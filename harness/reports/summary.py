"""The figures of a run: measured values, their confidence intervals, and unmeasured trials with their reasons."""

from harness.reports.durations import Latency, PrintedEnd
from harness.reports.figures import BrokenRule, FailedCode, FailureMode, Reliability, ToolRow, UnsteadyCase
from harness.reports.judged_figures import JudgedRubric
from harness.reports.replay import Replay
from harness.runs.store.manifest import RunManifest
from harness.scoring.statistics.intervals import Interval
from harness.values import Frozen


class Rate(Frozen):
    """Successful trials among those whose success is known."""

    successes: int
    n: int
    rate: float | None
    interval: Interval | None
    """The Wilson interval; where cases were tried several times, over the effective number of observations."""
    unknown: int = 0
    """Further trials of which it is not known: measured and undecided, without a check, or not measured."""


class Figure(Frozen):
    """The mean of one metric over the trials where it is known."""

    metric: str
    n: int
    mean: float | None
    interval: Interval | None = None
    """The bootstrap interval over cases; None where the values do not differ, or where it was not requested."""
    lower_is_better: bool = False


class Counts(Frozen):
    """Trials by how they ended."""

    planned: int
    undecided: int = 0
    """The number of measured trials whose checks do not decide whether they succeeded."""
    held_against: int = 0
    """The number of unmeasured trials of which the agent may be the cause: a gate that allows them counts them as
    failed.
    """
    finished: int = 0
    limit_reached: int = 0
    agent_failed: int = 0
    inconclusive: int = 0
    simulator_failed: int = 0
    harness_failed: int = 0
    not_run: int = 0

    @property
    def measured(self) -> int:
        """The number of trials in the denominators."""
        return self.finished + self.limit_reached + self.agent_failed

    @property
    def unmeasured(self) -> int:
        """Planned, and not measured."""
        return self.planned - self.measured


class TrialGroup(Frozen):
    """The trials of one category."""

    name: str
    trials: int
    """On disk; those that were not measured included."""
    success: Rate
    figures: tuple[Figure, ...]

    def mean(self, metric: str) -> float | None:
        return next((figure.mean for figure in self.figures if figure.metric == metric), None)


class Unmeasured(Frozen):
    """A trial that is excluded from all denominators."""

    case_id: str
    attempt: int
    outcome: str
    reason: str | None
    last_lines: dict[str, str] = {}
    """Service -> the last line that it printed, where the harness failed for a service."""
    printed: tuple[PrintedEnd, ...] = ()
    """The last output of the agent's program."""


class Retried(Frozen):
    """An earlier try of a trial, which a later one replaced."""

    case_id: str
    attempt: int
    reason: str | None


class FailedCase(Frozen):
    """A trial with a failed or undecided check."""

    case_id: str
    attempt: int
    category: str
    success: bool | None
    crashed: bool = False
    """Whether the agent's program failed, so that what it printed last is the first reason."""
    reasons: tuple[str, ...]
    printed: tuple[PrintedEnd, ...] = ()
    """The last output of the agent's program."""


class Summary(Replay):
    """The summary of one run: what `harness run --json` and `harness report --json` print."""

    manifest: RunManifest
    counts: Counts
    success: Rate
    figures: tuple[Figure, ...]
    categories: tuple[TrialGroup, ...]
    """In the order of the suite."""
    failed: tuple[FailedCase, ...]
    unmeasured: tuple[Unmeasured, ...]
    retried: tuple[Retried, ...] = ()
    """Tries that the harness could not finish, each of which another one followed."""
    stopped: str | None = None
    """Why the run ended before its plan; None: it did not, or was killed."""
    reliability: tuple[Reliability, ...] = ()
    """pass@k and pass^k; empty where no case was tried twice."""
    unsteady: tuple[UnsteadyCase, ...] = ()
    failed_code: tuple[FailedCode, ...] = ()
    """Metrics, checks and detectors that raised; what they would have measured is missing from the figures."""
    failure_modes: tuple[FailureMode, ...] = ()
    broken_rules: tuple[BrokenRule, ...] = ()
    tools: tuple[ToolRow, ...] = ()
    models: tuple[ToolRow, ...] = ()
    """The same by the model that made the calls."""
    latency: Latency | None = None
    """None: nothing was answered by a real service."""
    judged: tuple[JudgedRubric, ...] = ()
    """By each rubric that the run was judged by."""
    seconds: dict[str, float] = {}
    """`<case>/<attempt>` -> how long the trial took, where that is known."""

    @property
    def crashed(self) -> bool:
        """Whether the agent's program failed in every trial that was measured, and none succeeded."""
        return 0 < self.counts.measured == self.counts.agent_failed and not self.success.successes

    def figure(self, metric: str) -> Figure | None:
        return next((figure for figure in self.figures if figure.metric == metric), None)
