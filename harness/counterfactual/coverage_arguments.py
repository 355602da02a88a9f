"""Parameters of tools and the values that their schemas enumerate, and which of them calls were given.

Schemas are read below objects, lists and alternatives; `order.items[].size` is a parameter of an item of a list. A
default counts as given where a call leaves its parameter out.
"""

from collections.abc import Iterator, Sequence

from harness.case import ToolSpec
from harness.cassette import complete_arguments
from harness.counterfactual.covered import Covered, covered
from harness.values import JsonObject, JsonValue, canonical_json

_DEEPEST = 8
"""Levels of a schema that are read; one that names itself has no last one."""
_ITEM = "[]"
_ALTERNATIVES = ("anyOf", "oneOf", "allOf")

Call = tuple[str, JsonObject]
"""Tool and arguments."""


def parameters_of(tools: Sequence[ToolSpec], calls: Sequence[Call]) -> Covered:
    """Parameters that a call named."""
    every = [f"{tool.name}{path}" for tool in tools for path, _ in _places(tool)]
    named = [one for one in every if not one.endswith(_ITEM)]
    return covered(named, [f"{name}{path}" for name, given in calls for path, _ in _given(given)])


def values_of(tools: Sequence[ToolSpec], calls: Sequence[Call]) -> Covered:
    """Enumerated values, and the two of a truth value."""
    specs = {tool.name: tool for tool in tools}
    every = [
        f"{tool.name}{path}={canonical_json(choice)}"
        for tool in tools
        for path, schema in _places(tool)
        for choice in _choices(schema)
    ]
    given = [
        f"{name}{path}={canonical_json(value)}"
        for name, arguments in calls
        if name in specs
        for path, value in _given(complete_arguments(specs[name], arguments))
    ]
    return covered(every, given)


def _places(tool: ToolSpec) -> Iterator[tuple[str, JsonObject]]:
    """(path, schema) of each parameter, those in objects and lists among them."""
    definitions = tool.parameters.get("$defs") or tool.parameters.get("definitions")
    known = definitions if isinstance(definitions, dict) else {}
    for path, schema in _below(tool.parameters, "", known, _DEEPEST):
        if path:
            yield path, schema


def _below(schema: JsonValue, path: str, known: JsonObject, deep: int) -> Iterator[tuple[str, JsonObject]]:
    if not isinstance(schema, dict) or deep == 0:
        return
    named = schema.get("$ref")
    if isinstance(named, str):
        yield from _below(known.get(named.rpartition("/")[2]), path, known, deep - 1)
        return
    yield path, schema
    for word in _ALTERNATIVES:
        branches = schema.get(word)
        for branch in branches if isinstance(branches, list) else []:
            yield from _below(branch, path, known, deep - 1)
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        yield from _below(inner, f"{path}.{name}", known, deep - 1)
    yield from _below(schema.get("items"), f"{path}{_ITEM}", known, deep - 1)


def _choices(schema: JsonObject) -> list[JsonValue]:
    listed = schema.get("enum")
    if isinstance(listed, list):
        return listed
    if "const" in schema:
        return [schema["const"]]
    return [True, False] if schema.get("type") == "boolean" else []


def _given(value: JsonValue, path: str = "") -> Iterator[tuple[str, JsonValue]]:
    """(path, value) of what a call was given, at each level."""
    if path:
        yield path, value
    match value:
        case dict():
            for name, inner in value.items():
                yield from _given(inner, f"{path}.{name}")
        case list():
            for inner in value:
                yield from _given(inner, f"{path}{_ITEM}")
        case _:
            return
