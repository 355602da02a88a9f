"""A source's own listing, stored beside the suite so that a replay needs no source, and the tools in it."""

import hashlib
import json
import re
from fnmatch import fnmatchcase
from pathlib import Path

from harness.case.endpoints.tool import Effect, ToolKind
from harness.case.sourcing.declared import PythonTools, SourceTools, ToolGroup
from harness.documents import read_document, write_atomically
from harness.values import Frozen, JsonObject, JsonValue, digest_of

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
    """Raises InvalidDocument where the file is missing or malformed."""
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
        case SourceTools():
            file, _, _ = group.tool_source.rpartition(":")
            code = _file_digest(folder / file) if file.endswith(".py") else None
            return digest_of({"tool_source": group.tool_source, "with": group.parameters, "code": code})
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
    return [_declared(group, name, by_name[name], kind) for name in chosen(group, list(by_name))]


def _declared(group: ToolGroup, name: str, tool: JsonObject, kind: ToolKind) -> JsonObject:
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
