"""One validated value for all options of a run, on the command line and in a program."""

from typing import Literal

from pydantic import Field

from harness.case import ModelMode, ToolMode
from harness.pipeline.plan import ExecutorName
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
    tools: ToolMode = "replay"
    """Who answers the tools' calls."""
    model: ModelMode | None = None
    """The mode of the model endpoint; None selects the suite's setting."""
    user: str | None = None
    """Who plays the users: `script`, `model`, `logged` or an installed user; None: as suite and cases say."""
    user_mode: ModelMode | None = None
    """Who answers for the users' model; None selects the suite's setting."""
    user_log: str | None = None
    """A run whose conversations `logged` plays back; None: those that the cases name."""
    budget_usd: float | None = Field(default=None, gt=0)
    """The run stops when models have cost this many US dollars."""
    budget_tokens: int | None = Field(default=None, ge=1)
    """The run stops when models have used this many tokens."""
    budget_calls: tuple[str, ...] = ()
    """`TOOL=N`: the run stops at one more real call."""
    sandbox: ProviderName = "docker"
    """Where the agent runs."""
    executor: ExecutorName = "local"
    """What runs the trials."""
    ray_address: str = "auto"
    """Where the cluster of the executor `ray` is."""
    cases: tuple[str, ...] = ()
    """The selected cases; all given parts of the selection must match."""
    categories: tuple[str, ...] = ()
    difficulties: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    failed_in: str | None = None
    """Only cases that this run did not see succeed."""
    trials: int = Field(default=1, ge=1, le=1000)
    """Attempts at each case."""
    stop_early: bool = False
    """End the run once its success rate is known well enough: see `harness run --stop-early`."""
    check_determinism: bool = False
    """Refuse what cannot be deterministic; the command line exits 1 where two attempts at a case differ."""
    run_name: str | None = None
    """Name of the run folder; None: made of time, suite and agent."""
    release: str | None = None
    """What to call the state of the agent; None: git's tag or commit."""
    resume: str | None = None
    """A run to go on with, by name or path."""
    jobs: int | None = Field(default=None, ge=1)
    """Trials side by side; None: what this machine holds."""
    prefetch: int | None = Field(default=None, ge=0)
    """Containers that are started before they are needed; None: 2 with one job, else 0."""
    shard: tuple[int, int] | None = None
    """(2, 4): the second of four parts."""
    shuffle: int | None = None
    """The seed of the order in which trials start; results are in the planned order."""
    replay: Literal["strict", "lenient"] = "strict"
    """`lenient`: rather than miss, answer as at the nearest earlier state."""
    refresh: bool = False
    """With `tools="record"`: replace recordings whose answer changed."""
    floors: tuple[str, ...] = ()
    """`METRIC=VALUE`: what the command line gates by, beside the suite's own gates."""
    against_baseline: bool = False
    """The command line gates by the suite's baseline."""
    allow_unmeasured: int | None = Field(default=None, ge=0)
    """The number of unmeasured trials that a gate allows. None selects the suite's gates."""
    max_inconclusive: int | None = Field(default=None, ge=0)
    """Trials with a replay miss before the command line exits 1. None: likewise."""
    otlp: str | None = None
    """Address of an OTLP/HTTP endpoint that is sent the spans too."""
    as_json: bool = False
    """The command line prints the summary as JSON."""
