"""A suite's `tools:` read: described calls and groups of tools in one list, and the servers that the groups bring."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from harness.disk import is_file
from harness.errors import InvalidDocument
from harness.suite.builtin_tools import browser_tools, sandbox_tools
from harness.suite.documents import Document, open_document, read_plain
from harness.suite.suites import McpServer, ToolServer
from harness.suite.tool_groups import (
    KINDS,
    BrowserTools,
    Group,
    Listing,
    McpTools,
    OpenApiTools,
    PythonTools,
    SandboxTools,
    listed_tools,
    listing_digest,
    listing_path,
    read_listing,
)
from harness.suite.tools import ToolSpec
from harness.values import JsonObject


@dataclass(frozen=True, kw_only=True)
class _Item:
    """One item of `tools:` and its location."""

    source: Document
    at: tuple[int | str, ...]
    data: JsonValue
    group: Group | None


@dataclass(frozen=True, kw_only=True)
class Tools:
    """All tools of a suite, and every server they name."""

    tools: tuple[ToolSpec, ...]
    servers: dict[str, ToolServer]


def read_tools(document: Document, declared: JsonValue, servers: Mapping[str, ToolServer]) -> Tools:
    """The suite's tools. Raises InvalidDocument; for a listing that is missing, with the way to get it."""
    together = dict(servers)
    tools: list[ToolSpec] = []
    for item in _items(document, declared):
        if item.group is None:
            tools.append(item.source.shaped(ToolSpec, item.data, *item.at))
            continue
        _add_server(item, item.group, together)
        try:
            found = _tools_of(item.group, document.path.parent)
        except ValueError as error:
            item.source.refuse(*item.at, problem=str(error))
        tools += [item.source.shaped(ToolSpec, tool, *item.at) for tool in found]
    return Tools(tools=tuple(tools), servers=together)


def read_groups(document: Document, declared: JsonValue) -> list[Group]:
    """The groups alone, which need no listing to be read."""
    return [item.group for item in _items(document, declared) if item.group is not None]


def notes_of(groups: Iterable[Group], folder: Path) -> list[str]:
    """What the groups' OpenAPI documents declare and no tool of the suite has, each with the reason."""
    from harness.suite.openapi import openapi_tools

    notes: list[str] = []
    for group in groups:
        if isinstance(group, OpenApiTools):
            openapi_tools(group, _openapi_document(group, folder), notes)
    return notes


def remote_document_path(folder: Path, group: OpenApiTools) -> Path:
    """The path at which the document of a URL is stored."""
    return listing_path(folder, f"{group.server}.openapi")


def _items(document: Document, declared: JsonValue) -> Iterator[_Item]:
    if isinstance(declared, str):
        source = _other_document(document, declared, "tools")
        yield from _tool_items(source, source.data, ())
    else:
        yield from _tool_items(document, declared, ("tools",))


def _tool_items(source: Document, items: JsonValue, at: tuple[int | str, ...]) -> Iterator[_Item]:
    if not isinstance(items, list):
        source.refuse(*at, problem="expected a list of tools", remedy="begin each tool with `- name: ...`")
    for index, data in enumerate(items):
        here = (*at, index)
        kinds = [kind for kind in KINDS if isinstance(data, dict) and kind in data]
        if isinstance(data, str):
            other = _other_document(source, data, *here)
            yield from _tool_items(other, other.data, ())
        elif len(kinds) > 1:
            source.refuse(*here, problem=f"is of one kind only, not {' and '.join(kinds)}")
        else:
            group = source.shaped(KINDS[kinds[0]], data, *here) if kinds else None
            yield _Item(source=source, at=here, data=data, group=group)


def _other_document(document: Document, name: str, *at: int | str) -> Document:
    """Another file, by the field that names it."""
    path = document.path.parent / name
    if not is_file(path):
        document.refuse(*at, problem=f"{name[:200]!r} is not a readable file")
    return open_document(path)


def _add_server(item: _Item, group: Group, servers: dict[str, ToolServer]) -> None:
    if isinstance(group, OpenApiTools):
        return  # its server is declared: what is called has an address
    if group.server in servers:
        item.source.refuse(*item.at, "server", problem=f"there is a server {group.server!r} already")
    servers[group.server] = server_of(group)


def server_of(group: McpTools | PythonTools | SandboxTools | BrowserTools) -> ToolServer:
    """The server that the group brings."""
    match group:
        case McpTools(mcp=place):
            return ToolServer(
                service=place.service,
                base_url=place.base_url,
                headers=place.headers,
                reset=place.reset,
                mcp=McpServer.model_validate(place.model_dump(include=set(McpServer.model_fields))),
                disposable=group.disposable,
                double=group.double,
                state=group.state,
            )
        case PythonTools():
            return ToolServer(python=group.python, disposable=group.disposable, double=group.double, state=group.state)
        case SandboxTools():
            return ToolServer(sandbox=True, disposable=True)
        case BrowserTools():
            return ToolServer(browser=True, disposable=True)


def _tools_of(group: Group, folder: Path) -> list[JsonObject]:
    match group:
        case SandboxTools():
            return sandbox_tools(group)
        case BrowserTools():
            return browser_tools(group)
        case OpenApiTools():
            from harness.suite.openapi import openapi_tools

            return openapi_tools(group, _openapi_document(group, folder))
        case McpTools():
            return listed_tools(group, _listing(group.server, folder), "mcp")
        case PythonTools():
            return listed_tools(group, _unchanged(group, group.python, folder), "python")


def _openapi_document(group: OpenApiTools, folder: Path) -> JsonValue:
    if group.is_remote:
        return _read_if_present(remote_document_path(folder, group), folder)
    if not is_file(path := folder / group.openapi):
        raise ValueError(f"`openapi`: {group.openapi[:200]!r} is not a readable file")
    document: JsonValue = read_plain(path)[0]
    return document


def _unchanged(group: PythonTools, what: str, folder: Path) -> Listing:
    """The stored listing, if it was made of the group as it is now."""
    listing = _listing(group.server, folder)
    if listing.digest != listing_digest(group, folder):
        raise ValueError(f"{what} has changed since its tools were listed: {_refresh(folder)}")
    return listing


def _listing(server: str, folder: Path) -> Listing:
    path = listing_path(folder, server)
    _read_if_present(path, folder, read=False)
    return read_listing(path)


def _read_if_present(path: Path, folder: Path, *, read: bool = True) -> JsonValue:
    if not is_file(path):
        raise InvalidDocument(path, "is not there: the source's listing was never taken", remedy=_refresh(folder))
    value: JsonValue = read_plain(path)[0] if read else None
    return value


def _refresh(folder: Path) -> str:
    return f"harness tool refresh {folder.name}"
