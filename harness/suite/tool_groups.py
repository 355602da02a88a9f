"""The items of a suite's `tools:` that declare many tools at once, and the stored listings of their tools."""

import hashlib
import json
import re
from fnmatch import fnmatchcase
from pathlib import Path

from pydantic import Field, JsonValue, model_validator

from harness.disk import write_atomically
from harness.suite.documents import read_document
from harness.suite.hosts import Reset
from harness.suite.suites import McpServer
from harness.suite.tools import Effect, ToolKind
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
    """Put before each name, if two sources use the same."""
    reads: tuple[str, ...] = ()
    """Patterns of tools that only read, whatever effect their source declares."""
    writes: tuple[str, ...] = ()
    """Patterns of tools that write; they override the effect that the source declares. A tool without any declaration
    is a write.
    """
    override: dict[str, JsonObject] = {}
    """Tool, or pattern of tools -> fields to set: `timeout_s`, `ignore`, `generated_ids`, `volatile`,
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
    """The tools of an MCP server: a program (`command`), an address (`base_url`), or a service of the environment."""

    mcp: "McpPlace"
    """Where the MCP server is: a program, an address, or a service of the environment."""


class McpPlace(McpServer):
    """Exactly one of `command`, `base_url` and `service`."""

    base_url: str | None = None
    """Address of a server that speaks MCP over HTTP."""
    service: str | None = None
    """A service of the environment that speaks MCP."""
    headers: dict[str, str] = {}
    """Sent with every request; `${NAME}` takes a secret of the suite."""
    reset: Reset | None = None
    """As of a server; of a `base_url` only."""

    @model_validator(mode="after")
    def _one_place(self) -> "McpPlace":
        given = [name for name in ("command", "base_url", "service") if getattr(self, name)]
        if len(given) != 1:
            raise ValueError("needs exactly one of `command`, `base_url` and `service`")
        if self.base_url is None and self.reset is not None:
            raise ValueError("`reset` is for a server at a `base_url`")
        return self


class PythonTools(ToolGroup):
    """The public functions of a file, called in a process of the trial's own on this machine."""

    python: str = Field(pattern=r"\.py$")
    """A file in the suite's folder."""
    server: str = "python"


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


Group = OpenApiTools | McpTools | PythonTools | SandboxTools | BrowserTools
KINDS: dict[str, type[Group]] = {
    "openapi": OpenApiTools,
    "mcp": McpTools,
    "python": PythonTools,
    "sandbox": SandboxTools,
    "browser": BrowserTools,
}


FOLDER = "tools"
_UNSUITED = re.compile(r"[^A-Za-z0-9_-]")
_OWN = frozenset({"name", "description", "inputSchema"})


class Listing(Frozen):
    """`tools/<server>.json`: the source's description of its tools, unchanged."""

    server: str
    source: str
    """The command, address or file that was queried, for people."""
    digest: str | None = None
    """Sha-256 of what the listing was made of: the file of Python functions, or the parameters and the file of a tool
    source; see listing_digest."""
    tools: tuple[JsonObject, ...]


def listing_path(folder: Path, server: str) -> Path:
    return folder / FOLDER / f"{server}.json"


def read_listing(path: Path) -> Listing:
    """Raises InvalidDocument if the file is missing or malformed."""
    return read_document(path, Listing)


def write_listing(path: Path, listing: Listing) -> None:
    text = json.dumps(listing.model_dump(mode="json"), indent=2, ensure_ascii=False)
    write_atomically(path, f"{text}\n".encode())


def listing_digest(group: ToolGroup, folder: Path) -> str | None:
    """The digest of what belongs to the suite and decides the group's listing; None for a group whose listing depends
    on a server alone.
    """
    match group:
        case PythonTools():
            return _file_digest(folder / group.python)
        case _:
            return None


def _file_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def chosen(group: ToolGroup, names: list[str]) -> list[str]:
    """The source's names that the group selects. Raises ValueError for a pattern that matches none."""
    for pattern in (*group.only, *group.reads, *group.writes, *group.override):
        if pattern != "*" and not any(fits(group, name, pattern) for name in names):
            raise ValueError(f"{pattern!r} is none of its tools: {', '.join(names) or 'it has none'}")
    return [name for name in names if is_chosen(group, name)]


def is_chosen(group: ToolGroup, name: str) -> bool:
    """Whether `only` takes the tool with this name in the source."""
    return any(fits(group, name, pattern) for pattern in group.only)


def fits(group: ToolGroup, name: str, pattern: str) -> bool:
    """Whether the pattern fits a tool by its name in the source, or by the one that the suite gives it."""
    return fnmatchcase(name, pattern) or fnmatchcase(own_name(group.prefix, name), pattern)


def overridden(group: ToolGroup, name: str) -> JsonObject:
    """The fields that the group sets for the tool; a later entry of `override` replaces an earlier one."""
    fields: JsonObject = {}
    for pattern, own in group.override.items():
        if fits(group, name, pattern):
            fields |= own
    return fields


def effect_of(group: ToolGroup, name: str, said: Effect) -> Effect:
    """The group's effect for the tool, or else that of its source, `said`."""
    if any(fits(group, name, pattern) for pattern in group.writes):
        return "write"
    if any(fits(group, name, pattern) for pattern in group.reads):
        return "read"
    return said


def own_name(prefix: str, name: str) -> str:
    """The name in the suite: model interfaces take letters, digits, `_` and `-` only."""
    return _UNSUITED.sub("_", prefix + name)[:64]


def listed_tools(group: ToolGroup, listing: Listing, kind: ToolKind) -> list[JsonObject]:
    """The group's tools as a suite would declare them. Raises ValueError for an invalid listing."""
    by_name = {_name(tool): tool for tool in listing.tools}
    return [_tool_declaration(group, name, by_name[name], kind) for name in chosen(group, list(by_name))]


def _tool_declaration(group: ToolGroup, name: str, tool: JsonObject, kind: ToolKind) -> JsonObject:
    annotations = tool.get("annotations")
    reads = isinstance(annotations, dict) and annotations.get("readOnlyHint") is True
    schema = tool.get("inputSchema")
    shown = own_name(group.prefix, name)
    described = tool.get("description")
    return {
        "name": shown,
        "description": described if isinstance(described, str) else "",
        "parameters": {"type": "object", **schema} if isinstance(schema, dict) else {"type": "object"},
        "effect": effect_of(group, name, "read" if reads else "write"),
        "server": group.server,
        "source": kind,
        "source_name": None if shown == name else name,
        "listed": {key: value for key, value in tool.items() if key not in _OWN},
        **overridden(group, name),
    }


def _name(tool: JsonObject) -> str:
    name: JsonValue = tool.get("name")
    if not isinstance(name, str) or not name:
        raise ValueError("a tool of the listing has no name")
    return name
