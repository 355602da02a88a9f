"""The listings of a suite's tool sources: queried again, and compared with those that the suite stores.

A replay reads the stored listing and sends no request; a server's current tools are queried only here.
"""

import asyncio
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import aiohttp
from pydantic import JsonValue

from harness.cassettes.redaction import Redactor
from harness.disk import write_atomically
from harness.errors import ServiceError, UsageError
from harness.gateway.upstream.mcp_servers import ServerStart, check_program
from harness.gateway.upstream.tool_servers import filled
from harness.gateway.upstream.transport import open_client
from harness.runs.execution.environment import open_services
from harness.suite.documents import read_plain
from harness.suite.loading import tool_groups
from harness.suite.suite_file import SuiteFile
from harness.suite.tool_groups import (
    Group,
    Listing,
    McpTools,
    OpenApiTools,
    PythonTools,
    listing_digest,
    listing_path,
    read_listing,
    write_listing,
)
from harness.suite.tools_section import remote_document_path, server_of
from harness.values import JsonObject, canonical_json

_WITHIN_S = 60.0
Services = Mapping[str, str]
Listed = McpTools | PythonTools
"""The groups whose tools are listed by the source itself, in the form of MCP."""


@dataclass(frozen=True, kw_only=True)
class ToolChange:
    """One tool whose current listing differs from the stored one."""

    server: str
    tool: str
    what: Literal["added", "removed", "changed"]


@dataclass(frozen=True, kw_only=True)
class Refreshed:
    """The result for one source."""

    server: str
    path: Path
    tools: int
    changes: tuple[ToolChange, ...]


def refresh_tools(project: Path, suite: str, *, write: bool) -> tuple[Refreshed, ...]:
    """Queries every source that has a listing; without `write`, only compares.

    Raises ServiceError for a source that does not answer, with what it wrote.
    """
    folder, groups, raw = tool_groups(project, suite)
    asked = [group for group in groups if has_listing(group)]
    with ExitStack() as stack:
        needed = any(isinstance(group, McpTools) and group.mcp.service is not None for group in asked)
        services = stack.enter_context(open_services(project, raw.environment, raw.snapshot)) if needed else {}
        return tuple(asyncio.run(_asked(asked, SourceLocations(folder=folder, raw=raw, services=services), write)))


@dataclass(frozen=True, kw_only=True)
class SourceLocations:
    """Where the sources are found."""

    folder: Path
    raw: SuiteFile
    services: Services

    @property
    def secrets(self) -> dict[str, str]:
        return {secret: os.environ[secret] for secret in self.raw.secrets if secret in os.environ}

    def resolved(self, name: str, field: str, declared: Mapping[str, str]) -> dict[str, str]:
        return filled(f"server {name!r}", field, declared, self.raw.secrets, self.secrets)

    def redacted(self, tools: Iterable[JsonObject]) -> tuple[JsonObject, ...]:
        """The source's description of its tools, without the secrets that the source received."""
        found: list[JsonObject] = json.loads(Redactor(self.secrets).for_agent(json.dumps(list(tools)).encode()))
        return tuple(found)


def has_listing(group: Group) -> bool:
    """Whether the source's listing is stored beside the suite."""
    return isinstance(group, Listed) or (isinstance(group, OpenApiTools) and group.is_remote)


async def _asked(groups: list[Group], asking: SourceLocations, write: bool) -> list[Refreshed]:
    client = await open_client()
    try:
        return [await _ask(group, asking, client, write) for group in groups]
    finally:
        await client.close()


async def _ask(group: Group, asking: SourceLocations, client: aiohttp.ClientSession, write: bool) -> Refreshed:
    if isinstance(group, OpenApiTools):
        return await _fetch(group, asking.folder, client, write)
    assert isinstance(group, Listed)  # no other has a listing
    path = listing_path(asking.folder, group.server)
    before = read_listing(path).tools if path.is_file() else ()
    listing = await source_listing(group, asking, client)
    if write:
        write_listing(path, listing)
    changes = _changes(group.server, _by_name(before), _by_name(listing.tools))
    return Refreshed(server=group.server, path=path, tools=len(listing.tools), changes=changes)


async def source_listing(group: Listed, asking: SourceLocations, client: aiohttp.ClientSession) -> Listing:
    """The source's current listing. Raises ServiceError for one that does not answer."""
    tools = await _served(group, asking, client)
    digest = listing_digest(group, asking.folder)
    return Listing(server=group.server, source=_source_name(group), digest=digest, tools=asking.redacted(tools))


async def _served(group: Listed, asking: SourceLocations, client: aiohttp.ClientSession) -> list[JsonObject]:
    server = server_of(group)
    check_program(group.server, server, asking.folder)
    if server.service is not None and server.service not in asking.services:
        raise UsageError(f"server {group.server!r}: the environment has no service {server.service!r}")
    start = ServerStart(
        name=group.server,
        server=server,
        folder=asking.folder,
        client=client,
        base_url=server.base_url or asking.services.get(server.service or "", ""),
        headers=asking.resolved(group.server, "headers", server.headers),
        env=asking.resolved(group.server, "env", {} if server.mcp is None else server.mcp.env),
    )
    with ExitStack() as closing:
        conversation = start(closing)
        try:
            async with asyncio.timeout(_WITHIN_S):
                await conversation.open()
                tools = await conversation.tools()
        except TimeoutError:
            raise ServiceError(
                f"the MCP server {group.server!r} did not list its tools within {_WITHIN_S:g} s"
            ) from None
        finally:
            await conversation.close()
    return tools


async def fetched_document(group: OpenApiTools, client: aiohttp.ClientSession) -> JsonValue:
    """The document at the group's URL. Raises ServiceError."""
    try:
        async with asyncio.timeout(_WITHIN_S), client.get(group.openapi) as response:
            response.raise_for_status()
            document: JsonValue = json.loads(await response.read())
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise ServiceError(f"the OpenAPI document {group.openapi} cannot be fetched: {error}") from None
    return document


async def _fetch(group: OpenApiTools, folder: Path, client: aiohttp.ClientSession, write: bool) -> Refreshed:
    path = remote_document_path(folder, group)
    document = await fetched_document(group, client)
    before: JsonValue = read_plain(path)[0] if path.is_file() else {}
    if write:
        write_atomically(path, f"{json.dumps(document, indent=2, ensure_ascii=False)}\n".encode())
    changes = _changes(group.server, _paths(before), _paths(document))
    return Refreshed(server=group.server, path=path, tools=len(_paths(document)), changes=changes)


def _changes(server: str, before: JsonObject, now: JsonObject) -> tuple[ToolChange, ...]:
    found: list[ToolChange] = []
    for name in sorted({*before, *now}):
        if name not in before:
            found.append(ToolChange(server=server, tool=name, what="added"))
        elif name not in now:
            found.append(ToolChange(server=server, tool=name, what="removed"))
        elif canonical_json(before[name]) != canonical_json(now[name]):
            found.append(ToolChange(server=server, tool=name, what="changed"))
    return tuple(found)


def _by_name(tools: tuple[JsonObject, ...]) -> JsonObject:
    return {str(tool.get("name")): tool for tool in tools}


def _paths(document: JsonValue) -> JsonObject:
    paths = document.get("paths") if isinstance(document, dict) else None
    return paths if isinstance(paths, dict) else {}


def _source_name(group: Listed) -> str:
    if isinstance(group, PythonTools):
        return group.python
    return " ".join(group.mcp.command) or group.mcp.base_url or f"service {group.mcp.service}"
