"""The items of a suite's `tools:` that declare many tools at once, as people write them."""

from pydantic import Field, model_validator

from harness.case.endpoints.reset import Reset
from harness.case.suite import McpServer
from harness.values import Frozen, JsonObject


class ToolGroup(Frozen):
    """The fields that every kind of group has.

    Patterns are those of a shell (`get_*`), and fit a tool by its name in the source or in the suite.
    """

    server: str
    """Its tools share the write state of this server."""
    only: tuple[str, ...] = ("*",)
    """Which of the source's tools the suite has."""
    prefix: str = ""
    """Put before each name, where two sources use the same."""
    reads: tuple[str, ...] = ()
    """Patterns of tools that only read, whatever effect their source declares."""
    writes: tuple[str, ...] = ()
    """Patterns of tools that write; they override the effect that the source declares. A tool without any declaration
    is a write.
    """
    override: dict[str, JsonObject] = {}
    """Tool, or pattern of tools -> fields to set: `timeout_s`, `ignore_arguments`, `generated_ids`, `volatile`,
    `rate_limit`, `description`, `effect`."""
    disposable: bool = False
    """Allows live writes: the server's state may be discarded."""
    double: bool = False
    """States that its server is a double of the real one; see ToolServer.double. A declared server (`openapi`) sets
    this itself.
    """
    state: str | None = None
    """The name of the state that its server shares with others; see ToolServer.state. A declared server (`openapi`)
    sets this itself.
    """


class OpenApiTools(ToolGroup):
    """The operations of an OpenAPI 3 or Swagger 2.0 document; `server` is one of `servers`, and the base address."""

    openapi: str = Field(min_length=1)
    """A file in the suite's folder, or the URL of one (stored in `tools/` by `harness tool refresh`)."""

    @property
    def is_remote(self) -> bool:
        return self.openapi.startswith(("http://", "https://"))


class McpTools(ToolGroup):
    """The tools of an MCP server: a program (`command`), an address (`url`), or a service of the environment."""

    mcp: "McpPlace"
    """Where the MCP server is: a program, an address, or a service of the environment."""


class McpPlace(McpServer):
    """Exactly one of `command`, `url` and `service`."""

    url: str | None = None
    """Address of a server that speaks MCP over HTTP."""
    service: str | None = None
    """A service of the environment that speaks MCP."""
    headers: dict[str, str] = {}
    """Sent with every request; `${NAME}` takes a secret of the suite."""
    health: str | None = Field(default=None, pattern="^/")
    """As of a server; of a `url` only."""
    reset: Reset | None = None
    """As of a server; of a `url` only."""

    @model_validator(mode="after")
    def _one_place(self) -> "McpPlace":
        given = [name for name in ("command", "url", "service") if getattr(self, name)]
        if len(given) != 1:
            raise ValueError("needs exactly one of `command`, `url` and `service`")
        if self.url is None and (self.health is not None or self.reset is not None):
            raise ValueError("`health` and `reset` are for a server at a `url`")
        return self


class PythonTools(ToolGroup):
    """The public functions of a file, called in a process of the trial's own on this machine."""

    python: str = Field(pattern=r"\.py$")
    """A file in the suite's folder."""
    server: str = "python"


class SourceTools(ToolGroup):
    """The tools of a tool source that an installed package or a file of the suite brings."""

    tool_source: str = Field(min_length=1)
    """The name of an entry point in the group `harness.tool_source`, `module:Name`, or `file.py:Name` in the suite's
    folder.
    """
    parameters: JsonObject = Field(default={}, alias="with")
    """The fields of the tool source."""


class SandboxTools(Frozen):
    """Tools that act in the trial's own sandbox, in every tool mode."""

    sandbox: tuple[str, ...] = Field(min_length=1)
    """Of `shell`, `read_file`, `write_file`."""
    server: str = "sandbox"
    """Name of the server that the tools share their write state under."""
    prefix: str = ""
    """Put before each name."""
    override: dict[str, JsonObject] = {}
    """Tool -> fields to set, as in other groups."""


class BrowserTools(Frozen):
    """Tools that act in the trial's own browser, in every tool mode; its pages come from the suite's `hosts`."""

    browser: tuple[str, ...] = Field(min_length=1)
    """Of `open`, `click`, `type`, `read`."""
    server: str = "browser"
    """Name of the server that the tools share their write state under."""
    prefix: str = "browser_"
    """Put before each name."""
    override: dict[str, JsonObject] = {}
    """Tool -> fields to set, as in other groups."""


Group = OpenApiTools | McpTools | PythonTools | SourceTools | SandboxTools | BrowserTools
KINDS: dict[str, type[Group]] = {
    "openapi": OpenApiTools,
    "mcp": McpTools,
    "python": PythonTools,
    "tool_source": SourceTools,
    "sandbox": SandboxTools,
    "browser": BrowserTools,
}
