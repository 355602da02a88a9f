"""The plan of a run, and the options that it is made of."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from pydantic import Field

from harness.errors import UsageError
from harness.gateway.budgets import Budget
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import PlannedTrial
from harness.sandbox.providers import ProviderName
from harness.suite.cases import Case
from harness.suite.interventions import TrialVariant
from harness.suite.models import ModelMode, ToolMode
from harness.suite.suites import Gates, Suite, check_cases
from harness.text import alternatives
from harness.users.users import UserOptions
from harness.values import Frozen


def shard_of(planned: Sequence[PlannedTrial], number: int, count: int) -> tuple[PlannedTrial, ...]:
    """Every `count`-th trial from the `number`-th (counted from 1), so that long cases are spread over the shards."""
    return tuple(planned[number - 1 :: count])


ExecutorName = str
"""A built-in's, or an entry point's in the group `harness.executor`."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The selected cases of a suite; all given parts must match."""

    cases: Sequence[str] = ()
    """Patterns of ids."""
    only: Sequence[str] = ()
    """`FIELD=VALUE`, of the fields in `FIELDS`; of several values of a field, one is enough."""
    failed_in: Path | None = None
    """A run folder: only cases that did not succeed there."""


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
    gates: Gates = field(default_factory=Gates)
    """What the run is judged by; its manifest keeps them."""
    refresh: bool = False
    """Recording replaces answers that differ from the cassette's."""
    otlp_endpoint: str | None = None
    """The URL that spans are posted to while trials run; None: nowhere."""
    cassettes: Path | None = None
    """Where the cassettes are; None: the project's own."""
    variants: Mapping[tuple[str, int], TrialVariant] = field(default_factory=dict)
    """Trials, by case and attempt, that are run otherwise than their case says."""
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

    Raises UsageError if no case is selected.
    """
    wanted = selected_cases(suite, selection.cases, selection.only)
    if selection.failed_in is not None:
        succeeded = _succeeded(RunFolder.open(selection.failed_in))
        wanted = [case for case in wanted if case.id not in succeeded]
    if not wanted:
        raise UsageError(
            f"no case of suite {suite.name!r} is selected",
            remedy=f"categories: {', '.join(sorted({case.category for case in suite.cases}))}",
        )
    return tuple(PlannedTrial(case_id=case.id, attempt=attempt) for case in wanted for attempt in range(1, trials + 1))


FIELDS: Final[Mapping[str, Callable[[Case], Collection[str]]]] = {
    "category": lambda case: (case.category,),
    "tag": lambda case: case.tags,
}
"""The fields of a case that `--only` selects by."""


def selected_cases(suite: Suite, ids: Sequence[str] = (), only: Sequence[str] = ()) -> list[Case]:
    """The cases of which the id matches one of `ids`, and that have one of the values of each field of `only`.

    Raises UsageError for a pattern, field or value that no case has.
    """
    for pattern in ids:
        if not any(_has_id(case, pattern) for case in suite.cases):
            check_cases(suite, (pattern,))
    wanted: dict[str, set[str]] = {}
    for text in only:
        field, equals, value = text.partition("=")
        if not equals or field not in FIELDS:
            raise UsageError(f"invalid --only {text!r}: expected FIELD=VALUE", remedy=alternatives(field, FIELDS))
        known = sorted({each for case in suite.cases for each in FIELDS[field](case)})
        if value not in known:
            raise UsageError(f"no case of suite {suite.name!r} has {text}", remedy=alternatives(value, known))
        wanted.setdefault(field, set()).add(value)
    return [
        case
        for case in suite.cases
        if (not ids or any(_has_id(case, pattern) for pattern in ids))
        and all(values.intersection(FIELDS[field](case)) for field, values in wanted.items())
    ]


def _has_id(case: Case, pattern: str) -> bool:
    return case.id == pattern or fnmatchcase(case.id, pattern)


def _succeeded(run: RunFolder) -> set[str]:
    """Cases of which every attempt of the run succeeded."""
    by_case: dict[str, list[bool]] = {}
    for card in run.cards():
        by_case.setdefault(card.case_id, []).append(card.success is True)
    return {case_id for case_id, successes in by_case.items() if all(successes)}


class RunOptions(Frozen):
    """All options of one run: those of `harness run`, and the arguments of `harness.run`.

    Raises pydantic's ValidationError for an invalid value. Exactly one of `suite` and `resume` is set.
    """

    suite: str | None = None
    """The suite's name; None: that of the run in `resume`."""
    agent: str | None = None
    """A version of the suite's agent, or `oracle` or `nop`; None: the suite's default."""
    variables: tuple[str, ...] = ()
    """`NAME=VALUE`: values of variables that the agent declares."""
    prompts: tuple[str, ...] = ()
    """`NAME@VERSION`: a version of one of the agent's prompts. `@LABEL`: the label that chooses the versions of the
    others; default: `@production`.
    """
    tools: ToolMode = "replay"
    """The tool mode."""
    model: ModelMode | None = None
    """The mode of the models of the agent and of the users; None selects the suite's settings."""
    user: str | None = None
    """The kind of simulated users: `script`, `model`, `logged`, `logged:RUN` (which replays the conversations of RUN),
    or an installed one; None: as suite and cases declare.
    """
    user_mode: ModelMode | None = None
    """The mode of the users' model, if it is not that of `model`."""
    budget: tuple[str, ...] = ()
    """`usd=AMOUNT`, `tokens=N`, `calls:TOOL=N`: the run stops when models have cost or used as much, or before real
    call N+1 of the tool.
    """
    sandbox: ProviderName | None = None
    """The sandbox provider; None: `local` for a command that was recorded in the active virtual environment, else
    `docker`."""
    executor: ExecutorName = "local"
    """The executor of the trials."""
    cases: tuple[str, ...] = ()
    """Patterns of the ids of the selected cases; all given parts of the selection must match."""
    only: tuple[str, ...] = ()
    """`FIELD=VALUE`: only cases with this category or tag."""
    failed_in: str | None = None
    """Only cases that did not succeed in this run."""
    trials: int = Field(default=1, ge=1, le=1000)
    """Attempts at each case."""
    run_name: str | None = None
    """Name of the run folder; None: derived from time, suite and agent."""
    release: str | None = None
    """Release of the agent; None: the tag or commit in git."""
    resume: str | None = None
    """A run to resume, by name or path."""
    jobs: int | None = Field(default=None, ge=1)
    """Number of parallel trials; None: as many as the machine can run."""
    shard: tuple[int, int] | None = None
    """(2, 4): the second of four parts."""
    refresh: bool = False
    """With `tools="record"`: replace recordings whose answer has changed."""
    floors: tuple[str, ...] = ()
    """`METRIC=VALUE`: gates of the command line, in addition to those of the suite."""
    no_worse_than: tuple[str, ...] = ()
    """`METRIC=MARGIN`: gates of the command line, compared with the baseline."""
    against_baseline: bool = False
    """Whether the command line gates by the suite's baseline."""
    allow_unmeasured: int | None = Field(default=None, ge=0)
    """The number of unmeasured trials that a gate allows. None selects the suite's gates."""
    max_inconclusive: int | None = Field(default=None, ge=0)
    """Maximum number of trials with a replay miss; with more, the command line exits 1. None selects the suite's gates.
    """
    otlp: str | None = None
    """URL of an OTLP/HTTP endpoint that receives the spans."""
    as_json: bool = False
    """The command line prints the summary as JSON."""


# The values of a suite's secrets, taken from the environment and known only to the gateway.


def secret_values(suite: Suite) -> dict[str, str]:
    """Name -> value of the secrets that are set in the environment."""
    return {name: os.environ[name] for name in suite.secrets if os.environ.get(name)}
