"""Starts each MCP server of a suite, and each file of Python functions, for one trial."""

import shutil
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from harness.case import McpServer, ToolServer
from harness.disk import is_file, is_folder
from harness.errors import UsageError
from harness.sandbox import temporary_folder
from harness.upstream.tools.mcp.connection import McpConnection
from harness.upstream.tools.mcp.http import HttpTransport
from harness.upstream.tools.mcp.stdio import StdioTransport

_FUNCTIONS = Path(__file__).parent.parent.parent / "programs" / "functions.py"


@dataclass(frozen=True, kw_only=True)
class ServerStart:
    """The data for a connection to one server; calling it opens a connection."""

    name: str
    server: ToolServer
    folder: Path
    """The suite's declaration."""
    client: aiohttp.ClientSession
    base_url: str = ""
    headers: Mapping[str, str]
    env: Mapping[str, str]
    """The environment variables, with secrets filled in."""

    def __call__(self, closing: ExitStack) -> McpConnection:
        """`closing` removes the server's working folder."""
        mcp = self.server.mcp
        if self.server.python is not None:
            work = _work_folder(closing, None)
            command = functions_command(self.folder / self.server.python)
            return McpConnection(self.name, StdioTransport(self.name, command, {}, work))
        assert mcp is not None  # other servers are not started here
        if mcp.command:
            work = _work_folder(closing, None if mcp.files is None else self.folder / mcp.files)
            command = filled_command(mcp, self.folder, work)
            return McpConnection(self.name, StdioTransport(self.name, command, self.env, work))
        url = f"{self.base_url.rstrip('/')}{mcp.path}" if self.server.service is not None else self.base_url
        return McpConnection(self.name, HttpTransport(self.name, self.client, url, self.headers))


def filled_command(server: McpServer, suite: Path, work: Path) -> list[str]:
    """The command with its places filled in."""
    return [part.replace("{suite}", str(suite)).replace("{work}", str(work)) for part in server.command]


def functions_command(file: Path) -> list[str]:
    """The program that serves a file's functions; with -P the file's folder cannot shadow the standard library."""
    return [sys.executable, "-P", str(_FUNCTIONS), str(file)]


def check_program(name: str, server: ToolServer, suite: Path) -> None:
    """Checks before any trial that the program exists. Raises UsageError."""
    if server.python is not None and not is_file(suite / server.python):
        raise UsageError(f"server {name!r}: there is no file {server.python!r} in the suite")
    if server.mcp is None or not server.mcp.command:
        return
    program = filled_command(server.mcp, suite, Path("/"))[0]
    if shutil.which(program) is None:
        raise UsageError(
            f"server {name!r}: there is no program {program!r}", remedy="install it, or give its full path"
        )
    if server.mcp.files is not None and not is_folder(suite / server.mcp.files):
        raise UsageError(f"server {name!r}: there is no folder {server.mcp.files!r} in the suite")


def _work_folder(closing: ExitStack, content: Path | None) -> Path:
    folder = closing.enter_context(temporary_folder())
    if content is not None:
        shutil.copytree(content, folder, dirs_exist_ok=True, symlinks=True)
    return folder
