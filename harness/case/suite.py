"""A suite: cases, the agent's versions, the tools and what the scores need."""

from fnmatch import fnmatchcase
from pathlib import Path

from pydantic import Field

from harness.case.agent import AgentPrompt, AgentVersion
from harness.case.answer import AnswerRule
from harness.case.case import Case, CheckSpec, Limits
from harness.case.composite import CompositePart
from harness.case.conversation.user import UserSpec
from harness.case.endpoints.host import HostSpec
from harness.case.endpoints.model import ModelSpec
from harness.case.endpoints.provenance import Doubles
from harness.case.endpoints.reset import Reset
from harness.case.endpoints.tool import ToolSpec
from harness.case.fixture import FixturePack
from harness.case.gates import Gates
from harness.case.optimising import OptimiseSpec
from harness.case.probe import StateProbe
from harness.values import Frozen, JsonObject


class McpServer(Frozen):
    """That a server speaks MCP, and how it is started where it is a program."""

    command: tuple[str, ...] = ()
    """A program that speaks MCP over stdio, started anew for each trial on this machine; `{suite}` is the suite's
    folder, `{work}` a new folder that is also its working directory. Empty: the server is reached over HTTP."""
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
    retries: int = Field(default=2, ge=0, le=10)
    """How often a live *read* is sent again that met no connection, or one that was lost before any answer. A write is
    never sent twice."""
    health: str | None = Field(default=None, pattern="^/")
    """A path that answers with a status below 300 where the live server is ready; requested before the first trial."""
    reset: Reset | None = None
    """What brings the live server back to a known state before each trial."""
    mcp: McpServer | None = None
    """That the server speaks MCP; set by a group of tools, not by hand."""
    python: str | None = None
    """A file of functions in the suite's folder."""
    tool_source: str | None = None
    """The name of a tool source of a package or of the suite; set by a group of tools, not by hand."""
    parameters: JsonObject = {}
    """The fields of that tool source; set by a group of tools, not by hand."""
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
        return not (self.sandbox or self.browser or self.is_program or self.mcp is not None or self.tool_source)


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
    default_agent: str
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
    """Metrics of the suite's own, beside the built-in ones: `file.py:Name`, `module:Name` or an entry point. A function
    is taken for an item-level evaluator: `(*, output, expected_output, **kwargs)`."""
    run_metrics: tuple[str, ...] = ()
    """Figures over a whole run, of the suite's own; a function is taken for a run-level evaluator:
    `(*, item_results, **kwargs)`."""
    detectors: tuple[str, ...] = ()
    """Detectors of failures of the suite's own, beside the built-in ones: `file.py:Name`, `module:Name` or an entry
    point in the group `harness.detector`."""
    composite: dict[str, CompositePart] = {}
    """Metric -> its weight in the figure `composite`; empty: there is none."""
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
    descriptions: dict[str, str] = {}
    """Tool -> the file in the suite's folder that its description stands in; the text is in `tools` already."""
    optimise: OptimiseSpec | None = None
    """What an optimisation may change; not part of the digest, because no trial depends on it."""
    defaults: Limits = Limits()
    cases: tuple[Case, ...] = Field(min_length=1)
    digest: str
    """The SHA-256 digest of cases, tools, checks and their code; the agents are not included."""

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

    def header_rules(self, tool: str) -> dict[str, AnswerRule]:
        """Response headers of the tool that are compared, in lower case -> the first rule that names each."""
        found: dict[str, AnswerRule] = {}
        for pattern, rules in self.drift.items():
            for rule in rules if fnmatchcase(tool, pattern) else ():
                if rule.header is not None:
                    found.setdefault(rule.header.lower(), rule)
        return found


def _server_of(host: HostSpec) -> ToolServer:
    here = None if host.service is not None else host.upstream or f"https://{host.host}"
    return ToolServer(
        service=host.service,
        base_url=here,
        session_header=host.session_header,
        state=host.state,
        headers=host.headers,
        disposable=host.disposable,
        double=host.double,
        retries=host.retries,
        health=host.health,
        reset=host.reset,
    )
