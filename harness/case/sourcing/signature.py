"""A tool's arguments in one line, for people."""

import json

from harness.case.endpoints.tool import ToolSpec
from harness.values import JsonValue


def signature(tool: ToolSpec) -> str:
    """`add(item: string, quantity: integer = 1)`; an argument with `?` may be left out."""
    properties = tool.parameters.get("properties")
    required = tool.parameters.get("required")
    needed = required if isinstance(required, list) else []
    declared = properties if isinstance(properties, dict) else {}
    shown = [_argument(name, schema, name in needed) for name, schema in declared.items()]
    return f"{tool.name}({', '.join(shown)})"


def _argument(name: str, schema: JsonValue, needed: bool) -> str:
    kind = _kind(schema)
    if isinstance(schema, dict) and "default" in schema:
        return f"{name}: {kind} = {json.dumps(schema['default'], ensure_ascii=False)}"
    return f"{name}: {kind}" if needed else f"{name}?: {kind}"


def _kind(schema: JsonValue) -> str:
    if not isinstance(schema, dict):
        return "any"
    for union in ("anyOf", "oneOf"):
        choices = schema.get(union)
        if isinstance(choices, list):
            return " | ".join(_kind(choice) for choice in choices)
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return reference.rpartition("/")[2]
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return " | ".join(str(one) for one in kind)
    return f"{_kind(schema['items'])}[]" if kind == "array" and "items" in schema else str(kind)
