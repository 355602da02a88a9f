"""Tool definitions in the shapes of the model providers, converted to one."""

from collections.abc import Iterable
from pathlib import Path

from harness.ingest.found import FoundTool
from harness.ingest.reading import Record, kind_of, read_json


def read_tools(path: Path) -> tuple[FoundTool, ...]:
    """The tools of a JSON file: a list of definitions, or an object with one under `tools`."""
    value = read_json(path)
    outer = Record(path=path, data=value if isinstance(value, dict) else {"tools": value})
    return tools_of(outer.records("tools"))


def tools_of(definitions: Iterable[Record]) -> tuple[FoundTool, ...]:
    """OpenAI (`function.parameters`), Anthropic and MCP (`input_schema`) or bare definitions."""
    return tuple(_tool(definition) for definition in definitions)


def _tool(definition: Record) -> FoundTool:
    function = definition.value("function")
    inner = definition.within("function", function) if isinstance(function, dict) else definition
    name = inner.text("name") or inner.text("type")
    if not name:
        raise inner.refusal("name", f"is {kind_of(inner.data.get('name'))}: every tool has a name")
    schema = inner.value("parameters", "input_schema", "inputSchema", "parameters_json_schema")
    if schema is not None and not isinstance(schema, dict):
        raise inner.refusal("parameters", f"is {kind_of(schema)}, not a schema")
    hints = inner.value("annotations")
    reads = hints.get("readOnlyHint") if isinstance(hints, dict) else None
    return FoundTool(
        name=name,
        description=inner.text("description") or "",
        parameters=schema,
        reads=reads if isinstance(reads, bool) else None,
    )
