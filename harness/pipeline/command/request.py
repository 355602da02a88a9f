"""What `harness record --from-command` is asked for."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.pipeline.command.working_folder import FolderChoice
from harness.sandbox import ProviderName
from harness.upstream import Budget


@dataclass(frozen=True, kw_only=True)
class CommandRequest:
    """One command, and what it may reach."""

    typed: str
    """The command as it was typed."""
    suite: str
    case_id: str | None = None
    """None: words of the task."""
    task: str | None = None
    """None: what the command itself tells."""
    folder: FolderChoice | None = None
    """The folder that it works in; None: an empty one, or that of the suite."""
    providers: tuple[str, ...] = ()
    """`openai`, `anthropic`, a base URL, or `none`; empty: those whose keys the environment has."""
    api_key: str | None = None
    """The environment variable with the key for a base URL."""
    mcp: Mapping[str, str]
    """Name -> the command of an MCP server."""
    hosts: tuple[str, ...] = ()
    """Hosts that it calls over HTTP: names, URLs, or `NAME=URL`."""
    secrets: tuple[str, ...] = ()
    """Environment variables that MCP servers get."""
    allow_writes: bool = False
    """Whether tools and hosts may be written to."""
    sandbox: ProviderName = "docker"
    image: str | None = None
    """An image of the project that the command runs in; None: the built-in one."""
    seconds: float = 600.0
    budget: Budget | None = None
    started_in: Path
    """The folder that relative paths of MCP commands are read from."""
    environment: Mapping[str, str]
    """The user's own environment: keys, and where programs are searched for."""

    @property
    def changes_suite(self) -> str | None:
        """The first option that says what a new suite declares; None: there is none."""
        given: dict[str, object] = {
            "--provider": self.providers,
            "--api-key": self.api_key,
            "--mcp": self.mcp,
            "--tool-host": self.hosts,
            "--secret": self.secrets,
            "--image": self.image,
            "--allow-writes": self.allow_writes,
        }
        return next((option for option, value in given.items() if value), None)
