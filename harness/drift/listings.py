"""Descriptions of tools: the current listings of a suite's sources compared with the stored ones."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

import aiohttp
from pydantic import JsonValue

from harness.cassettes.profiles import member
from harness.drift.change import Change, shortened_value, texts_apart
from harness.drift.forms import Declared, declared_in
from harness.errors import ServiceError
from harness.gateway.upstream.transport import open_client
from harness.runs.execution.environment import open_services
from harness.runs.listings import Listed, SourceLocations, fetched_document, has_listing, source_listing
from harness.runs.store.drift_report import ChangeClass, DriftFinding
from harness.suite.documents import read_plain
from harness.suite.loading import tool_groups
from harness.suite.openapi import openapi_surface
from harness.suite.tool_groups import Group, McpTools, OpenApiTools, listing_path, own_name, read_listing
from harness.suite.tools_section import remote_document_path
from harness.values import JsonObject

LISTING = "listing"
_INPUT, _OUTPUT, _DESCRIPTION = f"{LISTING}.input", f"{LISTING}.output", f"{LISTING}.description"
_LIST = "tools/list"


@dataclass(frozen=True, kw_only=True)
class ToolSurface:
    """One tool as its source describes it."""

    name: str
    """The tool's name in the suite."""
    description: str = ""
    input: JsonObject = field(default_factory=dict)
    output: JsonObject | None = None


@dataclass(frozen=True, kw_only=True)
class ServerSurface:
    """One source's tools, as stored and as currently listed; tools that the suite does not use are left out."""

    server: str
    before: Mapping[str, ToolSurface]
    now: Mapping[str, ToolSurface]
    problem: str | None = None
    """The reason why the source could not be queried; `now` is then meaningless."""


def surface_findings(
    surfaces: Iterable[ServerSurface], cases: Mapping[str, tuple[str, ...]]
) -> tuple[DriftFinding, ...]:
    """`cases`: tool -> the cases that have recorded it."""
    return tuple(
        change.finding(tool, operation, cases.get(operation, ()))
        for surface in surfaces
        if surface.problem is None
        for tool, operation, change in _changes(surface)
    )


def exercised_surfaces(
    surfaces: Iterable[ServerSurface], answered: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Adds to `answered` the parts of listings that were read, by tool, and the lists that were read, by server."""
    seen = {tool: set(paths) for tool, paths in answered.items()}
    for surface in surfaces:
        if surface.problem is None:
            seen.setdefault(surface.server, set()).add(f"{_LIST} tools")
            for name, tool in surface.now.items():
                seen.setdefault(name, set()).update(f"{name} {path}" for path in _paths(tool))
    return {tool: tuple(sorted(paths)) for tool, paths in seen.items()}


def _changes(surface: ServerSurface) -> Iterator[tuple[str, str, Change]]:
    """Each change with its tool and operation."""
    for name in sorted({*surface.before, *surface.now}):
        before, now = surface.before.get(name), surface.now.get(name)
        if now is None and before is not None:
            shown: JsonValue = {"name": name, "description": shortened_value(before.description)}
            yield (
                name,
                name,
                Change(change="surface.tool_removed", path=LISTING, old_kind="tool", new_kind="absent", before=shown),
            )
        elif before is None and now is not None:
            tool: JsonValue = {"name": name, "description": shortened_value(now.description)}
            path = member("tools", name)
            yield (
                surface.server,
                _LIST,
                Change(change="surface.tool_added", path=path, old_kind="absent", new_kind="tool", after=tool),
            )
        elif before is not None and now is not None:
            for change in _tool(before, now):
                yield name, name, change


def _tool(before: ToolSurface, now: ToolSurface) -> Iterator[Change]:
    if before.description.strip() != now.description.strip():
        old, new = texts_apart(before.description, now.description)
        yield Change(
            change="surface.description_changed",
            path=_DESCRIPTION,
            old_kind="text",
            new_kind="text",
            before=old,
            after=new,
        )
    yield from _inputs(declared_in(before.input, _INPUT), declared_in(now.input, _INPUT))
    yield from _outputs(before.output, now.output)


def _inputs(before: Mapping[str, Declared], now: Mapping[str, Declared]) -> Iterator[Change]:
    for path in sorted({*before, *now}):
        old, new = before.get(path), now.get(path)
        if old is None and new is not None:
            change: ChangeClass = "surface.input_required_added" if new.required else "surface.input_added"
            yield _declaration_change(change, path, ("absent", new.words), old, new)
        elif new is None and old is not None:
            yield _declaration_change("surface.input_type_changed", path, (old.words, "absent"), old, new)
        elif old is not None and new is not None:
            if new.required and not old.required:
                yield _declaration_change("surface.input_required_added", path, ("optional", "required"), old, new)
            if not old.fits_into(new):
                yield _declaration_change("surface.input_type_changed", path, (old.words, new.words), old, new)


def _outputs(before: JsonObject | None, now: JsonObject | None) -> Iterator[Change]:
    old_all, new_all = declared_in(before or {}, _OUTPUT), declared_in(now or {}, _OUTPUT)
    for path in sorted({*old_all, *new_all}):
        old, new = old_all.get(path), new_all.get(path)
        words = ("absent" if old is None else old.words, "absent" if new is None else new.words)
        if words[0] != words[1]:
            change: ChangeClass = "surface.output_added" if old is None else "surface.output_changed"
            yield _declaration_change(change, path, words, old, new)


def _declaration_change(
    change: ChangeClass, path: str, words: tuple[str, str], old: Declared | None, new: Declared | None
) -> Change:
    return Change(
        change=change,
        path=path,
        old_kind=words[0],
        new_kind=words[1],
        before=None if old is None else shortened_value(old.schema),
        after=None if new is None else shortened_value(new.schema),
    )


def _paths(tool: ToolSurface) -> Iterator[str]:
    yield from (LISTING, _DESCRIPTION, _INPUT, _OUTPUT)
    yield from declared_in(tool.input, _INPUT)
    yield from declared_in(tool.output or {}, _OUTPUT)


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
                input=_object_or_empty(tool.get("inputSchema")),
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
        input=_object_or_empty(tool.get("parameters")),
        output=_object_or_empty(tool.get("output")) or None,
    )


def _object_or_empty(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}
