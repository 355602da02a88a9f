"""One case: a task, the agent's limits, the checks of its success, and what the harness reads or breaks around
the trial.
"""

import itertools
import math
import posixpath
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, Final, Literal

from pydantic import Field, JsonValue, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from harness.suite.conversations import CaseUser, Conversation, Route
from harness.values import Frozen, JsonObject

_OF_HARNESS: Final = ("/agent", "/harness", "/run", "/proc", "/sys", "/dev", "/tests", "/solution", "/logs/verifier")
_OF_SYSTEM: Final = ("/bin", "/etc", "/lib", "/lib64", "/sbin", "/usr")
TESTS_CHECK = "tests"
"""Name of the check that runs the tests of a task folder."""


class TaskFolder(Frozen):
    """The folder of a case that was read from a `task.toml`; never written by hand."""

    folder: str
    """The folder, relative to the suite's."""
    digest: str
    """Sha-256 over every file in it."""
    image: str | None = None
    """Name of an image of a registry, if the folder has no Dockerfile."""
    workdir: str | None = None
    """Where programs start. None: the image's `WORKDIR`."""
    env: dict[str, str] = {}
    """Environment variables of the agent, the solution and the tests."""
    solution_env: dict[str, str] = {}
    """Environment variables of the solution alone."""
    has_solution: bool = False
    """Whether there is a `solution/solve.sh`, which the oracle runs."""
    writable: tuple[str, ...] = ()
    """Writable places besides the usual ones."""


def place_problem(place: str) -> str | None:
    """Why a folder of the sandbox cannot be a writable place of a task; None if it can."""
    path = PurePosixPath(place)
    if not path.is_absolute() or ".." in path.parts or str(path) != place:
        return f"{place!r} is not a plain absolute path"
    if any(path.is_relative_to(own) or PurePosixPath(own).is_relative_to(path) for own in _OF_HARNESS):
        return f"{place!r} cannot be writable: it holds, or is in, what the harness or the tests put there"
    if place in _OF_SYSTEM:
        return f"{place!r} cannot be writable: it holds the programs and libraries of the image"
    return None


ALL_TABLES = "*"


class SqlProbe(Frozen):
    """Reads a database: the result of a query at the end, or the trial's changes of whole tables.

    A query returns `{"rows": [...]}`; tables return `{"tables": {name: {rows, digest, added, removed, changed}}}`,
    where the primary key identifies rows and defines the order of the digest. Both return `{"error": text}` if the
    database rejects the query, and `{"unmeasurable": reason}` if it cannot be read within the limits: `timeout_s`,
    memory, 64 MiB of database, 16 MiB of rows. SQLite files are copied into a sandbox and read there: without opening
    any file that the database names, and without a rollback journal. Exactly one of `service` and `path`, and of
    `query` and `tables`.
    """

    service: str | None = None
    """A service of the environment that declares its `database`."""
    path: str | None = None
    """A SQLite file that the agent leaves in its sandbox, relative to /work; read in every tool mode."""
    query: str | None = Field(default=None, min_length=1)
    """One SELECT; the order of its rows is kept. It cannot write."""
    tables: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Names of tables; `["*"]`: all. A table outside of PostgreSQL's schema `public` is `schema.table`."""
    ignore: dict[str, tuple[str, ...]] = {}
    """Table -> columns that are left out: times, random tokens."""
    timeout_s: float = Field(default=30.0, gt=0)
    """Processor time for SQLite, for PostgreSQL the time of a statement."""

    @model_validator(mode="after")
    def _one_of_each(self) -> "SqlProbe":
        if (self.service is None) == (self.path is None):
            raise ValueError("give exactly one of `service` and `path`")
        if (self.query is None) == (self.tables is None):
            raise ValueError("give exactly one of `query` and `tables`")
        if self.ignore and self.tables is None:
            raise ValueError("`ignore` is for `tables`: leave the columns out of the query")
        return self

    @property
    def file(self) -> str:
        """The absolute path of the file in the sandbox."""
        return posixpath.join("/work", self.path or "")

    @property
    def wanted(self) -> tuple[str, ...]:
        """The tables by name; empty: all."""
        return () if self.tables is None or ALL_TABLES in self.tables else self.tables


class ApiProbe(Frozen):
    """A request to a tool server, which gives `{"status": ..., "body": ...}` whatever the status is."""

    server: str
    """One of the suite's `servers` that speaks HTTP."""
    method: Literal["GET", "POST"] = "GET"
    """POST only if the server may be written to: a service, or `disposable`."""
    path: str = Field(pattern=r"^/[^{}\s]*$")
    """Below the server's address, the query included."""
    body: JsonValue = None
    """JSON body of a POST."""
    timeout_s: float = Field(default=30.0, gt=0)
    """Seconds within which the server must have answered."""


class StateProbe(Frozen):
    """A read that the harness itself makes after the agent has ended, stored as evidence under `name`.

    It passes the gateway like any call (replayed from the cassette by the state after the agent's writes), and is not a
    step of the agent. Exactly one of `tool`, `sql` and `api`.
    """

    name: str
    """Name that checks refer to."""
    tool: str | None = None
    """A tool of the suite with effect: read."""
    arguments: JsonObject = {}
    """Of the tool."""
    sql: SqlProbe | None = None
    """Rows of a database."""
    api: ApiProbe | None = None
    """A request to a tool server."""

    @field_validator("name")
    @classmethod
    def _has_one(cls, value: str) -> str:
        if not value:
            raise ValueError("a probe needs a name")
        return value

    @model_validator(mode="after")
    def _one_kind(self) -> "StateProbe":
        given = [name for name in ("tool", "sql", "api") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("needs exactly one of `tool`, `sql` and `api`")
        if self.arguments and self.tool is None:
            raise ValueError("`arguments` are a tool's")
        return self


# A fault that a case injects between the agent and a tool, to see whether the agent recovers.
#
# A fault is an overlay: no recording is changed by it, and none is made of it.

FaultKind = Literal[
    "latency",
    "timeout",
    "http_status",
    "malformed",
    "empty",
    "missing_field",
    "reset",
]
"""`timeout`, `http_status` and `reset` keep the call from the tool; the others change or delay its answer."""

UNREACHED: frozenset[FaultKind] = frozenset({"timeout", "http_status", "reset"})
"""Faults after which the same call may be made again: the tool never saw it."""

_NEEDED: dict[FaultKind, tuple[str, ...]] = {
    "http_status": ("status",),
    "missing_field": ("at",),
    "latency": ("seconds",),
}


class FaultSpec(Frozen):
    """Which calls it strikes, and what it does to them.

    Calls are counted per tool, from 1, and only those that are valid and allowed; a call that a fault struck counts.
    The harness's own probes are never struck.
    """

    tool: str
    """Name of a tool, or `*`: any of them, counted together."""
    kind: FaultKind
    """What happens to the call or to its answer."""
    call: int = Field(ge=1)
    """The n-th call is struck."""
    status: int | None = Field(default=None, ge=400, le=599)
    """HTTP status of a fault of kind `http_status`."""
    seconds: float = Field(default=0.0, ge=0, le=3600)
    """How long a latency or a timeout takes."""
    at: str | None = Field(default=None, pattern=r"^(/[^/]*)+$")
    """Of a missing field: JSON pointer into the tool's answer; `*` matches every item of a list or an object."""

    @model_validator(mode="after")
    def _is_whole(self) -> "FaultSpec":
        needed = set(_NEEDED.get(self.kind, ()))
        for name in ("status", "at", "seconds"):
            if (name in needed) and getattr(self, name) in {None, 0.0}:
                raise ValueError(f"a fault of kind {self.kind} needs `{name}`")
            if name not in needed and name != "seconds" and getattr(self, name) is not None:
                raise ValueError(f"`{name}` says nothing for a fault of kind {self.kind}")
        return self

    @property
    def words(self) -> str:
        """The fault in a report's words."""
        what = f"{self.kind} {self.status}" if self.status is not None else self.kind
        return f"{what} at {self.tool}, call {self.call}"


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
    """Different calls that may have no recording. A trial with more of them fails its case, instead of being
    `inconclusive`; None: any number makes it inconclusive.
    """
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


_MOST_VARIANTS: Final = 256


class ReferenceCall(Frozen):
    """One call of the reference solution; `after` names the calls that must precede it (none: any time)."""

    id: str
    """Name of the call within the reference."""
    tool: str
    """Name of a tool of the suite."""
    arguments: JsonObject = {}
    """What the tool is called with."""
    any_of: dict[str, tuple[JsonValue, ...]] = {}
    """Argument -> other values that are as right as that of `arguments`; null: it may be left out."""
    after: tuple[str, ...] = ()
    """Ids of calls that must precede it. Empty: any time."""

    @model_validator(mode="after")
    def _has_few_variants(self) -> "ReferenceCall":
        if math.prod(1 + len(values) for values in self.any_of.values()) > _MOST_VARIANTS:
            raise ValueError(f"`any_of` allows more than {_MOST_VARIANTS} combinations of arguments")
        return self

    @property
    def variants(self) -> Iterator[JsonObject]:
        """The arguments in each way that is right, those of `arguments` first."""
        choices = [(self.arguments.get(name), *values) for name, values in self.any_of.items()]
        for values in itertools.product(*choices):
            chosen = dict(zip(self.any_of, values, strict=True))
            left_out = {name for name in chosen if chosen[name] is None and self.arguments.get(name, "") is not None}
            yield {name: value for name, value in {**self.arguments, **chosen}.items() if name not in left_out}


class CheckSpec(Frozen):
    """A verifier by name with its parameters. A case succeeds when every one of its checks passes."""

    name: str
    """Name of the check in reports; unique within a case."""
    verifier: str
    """A built-in's name, an entry point's, `module:Name`, or `file.py:Name` in the suite's folder."""
    parameters: JsonObject = Field(default={}, alias="with")
    """The verifier's own parameters."""


class Case(Frozen):
    """One task for the agent, with its checks."""

    id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")
    """Unique within the suite; part of file names."""
    description: str = ""
    """One line on what the case is about."""
    category: str = "general"
    """Group of cases in reports, and what `--only category=` selects."""
    task: str = Field(min_length=1)
    """The user's first message; the agent reads it from `/turn`."""
    conversation: Conversation | None = None
    """The user's messages after the task; None if there are no further ones."""
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
    """One good way to do it, in the fewest calls. None: not known. Empty: no call is needed."""
    routes: tuple[Route, ...] = ()
    """Which sub-agents should act in which turns; what the metric `routing` compares with."""
    expected_output: JsonValue = None
    """The answer that is expected: the oracle replies with it, and checks compare with it."""
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
    """Words that `--only tag=` selects by, such as how hard the case is."""
    origin: str | None = None
    """The source of the case, such as the run and trial that it was made from."""
    task_folder: SkipJsonSchema[TaskFolder | None] = None
    """Set if the case was read from a `task.toml`, not by hand."""

    @property
    def has_oracle(self) -> bool:
        """Whether the oracle has something to do: calls of a reference, or the solution of a task folder."""
        return self.reference is not None if self.task_folder is None else self.task_folder.has_solution

    @model_validator(mode="before")
    @classmethod
    def _user_by_name(cls, data: Any) -> Any:
        user = data.get("user") if isinstance(data, dict) else None
        return {**data, "user": {"kind": user}} if isinstance(user, str) else data

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
