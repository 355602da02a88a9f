"""Fixture packs: fixed payloads that replace the answers of tools, so that a case always receives them.

suites/<suite>/fixtures/<pack>.yaml

get_reorder_items:
  answer: {items: []}
lookup_menu_item:
  - {when: {query: hash browns}, answer: {query: hash browns, items: []}}

If the name of the pack begins with a tool's (get_reorder_items_v1.yaml or .json), or `tool:` names one in it, the file
may be the payload itself, as the tool would return it.
"""

import re
from collections.abc import Iterable, Mapping
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
    files = _files(folder)
    return {name: load_pack(files.get(name, folder / FOLDER / f"{name}.yaml"), tools) for name in names}


def pack_names(folder: Path) -> list[str]:
    """The packs that a suite's folder holds."""
    return sorted(_files(folder))


def _files(folder: Path) -> dict[str, Path]:
    return {path.stem: path for suffix in ("json", "yaml") for path in (folder / FOLDER).glob(f"*.{suffix}")}


def load_pack(path: Path, tools: tuple[ToolSpec, ...]) -> FixturePack:
    """One pack's file, checked against the suite's tools."""
    document = open_document(path)
    known = {tool.name: tool for tool in tools}
    if (payload := _bare_payload(document, known)) is not None:
        return FixturePack(name=path.stem, fixtures=(payload,))
    if not isinstance(document.data, dict):
        document.refuse(
            problem="expected a mapping of tools to payloads",
            remedy="begin with `<tool>: {answer: ...}`, or name the file <tool>_<anything> if it is one payload",
        )
    found: list[Fixture] = []
    for name, entries in document.data.items():
        if name not in known:
            document.refuse(name, problem=f"there is no tool {name!r}", remedy=f"the suite has: {', '.join(known)}")
        for at, entry in _entries(name, entries):
            found.append(_fixture(document, known[name], entry, at))
    return FixturePack(name=path.stem, fixtures=tuple(found))


def _bare_payload(document: Document, known: Mapping[str, ToolSpec]) -> Fixture | None:
    """The payload of the one tool that the pack names; None if the file is a mapping of tools, misspelt ones too."""
    data = document.data
    named = data.get("tool") if isinstance(data, dict) and "tool" not in known else None
    if isinstance(named, str) and named in known:
        rest = {name: value for name, value in data.items() if name != "tool"}
        return _fixture(document, known[named], rest if "answer" in rest else {"answer": rest}, ())
    if isinstance(data, dict) and data and (data.keys() & known.keys() or all(map(_is_entry, data.values()))):
        return None
    stem = _plain_name(document.path.stem)
    fitting = [name for name in known if f"{stem}_".startswith(f"{_plain_name(name)}_")]
    tool = max(fitting, key=len, default=None)
    return None if tool is None else _fixture(document, known[tool], {"answer": data}, ())


def _is_entry(value: Any) -> bool:
    return any(isinstance(one, dict) and "answer" in one for one in (value if isinstance(value, list) else [value]))


def _plain_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower())


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
