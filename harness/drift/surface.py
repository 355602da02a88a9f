"""Compares a source's description of its tools with the listing that the suite stores: changes in the description
that agents receive.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from harness.drift.change import Change, shortened, texts_apart
from harness.drift.comparing.declared import Declared, declared_in
from harness.drift.comparing.paths import member
from harness.results import ChangeClass, DriftFinding
from harness.values import JsonObject, JsonValue

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
            shown: JsonValue = {"name": name, "description": shortened(before.description)}
            yield (
                name,
                name,
                Change(change="surface.tool_removed", path=LISTING, old_kind="tool", new_kind="absent", before=shown),
            )
        elif before is None and now is not None:
            tool: JsonValue = {"name": name, "description": shortened(now.description)}
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
            yield _declared(change, path, ("absent", new.words), old, new)
        elif new is None and old is not None:
            yield _declared("surface.input_type_changed", path, (old.words, "absent"), old, new)
        elif old is not None and new is not None:
            if new.required and not old.required:
                yield _declared("surface.input_required_added", path, ("optional", "required"), old, new)
            if not old.fits_into(new):
                yield _declared("surface.input_type_changed", path, (old.words, new.words), old, new)


def _outputs(before: JsonObject | None, now: JsonObject | None) -> Iterator[Change]:
    old_all, new_all = declared_in(before or {}, _OUTPUT), declared_in(now or {}, _OUTPUT)
    for path in sorted({*old_all, *new_all}):
        old, new = old_all.get(path), new_all.get(path)
        words = ("absent" if old is None else old.words, "absent" if new is None else new.words)
        if words[0] != words[1]:
            change: ChangeClass = "surface.output_added" if old is None else "surface.output_changed"
            yield _declared(change, path, words, old, new)


def _declared(
    change: ChangeClass, path: str, words: tuple[str, str], old: Declared | None, new: Declared | None
) -> Change:
    return Change(
        change=change,
        path=path,
        old_kind=words[0],
        new_kind=words[1],
        before=None if old is None else shortened(old.schema),
        after=None if new is None else shortened(new.schema),
    )


def _paths(tool: ToolSurface) -> Iterator[str]:
    yield from (LISTING, _DESCRIPTION, _INPUT, _OUTPUT)
    yield from declared_in(tool.input, _INPUT)
    yield from declared_in(tool.output or {}, _OUTPUT)
