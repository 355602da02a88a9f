"""The plan of a run: trials, agent, and sources of answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from harness.case import Case, ModelMode, Suite, ToolMode, TrialVariant, check_cases
from harness.errors import UsageError
from harness.results import PlannedTrial, RunFolder, shard_of
from harness.sandbox import ProviderName
from harness.simulate import UserOptions
from harness.upstream import Budget

ExecutorName = str
"""A built-in's, or an entry point's in the group `harness.executor`."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The selected cases of a suite; all given parts must match."""

    cases: Sequence[str] = ()
    categories: Sequence[str] = ()
    difficulties: Sequence[str] = ()
    tags: Sequence[str] = ()
    failed_in: Path | None = None
    """A run folder: only cases that did not succeed there."""


@dataclass(frozen=True, kw_only=True)
class StopEarly:
    """The condition of `--stop-early`."""

    floor: float | None = None
    """The required success rate; None: a narrow interval is enough."""


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """A plan with all options resolved: cases, agent, modes, sandbox, executor."""

    project: Path
    suite: Suite
    planned: tuple[PlannedTrial, ...]
    agent: str | None = None
    tools: ToolMode = "replay"
    model: ModelMode | None = None
    """None selects the suite's setting."""
    budget: Budget | None = None
    """The budget of the run; None: unlimited."""
    users: UserOptions = field(default_factory=UserOptions)
    """The simulated users, which override suite and cases."""
    sandbox: ProviderName = "docker"
    executor: ExecutorName = "local"
    """`ray`: on the machines of a Ray cluster; other names are installed executors."""
    ray_address: str = "auto"
    jobs_per_node: int | None = None
    """Parallel trials on each node of a cluster; None: the number of its processors in Ray."""
    shard: tuple[int, int] | None = None
    """(2, 4): the second of four parts; `planned` is the whole run all the same."""
    name: str | None = None
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    release: str | None = None
    jobs: int = 1
    """Parallel trials that use a processor."""
    most: int = 0
    """All parallel trials, including those that wait for a live answer."""
    prefetch: int = 0
    """Containers that are started before they are needed; only with the sandbox `docker`."""
    shuffle: int | None = None
    """The seed of the order in which trials start; results are in the planned order."""
    replay: Literal["strict", "lenient"] = "strict"
    """`lenient`: a call that the cassette does not hold in this state is answered as at an earlier one."""
    max_inconclusive: int = 0
    """Trials with a replay miss that the run may have; kept with it for its reports."""
    refresh: bool = False
    """Recording replaces answers that differ from the cassette's."""
    otlp_endpoint: str | None = None
    """The URL that spans are posted to while trials run; None: nowhere."""
    cassettes: Path | None = None
    """Where the cassettes are; None: the project's own."""
    variants: Mapping[tuple[str, int], TrialVariant] = field(default_factory=dict)
    """Trials, by case and attempt, that are run otherwise than their case says."""
    early: StopEarly | None = None
    """The condition of an early end; None: all trials are made."""
    resumes: Path | None = None
    """The run folder to resume; None: a new run."""
    folder: str = "runs"
    """The folder of run folders, within the project."""

    @property
    def model_mode(self) -> ModelMode | None:
        """The mode of the model; None: the suite has no model."""
        return None if self.suite.model is None else self.model or self.suite.model.mode

    @property
    def own(self) -> tuple[PlannedTrial, ...]:
        """The trials that this run is to make: all that are planned, or its shard of them."""
        return self.planned if self.shard is None else shard_of(self.planned, *self.shard)

    @property
    def runs(self) -> Path:
        """The path of the folder of run folders."""
        return self.project / self.folder


def planned_trials(suite: Suite, selection: Selection, trials: int) -> tuple[PlannedTrial, ...]:
    """`trials` attempts at each selected case, in the suite's order.

    Raises UsageError where no case is selected.
    """
    check_cases(suite, selection.cases)
    wanted = [case for case in suite.cases if _selected(case, selection)]
    if selection.failed_in is not None:
        succeeded = _succeeded(RunFolder.open(selection.failed_in))
        wanted = [case for case in wanted if case.id not in succeeded]
    if not wanted:
        raise UsageError(
            f"no case of suite {suite.name!r} is selected",
            remedy=f"categories: {', '.join(sorted({case.category for case in suite.cases}))}",
        )
    return tuple(PlannedTrial(case_id=case.id, attempt=attempt) for case in wanted for attempt in range(1, trials + 1))


def _selected(case: Case, selection: Selection) -> bool:
    return all(
        [
            not selection.cases or case.id in selection.cases,
            not selection.categories or case.category in selection.categories,
            not selection.difficulties or case.difficulty in selection.difficulties,
            not selection.tags or bool(set(selection.tags) & set(case.tags)),
        ]
    )


def _succeeded(run: RunFolder) -> set[str]:
    """Cases of which every attempt of the run succeeded."""
    by_case: dict[str, list[bool]] = {}
    for card in run.scorecards():
        by_case.setdefault(card.case_id, []).append(card.success is True)
    return {case_id for case_id, successes in by_case.items() if all(successes)}
