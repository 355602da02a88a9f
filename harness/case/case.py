"""One case: a task, the agent's limits, and the checks of its success."""

from typing import Any, Final, Literal

from pydantic import Field, model_validator

from harness.case.conversation.conversation import Conversation
from harness.case.conversation.route import Route
from harness.case.conversation.user import CaseUser
from harness.case.fault import FaultSpec
from harness.case.probe import StateProbe
from harness.case.task_folder import TaskFolder
from harness.values import Frozen, JsonObject, JsonValue

UNTOLD_TASK: Final = "(the file does not tell the task)"
"""The task of an imported or observed case whose source has none: nothing can be measured against it."""


class Limits(Frozen):
    """What one trial may use; reaching one is the outcome `limit_reached`, not a failure of the harness."""

    seconds: float = Field(default=60.0, gt=0, le=86_400)
    """Wall-clock time of the trial."""
    steps: int = Field(default=50, gt=0)
    """Tool calls that the gateway answers; later ones are refused with `limit_reached`."""
    tokens: int | None = Field(default=None, gt=0)
    """The limit of the model's input and output tokens together; the call after the one that reaches it is rejected.
    None sets no limit.
    """
    cost_usd: float | None = Field(default=None, gt=0)
    """What the model's replies may cost by the suite's prices, refused like tokens. None: no limit."""
    misses: int | None = Field(default=None, ge=0, lt=100)
    """Different calls that may meet no recording. A trial with more of them fails its case, instead of being
    `inconclusive`; None: any number makes it inconclusive."""
    memory_mb: int = Field(default=512, ge=32)
    """Of all processes of the trial together."""
    processes: int = Field(default=128, ge=4)
    """Processes and threads at one time."""
    cpus: float = Field(default=1.0, gt=0)
    """Processors that the trial may use, also in fractions."""
    disk_mb: int = Field(default=64, ge=1)
    """Size of each writable place."""
    output_kb: int = Field(default=256, ge=1)
    """The stored size of the beginning of standard output and of standard error. Further output is counted and
    discarded, but for the last lines (at most 16 KB).
    """


class ReferenceCall(Frozen):
    """One call of the reference solution; `after` names the calls that must precede it (none: any time)."""

    id: str
    """Name of the call within the reference."""
    tool: str
    """Name of a tool of the suite."""
    arguments: JsonObject = {}
    """What the tool is called with."""
    after: tuple[str, ...] = ()
    """Ids of calls that must precede it. Empty: any time."""


class AdkSource(Frozen):
    """A case of a Google ADK evaluation set, unchanged."""

    case: JsonObject
    """The EvalCase."""
    eval_set: JsonObject = {}
    """The other fields of its evaluation set."""


class CheckSpec(Frozen):
    """A verifier by name with its parameters. A case succeeds when every one of its checks passes."""

    name: str
    """Name of the check in reports; unique within a case."""
    verifier: str
    """A built-in's name, an entry point's, `module:Name`, or `file.py:Name` in the suite's folder."""
    parameters: JsonObject = Field(default={}, alias="with")
    """The verifier's own parameters."""


Difficulty = Literal["easy", "medium", "hard"]


class Case(Frozen):
    """One task for the agent, with its checks."""

    id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")
    """Unique within the suite; part of file names."""
    description: str = ""
    """One line on what the case is about."""
    category: str = "general"
    """Group of cases in reports, and what `--category` selects."""
    difficulty: Difficulty = "medium"
    """The intended difficulty of the case; reports group by it."""
    task: str = Field(min_length=1)
    """The opening message; the agent reads it from `/turn`."""
    conversation: Conversation | None = None
    """The user's messages after the task; None where there are no further ones."""
    user: CaseUser | None = None
    """Who plays the user: `script`, `model`, `logged` or an installed user. None: as the suite says."""
    system: str | None = None
    """System prompt that `/turn` hands to the agent. None: none."""
    user_profile: JsonObject | None = None
    """What the agent may know about the user; handed out by `/turn`."""
    snapshot: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    """Name of a snapshot of the suite's environment that this case's trials start from; its services start from it
    too, and for this trial alone. None: the suite's."""
    tools: tuple[str, ...] | None = None
    """Names of the allowed tools; None: all of the suite's."""
    forbidden_tools: tuple[str, ...] = ()
    """Tools whose call fails the built-in tool checks."""
    required_tools: tuple[str, ...] = ()
    """Tools that must be called."""
    reference: tuple[ReferenceCall, ...] | None = None
    """One good way to do it. None: not known. Empty: no call is needed."""
    routes: tuple[Route, ...] = ()
    """Which sub-agents should act in which turns; what the metric `routing` compares with."""
    optimal_steps: int | None = Field(default=None, ge=0)
    """Fewest tool calls that solve the case. None: not known."""
    expected_output: JsonValue = None
    """The answer that is expected: the oracle replies with it, checks and evaluators compare with it."""
    expected: JsonValue = None
    """What the suite's own checks compare with; its shape is theirs."""
    probes: tuple[StateProbe, ...] = ()
    """In addition to the suite's probes."""
    checks: tuple[CheckSpec, ...] = ()
    """In addition to the suite's checks."""
    nop_passes: bool = False
    """States that an agent that does nothing is intended to pass this case."""
    limits: Limits = Limits()
    """What one trial may use."""
    fixtures: tuple[str, ...] = ()
    """Packs in the suite's `fixtures/` that replace the tools' answers; later ones take precedence."""
    faults: tuple[FaultSpec, ...] = ()
    """Faults that are injected between the agent and its tools."""
    clock: str | None = None
    """ISO 8601 instant at which the agent's wall clock starts; None: the real time."""
    tags: tuple[str, ...] = ()
    """Words that `--tag` selects by."""
    origin: str | None = None
    """The source of the case, such as the run and trial that it was made from."""
    adk: AdkSource | None = None
    """The case as Google ADK writes it, for `harness export adk`; None where it was not read from there."""
    task_folder: TaskFolder | None = None
    """Set where the case was read from a `task.toml`, not by hand."""

    @property
    def has_oracle(self) -> bool:
        """Whether the oracle has something to do: calls of a reference, or the solution of a task folder."""
        return self.reference is not None if self.task_folder is None else self.task_folder.has_solution

    @model_validator(mode="before")
    @classmethod
    def _user_by_name(cls, data: Any) -> Any:
        user = data.get("user") if isinstance(data, dict) else None
        return {**data, "user": {"kind": user}} if isinstance(user, str) else data

    @model_validator(mode="before")
    @classmethod
    def _opening_is_the_task(cls, data: Any) -> Any:
        conversation = data.get("conversation") if isinstance(data, dict) else None
        opening = conversation.get("opening") if isinstance(conversation, dict) else None
        if opening is None:
            return data
        if data.get("task", opening) != opening:
            raise ValueError("`task` and `conversation.opening` are the same message; give one of them")
        return {**data, "task": opening}

    @model_validator(mode="after")
    def _reference_is_a_dag(self) -> "Case":
        earlier: set[str] = set()
        for call in self.reference or ():
            if call.id in earlier:
                raise ValueError(f"reference call id {call.id!r} is given twice")
            unknown = set(call.after) - earlier
            if unknown:
                raise ValueError(
                    f"reference call {call.id!r} comes after {sorted(unknown)}, which do not stand before it"
                )
            earlier.add(call.id)
        return self
