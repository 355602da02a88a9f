"""One validated value for all options of a run, on the command line and in a program."""

from typing import Literal

from pydantic import Field

from harness.case import ModelMode, ToolMode
from harness.pipeline.plan.plan import ExecutorName
from harness.sandbox import ProviderName
from harness.values import Frozen


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
    prompt_label: str | None = None
    """The label by which versions of the agent's prompts are chosen; None: `production`."""
    prompts: tuple[str, ...] = ()
    """`NAME@VERSION`: versions of the agent's prompts that are chosen in place of the label's."""
    tools: ToolMode = "replay"
    """The tool mode."""
    model: ModelMode | None = None
    """The mode of the model endpoint; None selects the suite's setting."""
    user: str | None = None
    """The kind of simulated users: `script`, `model`, `logged` or an installed one; None: as suite and cases declare.
    """
    user_mode: ModelMode | None = None
    """The mode of the users' model; None selects the suite's setting."""
    user_log: str | None = None
    """The run whose conversations the user `logged` replays; None: the logs that the cases name."""
    budget_usd: float | None = Field(default=None, gt=0)
    """The run stops when models have cost this many US dollars."""
    budget_tokens: int | None = Field(default=None, ge=1)
    """The run stops when models have used this many tokens."""
    budget_calls: tuple[str, ...] = ()
    """`TOOL=N`: the run stops before real call N+1 of the tool."""
    sandbox: ProviderName = "docker"
    """The sandbox provider."""
    executor: ExecutorName = "local"
    """The executor of the trials."""
    ray_address: str = "auto"
    """The address of the cluster of the executor `ray`."""
    cases: tuple[str, ...] = ()
    """The selected cases; all given parts of the selection must match."""
    categories: tuple[str, ...] = ()
    difficulties: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    failed_in: str | None = None
    """Only cases that did not succeed in this run."""
    trials: int = Field(default=1, ge=1, le=1000)
    """Attempts at each case."""
    against: str | None = None
    """The run that `no_worse_than` compares with, by name or path; None: the suite's baseline."""
    stop_early: bool = False
    """Stop the run once its success rate is precise enough: see `harness run --stop-early`."""
    check_determinism: bool = False
    """Reject live models; the command line exits 1 if two attempts at a case differ."""
    run_name: str | None = None
    """Name of the run folder; None: derived from time, suite and agent."""
    release: str | None = None
    """Release of the agent; None: the tag or commit in git."""
    resume: str | None = None
    """A run to resume, by name or path."""
    jobs: int | None = Field(default=None, ge=1)
    """Number of parallel trials; None: as many as the machine can run."""
    prefetch: int | None = Field(default=None, ge=0)
    """Number of containers that are started in advance; None: 2 with one job, else 0."""
    shard: tuple[int, int] | None = None
    """(2, 4): the second of four parts."""
    shuffle: int | None = None
    """The seed of the order in which trials start; results are in the planned order."""
    replay: Literal["strict", "lenient"] = "strict"
    """`lenient`: answer a replay miss from the nearest earlier state."""
    refresh: bool = False
    """With `tools="record"`: replace recordings whose answer has changed."""
    floors: tuple[str, ...] = ()
    """`METRIC=VALUE`: gates of the command line, in addition to those of the suite."""
    no_worse_than: tuple[str, ...] = ()
    """`METRIC=MARGIN`: gates of the command line, compared with the run in `against`, else with the baseline."""
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
