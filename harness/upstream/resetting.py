"""Resets live servers to a known state before a trial, as the suite declares."""

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import aiohttp

from harness.case import Reset, Suite
from harness.errors import ServiceError
from harness.subprocess_environment import subprocess_environment
from harness.upstream.tools.http import ToolUpstream

_SHOWN = 500


def declared_resets(suite: Suite) -> dict[str, Reset]:
    """Server -> its declared reset."""
    return {name: server.reset for name, server in suite.reached.items() if server.reset is not None}


class Resets:
    """Resets the servers of a suite before each trial, and holds the next trial back until this one has ended."""

    def __init__(self, suite: Suite) -> None:
        self._suite = suite
        self._in_use = threading.Lock()

    def before_trial(
        self,
        upstreams: Mapping[str, ToolUpstream],
        client: aiohttp.ClientSession,
        wait_for: Callable[[Coroutine[Any, Any, None]], None],
        closing: ExitStack,
    ) -> None:
        """Waits for the previous trial to end, then resets. Raises ServiceError."""
        if declared_resets(self._suite):
            self._in_use.acquire()
            closing.callback(self._in_use.release)
            wait_for(reset_servers(self._suite, upstreams, client, declared_resets(self._suite)))


async def reset_servers(
    suite: Suite, upstreams: Mapping[str, ToolUpstream], client: aiohttp.ClientSession, names: Iterable[str]
) -> None:
    """Resets the named servers by their declared resets. Raises ServiceError that names the server and the problem."""
    declared = declared_resets(suite)
    for name in names:
        reset = declared[name]
        try:
            async with asyncio.timeout(reset.timeout_s):
                if reset.path is None:
                    problem = await _run(reset.command, suite.folder)
                else:
                    problem = await _request(upstreams[name], reset, client)
        except TimeoutError:
            problem = f"it took longer than {reset.timeout_s:g} s"
        except (OSError, aiohttp.ClientError) as error:
            problem = str(error) or type(error).__name__
        if problem is not None:
            raise ServiceError(
                f"server {name!r} could not be reset before the trial: {problem}",
                remedy=f"check `servers.{name}.reset` in {suite.folder / 'suite.yaml'}",
            )


async def _request(upstream: ToolUpstream, reset: Reset, client: aiohttp.ClientSession) -> str | None:
    body = None if reset.body is None else json.dumps(reset.body).encode()
    headers = dict(upstream.headers) | ({} if body is None else {"Content-Type": "application/json"})
    url = f"{upstream.base_url.rstrip('/')}{reset.path}"
    async with client.request(reset.method, url, data=body, headers=headers, allow_redirects=False) as response:
        said = (await response.content.read(_SHOWN)).decode("utf-8", "replace")
    if response.status < 300:
        return None
    redirect = ", a redirect, which is not followed" if response.status < 400 else ""
    return f"{reset.method} {reset.path} answered {response.status}{redirect}: {said}"


async def _run(command: Sequence[str], folder: Path) -> str | None:
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env=subprocess_environment(),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, said = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if process.returncode == 0:
        return None
    return f"{command[0]} exited with status {process.returncode}: {said.decode('utf-8', 'replace')[-_SHOWN:]}"
