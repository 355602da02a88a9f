"""Compares the current listings of tool sources with the stored ones."""

import asyncio
from contextlib import ExitStack
from fnmatch import fnmatchcase
from pathlib import Path

import aiohttp

from harness.case import (
    McpTools,
    OpenApiTools,
    listing_path,
    openapi_surface,
    own_name,
    read_listing,
    remote_document_path,
    tool_groups,
)
from harness.case.sourcing.declared import Group
from harness.documents import read_plain
from harness.drift import ServerSurface, ToolSurface
from harness.errors import ServiceError
from harness.pipeline.drift.listings import Listed, SourceLocations, fetched_document, has_listing, source_listing
from harness.pipeline.execution.environment import open_services
from harness.upstream import open_client
from harness.values import JsonObject, JsonValue


def surfaces_of(project: Path, suite: str) -> tuple[ServerSurface, ...]:
    """One surface per source that has a listing; a source that does not answer is returned with its problem."""
    folder, groups, raw = tool_groups(project, suite)
    asked = [group for group in groups if has_listing(group) and _path(group, folder).is_file()]
    if not asked:
        return ()
    with ExitStack() as stack:
        needed = any(isinstance(group, McpTools) and group.mcp.service is not None for group in asked)
        services = stack.enter_context(open_services(project, raw.environment, raw.snapshot)) if needed else {}
        return tuple(asyncio.run(_all(asked, SourceLocations(folder=folder, raw=raw, services=services))))


async def _all(groups: list[Group], asking: SourceLocations) -> list[ServerSurface]:
    client = await open_client()
    try:
        return [await _surface(group, asking, client) for group in groups]
    finally:
        await client.close()


async def _surface(group: Group, asking: SourceLocations, client: aiohttp.ClientSession) -> ServerSurface:
    path = _path(group, asking.folder)
    if isinstance(group, OpenApiTools):
        before = _of_document(group, read_plain(path)[0])
    else:
        assert isinstance(group, Listed)  # no other has a listing
        before = _of_listing(group, read_listing(path).tools)
    try:
        if isinstance(group, OpenApiTools):
            now = _of_document(group, await fetched_document(group, client))
        else:
            now = _of_listing(group, (await source_listing(group, asking, client)).tools)
    except (ServiceError, ValueError) as error:
        return ServerSurface(server=group.server, before=before, now={}, problem=str(error))
    return ServerSurface(server=group.server, before=before, now=now)


def _path(group: Group, folder: Path) -> Path:
    if isinstance(group, OpenApiTools):
        return remote_document_path(folder, group)
    return listing_path(folder, group.server)


def _of_listing(group: Listed, tools: tuple[JsonObject, ...]) -> dict[str, ToolSurface]:
    found: dict[str, ToolSurface] = {}
    for tool in tools:
        source_name = str(tool.get("name"))
        if any(fnmatchcase(source_name, pattern) for pattern in group.only):
            name = own_name(group.prefix, source_name)
            output = tool.get("outputSchema")
            found[name] = ToolSurface(
                name=name,
                description=str(tool.get("description") or ""),
                input=_object(tool.get("inputSchema")),
                output=output if isinstance(output, dict) else None,
            )
    return found


def _of_document(group: OpenApiTools, document: JsonValue) -> dict[str, ToolSurface]:
    open_group = group.model_copy(update={"override": {}, "reads": (), "writes": ()})
    return {name: _operation(name, tool) for name, tool in openapi_surface(open_group, document).items()}


def _operation(name: str, tool: JsonObject | ValueError) -> ToolSurface:
    if isinstance(tool, ValueError):
        return ToolSurface(name=name, description=f"(cannot be called: {tool})")
    return ToolSurface(
        name=name,
        description=str(tool.get("description") or ""),
        input=_object(tool.get("parameters")),
        output=_object(tool.get("output")) or None,
    )


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}
