"""Fixture packs: fixed payloads that replace the answers of tools, so that a case always receives them.

suites/<suite>/fixtures/<pack>.yaml

get_reorder_items:
  answer: {items: []}
lookup_menu_item:
  - {when: {query: hash browns}, answer: {query: hash browns, items: []}}
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import Field, JsonValue

from harness.suite.cases import Case
from harness.suite.documents import Document, open_document
from harness.suite.tools import ToolSpec
from harness.values import Frozen, JsonObject

FOLDER = "fixtures"


class Fixture(Frozen):
    """One payload of one tool."""

    tool: str
    """The name of the tool: the key of the payload in the file."""
    when: JsonObject = {}
    """Only for calls that have all of these arguments (defaults filled in); empty: for every call."""
    answer: JsonValue
    """The JSON that the agent receives."""
    status: int = Field(default=200, ge=200, le=599)
    """HTTP status of the answer; 400 and more is an error of the tool."""


class FixturePack(Frozen):
    """The payloads of one file."""

    name: str
    fixtures: tuple[Fixture, ...]


def load_packs(folder: Path, cases: Iterable[Case], tools: tuple[ToolSpec, ...]) -> dict[str, FixturePack]:
    """The packs that the cases name. Raises InvalidDocument with file and line for a payload that is none."""
    names = sorted({name for case in cases for name in case.fixtures})
    return {name: load_pack(folder / FOLDER / f"{name}.yaml", tools) for name in names}


def pack_names(folder: Path) -> list[str]:
    """The packs that a suite's folder holds."""
    return sorted(path.stem for path in (folder / FOLDER).glob("*.yaml"))


def load_pack(path: Path, tools: tuple[ToolSpec, ...]) -> FixturePack:
    """One pack's file, checked against the suite's tools."""
    document = open_document(path)
    if not isinstance(document.data, dict):
        document.refuse(problem="expected a mapping of tools to payloads", remedy="begin with `<tool>: {answer: ...}`")
    known = {tool.name: tool for tool in tools}
    found: list[Fixture] = []
    for name, entries in document.data.items():
        if name not in known:
            document.refuse(name, problem=f"there is no tool {name!r}", remedy=f"the suite has: {', '.join(known)}")
        for at, entry in _entries(name, entries):
            found.append(_fixture(document, known[name], entry, at))
    return FixturePack(name=path.stem, fixtures=tuple(found))


def _entries(name: str, entries: Any) -> list[tuple[tuple[int | str, ...], Any]]:
    if isinstance(entries, list):
        return [((name, index), entry) for index, entry in enumerate(entries)]
    return [((name,), entries)]


def _fixture(document: Document, tool: ToolSpec, entry: Any, at: tuple[int | str, ...]) -> Fixture:
    if not isinstance(entry, dict) or "answer" not in entry:
        document.refuse(*at, problem="has no `answer`", remedy="write `{answer: <any JSON>}`, with `when:` if needed")
    fixture = document.shaped(Fixture, {**entry, "tool": tool.name}, *at)
    properties = tool.parameters.get("properties")
    unknown = sorted(set(fixture.when) - set(properties if isinstance(properties, dict) else {}))
    if unknown:
        document.refuse(*at, "when", problem=f"{tool.name} has no argument {', '.join(map(repr, unknown))}")
    return fixture
