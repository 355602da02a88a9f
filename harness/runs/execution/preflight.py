"""Whether the live servers, hosts and models that a run needs can be reached, before its first trial."""

import asyncio
import shlex
import socket
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from os import SEEK_END
from tempfile import TemporaryFile
from urllib.parse import urlsplit

import aiohttp

from harness.cassettes.redaction import Redactor
from harness.errors import ServiceError, UsageError
from harness.gateway.toolbox import Toolbox
from harness.gateway.upstream.http_tools import declared_resets
from harness.gateway.upstream.sources import external_servers
from harness.gateway.upstream.tool_servers import upstreams
from harness.gateway.upstream.transport import open_client
from harness.processes import ended_after, subprocess_environment
from harness.runs.execution.executors import runs_elsewhere
from harness.runs.plan.plan import RunPlan, secret_values
from harness.sandbox.ownership import owned_environment
from harness.suite.cases import Case
from harness.suite.suites import Suite, ToolServer, allowed_hosts, case_of
from harness.users.users import asked_models

_WITHIN_S = 10.0
_STARTS_WITHIN_S, _ENDS_WITHIN_S = 60.0, 5.0
_SHOWN = 2000
"""Bytes of a server's output in a message."""


@dataclass(frozen=True, kw_only=True)
class _Target:
    """A server that has to be reachable."""

    name: str
    url: str
    headers: Mapping[str, str]
    ports: tuple[int, ...] = ()
    """The ports of a host; a connection to one of them is enough."""


def check_reachable(plan: RunPlan, secrets: Mapping[str, str]) -> None:
    """Sends a request to every live server, host and model (also the users') that the planned cases need, all at once.

    Any answer is enough. Raises ServiceError that lists all that cannot be reached. The nodes of a cluster have a
    network of their own: no request is sent for `--executor ray`.
    """
    if runs_elsewhere(plan.executor) or not plan.own:
        return
    targets = [*_tool_targets(plan, secrets), *_model_targets(plan)]
    if not targets:
        return
    problems = [problem for problem in asyncio.run(_asked(targets)) if problem is not None]
    if problems:
        raise ServiceError(
            "some servers that this run needs cannot be reached:\n" + "\n".join(f"  {problem}" for problem in problems),
            remedy="start them, or replay: --live none",
        )


@contextmanager
def started_servers(suite: Suite, names: Collection[str], say: Callable[[str], None]) -> Iterator[None]:
    """Those of the servers and hosts that have a `command` run inside the block, each in a group of its own.

    Raises ServiceError for one that does not come to answer, and for an address at which something else answers.
    """
    with ExitStack() as stack:
        for name, server in sorted(suite.reached.items()):
            if server.command and name in names:
                stack.enter_context(_started_server(name, server, suite, say))
        yield


def live_servers(plan: RunPlan) -> set[str]:
    """The servers and hosts that the planned cases reach live."""
    return _needed(plan) if plan.tools in ("live", "record") else set()


@contextmanager
def _started_server(name: str, server: ToolServer, suite: Suite, say: Callable[[str], None]) -> Iterator[None]:
    place, secrets = f"server {name!r}, which `{shlex.join(server.command)}` serves,", secret_values(suite)
    if _listens(server):
        raise ServiceError(
            f"{place} cannot be started: something answers at {server.base_url} already",
            remedy=f"end it, or take `command` of {name!r} out of {suite.folder / 'suite.yaml'}",
        )
    with TemporaryFile() as output:

        def ended(process: "subprocess.Popen[bytes]", when: str) -> str:
            size = output.seek(0, SEEK_END)
            output.seek(max(0, size - _SHOWN))
            said = Redactor(secrets).text(output.read().decode("utf-8", "replace")).strip()
            how = "gave no answer" if process.returncode is None else f"ended with status {process.returncode}"
            return f"{place} {how} {when}; it printed: {said or 'nothing'}"

        try:
            env, nothing = subprocess_environment() | owned_environment() | secrets, subprocess.DEVNULL
            started = subprocess.Popen(
                server.command, 0, None, nothing, output, output, cwd=suite.folder, env=env, start_new_session=True
            )
        except OSError as error:
            raise ServiceError(f"{place} cannot be started: {error}", remedy="correct its `command`") from None
        with ended_after(started, _ENDS_WITHIN_S) as process:
            until = time.monotonic() + _STARTS_WITHIN_S
            while not _listens(server):
                if process.poll() is not None or time.monotonic() > until:
                    raise ServiceError(
                        ended(process, f"before anything answered at {server.base_url}"),
                        remedy="`command` must serve that address and go on until the run ends it",
                    )
                time.sleep(0.1)
            try:
                yield
            finally:
                if process.poll() is not None:
                    say(ended(process, "during the run"))


def _listens(server: ToolServer) -> bool:
    address = urlsplit(server.base_url or "")
    try:
        socket.create_connection((address.hostname or "", address.port or 80), timeout=1.0).close()
    except OSError:
        return False
    return True


def warn_of_shared_state(plan: RunPlan, say: Callable[[str], None]) -> None:
    """Warns of live servers that keep one trial's writes for the next one; rejects resets while other trials run.

    Raises UsageError for a suite with resets on a cluster, whose trials cannot wait for each other.
    """
    suite = plan.suite
    if plan.tools not in ("live", "record"):
        return
    if runs_elsewhere(plan.executor) and declared_resets(suite):
        raise UsageError(
            "the suite resets servers before each trial, which needs its trials to run one after the other",
            remedy="use --executor local",
        )
    for name in sorted(_needed(plan) & external_servers(suite)) if len(plan.own) > 1 else ():
        server = suite.reached[name]
        if server.session_header is None and server.reset is None and _is_written(suite, name):
            side_by_side = " Parallel trials would write to it: use --jobs 1." if plan.most > 1 < len(plan.own) else ""
            say(
                f"server {name!r} keeps the writes of a trial for the next one: declare `reset:` (a request or command"
                f" before each trial) or `session_header:`.{side_by_side}"
            )


def _is_written(suite: Suite, name: str) -> bool:
    host = any(host.tool == name and host.disposable for host in suite.hosts)
    return host or any(tool.server == name and tool.effect == "write" for tool in suite.tools)


def _needed(plan: RunPlan) -> set[str]:
    """The servers and hosts that a planned case can reach, or a probe reads."""
    suite = plan.suite
    toolbox = Toolbox(suite)
    return {name for case in _cases(plan) for name in _needed_by(suite, toolbox, case)}


def _cases(plan: RunPlan) -> list[Case]:
    """Those that the run is to make trials of."""
    return [case_of(plan.suite, case_id) for case_id in sorted({planned.case_id for planned in plan.own})]


def _needed_by(suite: Suite, toolbox: Toolbox, case: Case) -> Iterator[str]:
    yield from (toolbox.tools[name].spec.server for name in toolbox.offered(case))
    yield from allowed_hosts(suite, case)
    for probe in (*suite.probes, *case.probes):
        if probe.tool is not None:
            yield toolbox.tools[probe.tool].spec.server
        if probe.api is not None:
            yield probe.api.server


def _tool_targets(plan: RunPlan, secrets: Mapping[str, str]) -> list[_Target]:
    if plan.tools not in ("live", "record"):
        return []
    suite = plan.suite
    named = _needed(plan) & external_servers(suite)
    needed = {name for name in named if not name.endswith(".invalid")}  # such a name leads nowhere, by its standard
    own = suite.model_copy(update={"servers": {name: one for name, one in suite.servers.items() if name in needed}})
    own = own.model_copy(update={"hosts": tuple(host for host in suite.hosts if host.tool in needed)})
    reached = upstreams(own, {}, secrets, "preflight")
    ports = {host.tool: host.ports for host in suite.hosts if host.base_url is None}
    return [
        _Target(
            name=f"server {name!r}",
            url=reached[name].base_url,
            headers=reached[name].headers,
            ports=ports.get(name, ()),
        )
        for name, server in own.reached.items()
        if server.base_url
    ]


def _model_targets(plan: RunPlan) -> Iterator[_Target]:
    spec = plan.suite.model
    if spec is not None and plan.model_mode != "replay":
        for provider, server in spec.servers.items():
            yield _Target(name=f"model provider {provider!r}", url=server.base_url or "", headers={})
    for place, model in asked_models(plan.suite, plan.users, _cases(plan)):
        address = model.spec.servers[model.provider].base_url or ""
        yield _Target(name=f"the model of `{place}`, {model.model!r},", url=address, headers={})


async def _asked(targets: list[_Target]) -> list[str | None]:
    client = await open_client()
    try:
        return list(await asyncio.gather(*(_problem(client, target) for target in targets)))
    finally:
        await client.close()


async def _problem(client: aiohttp.ClientSession, target: _Target) -> str | None:
    """The reason why the target cannot be reached; None: it can."""
    place = f"{target.name} ({target.url})"
    try:
        async with asyncio.timeout(_WITHIN_S):
            if target.ports:
                return await _closed(target, place)
            async with client.head(target.url, allow_redirects=False):
                return None
    except TimeoutError:
        return f"{place} did not answer within {_WITHIN_S:g} s"
    except aiohttp.ClientConnectorError as error:
        return f"{place} cannot be reached: {error}"
    except (aiohttp.ClientError, ConnectionError):
        return None  # the server answers; its status for such a request does not matter


async def _closed(target: _Target, place: str) -> str | None:
    host = target.url.partition("://")[2]
    problems = []
    for port in target.ports:
        try:
            _, writer = await asyncio.open_connection(host, port)
        except OSError as error:
            problems.append(f"port {port}: {error.strerror or error}")
        else:
            writer.close()
            return None
    return f"{place} cannot be reached: {'; '.join(problems)}"
