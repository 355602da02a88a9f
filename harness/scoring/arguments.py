"""Tool arguments read by their schema: when two calls are the same, and when one is valid."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

from pydantic import JsonValue

from harness.scoring.evidence import Evidence, calls_of, once
from harness.scoring.json_values import equality_key, null_means_left_out
from harness.scoring.scorecard import ParameterFault
from harness.suite.cases import ReferenceCall
from harness.suite.schemas import Schema, simple_check
from harness.suite.tools import ToolSpec, without_volatile
from harness.traces.trajectory import ToolCall
from harness.values import JsonObject

UNORDERED = "x-unordered"
"""An annotation of an array schema: the order of its elements does not matter."""


def call_key(tool: ToolSpec | None, name: str, arguments: JsonObject) -> str:
    """Two calls are the same exactly when their keys are: tool, and arguments with the schema's defaults filled in.

    1 equals 1.0, True differs from 1, and arrays that the schema calls unordered are compared as bags. Arguments that
    the tool declares volatile are left out, and so is null for an optional parameter that takes no null.
    """
    return f"{name} {equality_key(compared_arguments(tool, arguments))}"


def compared_arguments(tool: ToolSpec | None, arguments: JsonObject) -> JsonObject:
    """The arguments that two calls are compared by."""
    if tool is None:
        return arguments
    compared = _normal(without_volatile(tool, arguments) if tool.ignore else arguments, tool.parameters)
    assert isinstance(compared, dict)
    return compared


def keys_of_variants(reference: Sequence[ReferenceCall], key: Callable[[str, JsonObject], str]) -> dict[str, str]:
    """The key of each other way in which a reference call may be made -> that of the call as it is written."""
    written = {key(call.tool, call.arguments) for call in reference}
    found: dict[str, str] = {}
    for call in reference:
        for arguments in call.variants if call.any_of else ():
            found.setdefault(key(call.tool, arguments), key(call.tool, call.arguments))
    return {variant: own for variant, own in found.items() if variant not in written}


def key_of(call: ToolCall, tools: dict[str, ToolSpec]) -> str:
    """The key of a call as it was made; arguments that are not a JSON object equal only the same text."""
    if call.arguments is None:
        return f"{call.name} unparsed {call.unparsed!r}"
    return call_key(tools.get(call.name), call.name, call.arguments)


def keys_of(evidence: Evidence) -> tuple[str, ...]:
    """The keys of the calls that count as made, in order."""
    by_call, made = call_keys(evidence), evidence.made_calls
    return tuple(by_call[id(call)] for call in made)


def argument_fault(tool: ToolSpec, call: ToolCall) -> tuple[ParameterFault, str] | None:
    """What is wrong with the arguments of a call, by kind and in words; None if they are valid.

    Of several faults the first in the order of the kinds (see `Schema.fault`). Raises SchemaError for a bad
    schema, and OutOfTime for one whose expressions take too long.
    """
    if call.arguments is None:
        return "unparsed", "the arguments are not a JSON object"
    found = _schema(tool).fault(call.arguments)
    return None if found is None else (cast(ParameterFault, found[0]), found[1])


_SCHEMAS: Final[dict[int, tuple[JsonObject, Schema]]] = {}
"""Keyed by the identity of the schema as written, which is stored with the entry so that no other object can reuse its
id.
"""
_MOST_SCHEMAS: Final = 1024


def _schema(tool: ToolSpec) -> Schema:
    found = _SCHEMAS.get(id(tool.parameters))
    if found is not None:
        return found[1]
    if simple_check(tool.parameters) is None:
        from jsonschema import Draft202012Validator

        Draft202012Validator.check_schema(tool.parameters)
    schema = Schema(tool.parameters, field=f"tool {tool.name!r}: parameters")
    if len(_SCHEMAS) >= _MOST_SCHEMAS:
        _SCHEMAS.clear()
    _SCHEMAS[id(tool.parameters)] = (tool.parameters, schema)
    return schema


@once
def call_keys(evidence: Evidence) -> Mapping[int, str]:
    """The key of every call, by the call's identity."""
    tools = {tool.name: tool for tool in evidence.tools}
    same = keys_of_variants(
        evidence.case.reference or (), lambda name, arguments: call_key(tools.get(name), name, arguments)
    )
    keys = {id(call): key_of(call, tools) for call in calls_of(evidence)}
    return {call: same.get(key, key) for call, key in keys.items()}


@once
def argument_faults(evidence: Evidence) -> Mapping[int, tuple[ParameterFault, str]]:
    """What is wrong with the arguments of calls of known tools, by the call's identity; valid ones are left out."""
    tools = {tool.name: tool for tool in evidence.tools}
    found: dict[int, tuple[ParameterFault, str]] = {}
    for call in calls_of(evidence):
        fault = argument_fault(tools[call.name], call) if call.name in tools else None
        if fault is not None:
            found[id(call)] = fault
    return found


def _normal(value: JsonValue, schema: JsonValue) -> JsonValue:
    if not isinstance(schema, dict):
        return value
    match value:
        case dict():
            return _normal_object(value, schema)
        case list():
            items = [_normal(item, schema.get("items")) for item in value]
            return sorted(items, key=equality_key) if schema.get(UNORDERED) is True else items
        case _:
            return value


def _normal_object(value: JsonObject, schema: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return value
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    given = {
        key: item
        for key, item in value.items()
        if item is not None or key in needed or not null_means_left_out(properties.get(key))
    }
    filled = {**_defaults(properties), **given}
    return {key: _normal(item, properties.get(key)) for key, item in filled.items()}


def _defaults(properties: JsonObject) -> JsonObject:
    return {key: part["default"] for key, part in properties.items() if isinstance(part, dict) and "default" in part}
