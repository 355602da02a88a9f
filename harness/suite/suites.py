"""A suite: cases, the agent's versions, the tools and what the scores need."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, model_validator

from harness.disk import is_file
from harness.errors import UsageError
from harness.suite.agents import AgentPrompt, AgentVersion, OptimiseSpec
from harness.suite.cases import Case, CheckSpec, Limits, StateProbe
from harness.suite.conversations import UserSpec
from harness.suite.expressions import check_expression
from harness.suite.fixtures import FixturePack
from harness.suite.hosts import HostSpec, Reset
from harness.suite.models import Doubles, ModelSpec
from harness.suite.tools import ToolSpec
from harness.text import alternatives
from harness.values import Frozen

DESCRIPTIONS: Final = "descriptions"

# How an answer of a tool is compared with its recording, if that is not word for word.

Comparison = Literal["ignore", "type", "exact", "regex", "approx", "set", "map"]


class AnswerRule(Frozen):
    """One rule for the value at a path of the answer; the first rule that matches a path applies."""

    at: str = Field(pattern=r"^(/[^/]*)*$")
    """A JSON pointer, `*` standing for every item of a list or member of an object; empty: the whole answer. A rule
    holds for everything below its place too.
    """
    compare: Comparison
    """`ignore`: not compared. `type`: only the kind of value is compared. `exact`: a changed value is drift at once,
    without days of learning that it is stable. `regex`: the expression must match. `approx`: numbers, within
    `tolerance`. `set`: a list whose order is irrelevant. `map`: an object whose keys are data, so that different keys
    are not lost fields; the rule does not apply to values below it.
    """
    regex: str | None = None
    """Of `regex`: a regular expression that the whole text must fit."""
    tolerance: float | None = Field(default=None, ge=0)
    """Of `approx`: the greatest difference that is none, in the number's own unit."""
    key: str | None = None
    """Of `set`: the member by which items are the same item."""

    @model_validator(mode="after")
    def _has_its_parameter(self) -> "AnswerRule":
        for name, owner in (("regex", "regex"), ("tolerance", "approx")):
            if (getattr(self, name) is not None) != (self.compare == owner):
                raise ValueError(f"`{name}` goes with `compare: {owner}`, and only with that")
        if self.key is not None and self.compare != "set":
            raise ValueError("`key` goes with `compare: set`, and only with that")
        if self.regex is not None:
            check_expression(self.regex)
        return self


class Gates(Frozen):
    """Conditions that are checked on every run of the suite, which exits 1 if one does not hold; not part of the
    suite's digest.

    An option of the command line overrides the gate for the same figure, or for the same number.
    """

    fail_under: dict[str, float] = {}
    """Figure (`task_success` or a metric) -> the least value that passes."""
    no_worse_than: dict[str, float | str] = {}
    """Figure (`task_success`, a metric, `latency_s`) -> the loss against the baseline that passes: a number, or a
    percentage (`10%`) for amounts such as `cost_usd`."""
    against_baseline: bool = False
    """Whether the run is compared with `baselines/<suite>.json`."""
    allow_unmeasured: int = Field(default=0, ge=0)
    """Trials that a gate may miss."""
    max_inconclusive: int = Field(default=0, ge=0)
    """Trials with a replay miss before the run exits 1."""

    @property
    def any(self) -> bool:
        """Whether a figure of the agent can fail the run."""
        return bool(self.fail_under or self.no_worse_than or self.against_baseline)

    @property
    def floors(self) -> tuple[str, ...]:
        """`fail_under` as the command line takes it."""
        return tuple(f"{figure}={least!r}" for figure, least in self.fail_under.items())

    @property
    def margins(self) -> tuple[str, ...]:
        """`no_worse_than` as the command line takes it."""
        return tuple(f"{figure}={margin}" for figure, margin in self.no_worse_than.items())


class McpServer(Frozen):
    """That a server speaks MCP, and how it is started if it is a program."""

    command: tuple[str, ...] = ()
    """A program that speaks MCP over stdio, started again for each trial on this machine; `{suite}` is the suite's
    folder, `{work}` a new folder that is also its working directory. Empty: the server is reached over HTTP.
    """
    env: dict[str, str] = {}
    """The environment of the program besides PATH and HOME; `${NAME}` inserts a secret of the suite."""
    files: str | None = None
    """A folder of the suite whose content each trial's `{work}` begins with."""
    path: str = "/mcp"
    """Where the service of an environment serves MCP."""


class ToolServer(Frozen):
    """The server of a group of tools: a service of the environment, or a base URL.

    Exactly one of `service` and `base_url` is set in a suite's `servers`; the groups in its `tools` define servers that
    are programs (`mcp.command`), Python functions, the trial's own sandbox or its browser. `session_header` carries the
    trial's id, so that trials that share a live service do not share its state; it never enters a recording.
    """

    service: str | None = None
    """A service of the environment. Exactly one of `service` and `base_url` is set."""
    base_url: str | None = None
    """Address that a tool's path is put behind."""
    session_header: str | None = None
    """The header that carries the trial's id, so that a live server can distinguish the trials that share it. It never
    enters a recording.
    """
    state: str | None = None
    """The name of the state that its calls read and write; None selects its own, or that of the other servers of its
    service. Servers and hosts that share a backend name one state, so that a write through one counts for a read
    through the other. The server's own name declares that it shares its state with no other.
    """
    headers: dict[str, str] = {}
    """Sent with every live call; `${NAME}` takes the environment variable NAME, which must be in `secrets`."""
    disposable: bool = False
    """States that the server's state may be discarded; live writes are allowed only then."""
    double: bool = False
    """States that it replaces the real server: a stub, a fake, a service written for the tests. Its recordings are
    marked, and so are reports whose figures depend on them.
    """
    command: tuple[str, ...] = ()
    """A program that serves `base_url`: started in the suite's folder for each run that calls the server live, with the
    suite's secrets in its environment, and ended with the run. Empty: the server runs already.
    """
    reset: Reset | None = None
    """What brings the live server back to a known state before each trial."""
    mcp: McpServer | None = None
    """That the server speaks MCP; set by a group of tools, not by hand."""
    python: str | None = None
    """A file of functions in the suite's folder."""
    sandbox: bool = False
    """Set by a group of sandbox tools, not by hand."""
    browser: bool = False
    """Set by a group of browser tools, not by hand."""

    @property
    def is_program(self) -> bool:
        """Each trial starts its own, on this machine."""
        return self.python is not None or (self.mcp is not None and bool(self.mcp.command))

    @property
    def speaks_http(self) -> bool:
        """Whether it answers plain HTTP requests, which probes of the kind `api` send."""
        return not (self.sandbox or self.browser or self.is_program or self.mcp is not None)


class Suite(Frozen):
    """A loaded suite; `folder` is its location, and not part of the digest."""

    name: str
    description: str = ""
    folder: Path
    environment: str | None = None
    """Name of a folder in `images/`; None: the base image and an empty snapshot."""
    snapshot: str | None = None
    """Name of a snapshot of that environment."""
    agents: dict[str, AgentVersion]
    """Empty for a folder of tasks without a `suite.yaml`, which the built-in agents can run."""
    agent_prompts: tuple[AgentPrompt, ...] = ()
    """Versions of prompts that take the place of agents' files; not part of the digest, like the agents."""
    servers: dict[str, ToolServer] = {}
    tools: tuple[ToolSpec, ...] = ()
    model: ModelSpec | None = None
    """None: the agent reaches no model through the gateway."""
    user: UserSpec = UserSpec()
    """Who plays the users of the cases."""
    hosts: tuple[HostSpec, ...] = ()
    """What the agent may reach over HTTP by itself; every other name is refused."""
    probes: tuple[StateProbe, ...] = ()
    checks: tuple[CheckSpec, ...] = ()
    """Verifiers that every case is checked with."""
    metrics: tuple[str, ...] = ()
    """What the suite's own code measures, beside what is built in: `file.py:Name`, `module:Name` or an entry point of
    the group `harness.metric`. A class has `measure` (a metric) or `find` (failures)."""
    secrets: tuple[str, ...] = ()
    """Names of environment variables whose values must never be stored."""
    drift: dict[str, tuple[AnswerRule, ...]] = {}
    """Maps a tool (or a pattern such as `get_*`) to the rules for comparing its answers with their recordings; not part
    of the digest, because the agent's task is unaffected.
    """
    gates: Gates = Gates()
    """What every run of the suite has to reach."""
    packs: dict[str, FixturePack] = {}
    """The fixture packs that cases name."""
    optimise: OptimiseSpec | None = None
    """What an optimisation may change; not part of the digest, because no trial depends on it."""
    defaults: Limits = Limits()
    cases: tuple[Case, ...] = Field(min_length=1)
    digest: str
    """The SHA-256 digest of cases, tools, checks and their code; the agents are not included."""

    def description_file(self, tool: str) -> Path:
        """Where the suite may have a tool's description, whose text is in `tools` already."""
        return self.folder / DESCRIPTIONS / f"{tool}.md"

    @property
    def default_agent(self) -> str:
        """The first agent; of a folder of tasks, which declares none, the oracle."""
        return next(iter(self.agents), "oracle")

    @property
    def reached(self) -> dict[str, ToolServer]:
        """Everything outside that calls can go to: the tool servers by name, and the hosts as `http:<host>`."""
        return self.servers | {host.tool: _server_of(host) for host in self.hosts}

    @property
    def doubles(self) -> Doubles:
        """The suite's doubles: those that are declared, and all servers of a service that is declared as a double."""
        declared = {name: server for name, server in self.reached.items() if server.double}
        services = frozenset(server.service for server in declared.values() if server.service is not None)
        same = {name for name, server in self.reached.items() if server.service in services}
        model = self.model is not None and self.model.double
        own = frozenset(name for name, server in self.servers.items() if server.sandbox or server.browser)
        return Doubles(servers=frozenset({*declared, *same}), services=services, model=model, own=own)

    def variables_of(self, agent: str) -> dict[str, str]:
        """The values of the variables of a version; empty for a built-in agent."""
        return dict(self.agents[agent].variables) if agent in self.agents else {}


def _server_of(host: HostSpec) -> ToolServer:
    here = None if host.service is not None else host.base_url or f"https://{host.host}"
    return ToolServer(
        service=host.service,
        base_url=here,
        session_header=host.session_header,
        state=host.state,
        headers=host.headers,
        disposable=host.disposable,
        double=host.double,
        command=host.command,
        reset=host.reset,
    )


@dataclass(frozen=True, kw_only=True)
class StateNames:
    """The state of each server and host; without content, each has its own and none depends on another."""

    names: Mapping[str, str] = field(default_factory=dict)
    """Server, or `http:<host>` -> the name of its state."""
    undeclared: frozenset[str] = frozenset()
    """Servers for which the suite does not declare whether they share the state of another one that can be
    written to.
    """


def state_names(suite: Suite) -> StateNames:
    """What the suite declares with `state`, and what follows from servers of one service."""
    reached = {name: one for name, one in suite.reached.items() if not (one.sandbox or one.browser)}
    names = {name: one.state or _of_service(name, one, reached) for name, one in reached.items()}
    declared = {one.state for one in reached.values() if one.state is not None}
    written = {names[name] for name in reached if _can_be_written(suite, name)}
    undeclared = {
        name
        for name, one in reached.items()
        if one.state is None and names[name] not in declared and written - {names[name]}
    }
    return StateNames(names=names, undeclared=frozenset(undeclared))


def _of_service(name: str, server: ToolServer, reached: Mapping[str, ToolServer]) -> str:
    """Servers of one service share its state: the one that another of them declares, else that of the first one by
    name.
    """
    if server.service is None:
        return name
    same = {other: one for other, one in reached.items() if one.service == server.service}
    said = sorted(one.state for one in same.values() if one.state is not None)
    return said[0] if said else min(same)


def _can_be_written(suite: Suite, name: str) -> bool:
    if any(host.tool == name for host in suite.hosts):
        return True
    return any(tool.server == name and tool.effect == "write" for tool in suite.tools)


def prompt_texts(suite: Suite, agent: str) -> dict[str, str]:
    """File, as `prompts` names it -> its text now, or that of the version in its place; files that are gone are left
    out, and a built-in agent has none.
    """
    declared = suite.agents.get(agent)
    if declared is None or declared.files is None:
        return {}
    folder: Path = suite.folder / declared.files
    files = {name: folder / name for name in declared.prompts if is_file(folder / name)}
    versions = {one.file: one.text for one in suite.agent_prompts if one.agent == agent}
    return {name: path.read_text(encoding="utf-8", errors="replace") for name, path in files.items()} | versions


def case_of(suite: Suite, case_id: str) -> Case:
    """The case called `case_id`. Raises UsageError if the suite has none, with the nearest ids."""
    for case in suite.cases:
        if case.id == case_id:
            return case
    known = [case.id for case in suite.cases]
    raise UsageError(f"suite {suite.name!r} has no case {case_id!r}", remedy=alternatives(case_id, known))


def check_cases(suite: Suite, case_ids: Iterable[str]) -> None:
    """Raises UsageError for the first id, in alphabetical order, that no case of the suite has."""
    for case_id in sorted(set(case_ids)):
        case_of(suite, case_id)


def allowed_hosts(suite: Suite, case: Case) -> frozenset[str]:
    """A case that lists allowed tools lists its hosts there, too; a forbidden host can be reached, because the request
    is scored.
    """
    declared = frozenset(host.tool for host in suite.hosts)
    return declared if case.tools is None else declared & {*case.tools, *case.forbidden_tools}
