"""Arguments that are correct in substance and wrong in encoding: the first symptom of a change of the base model.

Detected by the tool's schema: a value of another type than declared, which has that type once it is read as JSON,
written as text, or put into or taken out of a list. Detected by the case's reference, where the schema allows the
value: a call that differs from one of the reference's in such encodings alone.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from harness.case import ReferenceCall, ToolSpec
from harness.score.comparison.arguments import argument_faults, call_keys
from harness.score.comparison.comparing import differences
from harness.score.comparison.jsonvalue import parsed_json
from harness.score.comparison.reference import reference_keys
from harness.score.evidence import Evidence, calls_of
from harness.score.scorecard import EncodingFault
from harness.trace import ToolCall
from harness.values import JsonValue

_TYPES: Final = {
    type(None): "null", bool: "boolean", str: "string", dict: "object", list: "array", int: "integer", float: "integer"
}  # fmt: skip
_MOST: Final = 40
"""The number of calls of the reference that a call is compared with."""


def encoding_faults(evidence: Evidence) -> Mapping[int, EncodingFault]:
    """The first wrong encoding of each call that has one, by the call's identity."""
    return evidence.once(_encoding_faults)


def _encoding_faults(evidence: Evidence) -> dict[int, EncodingFault]:
    tools = {tool.name: tool for tool in evidence.tools}
    invalid, keys = argument_faults(evidence), call_keys(evidence)
    reference = (evidence.case.reference or ())[:_MOST]
    wanted = set(reference_keys(evidence))
    found: dict[int, EncodingFault] = {}
    for call in calls_of(evidence):
        fault: EncodingFault | None = None
        if id(call) in invalid:
            fault = _by_schema(tools[call.name], call)
        elif reference and keys[id(call)] not in wanted:
            fault = _by_reference(reference, call)
        if fault is not None:
            found[id(call)] = fault
    return found


def _by_schema(tool: ToolSpec, call: ToolCall) -> EncodingFault | None:
    properties = tool.parameters.get("properties")
    if not isinstance(properties, dict):
        return None
    for name, value in (call.arguments or {}).items():
        schema = properties.get(name)
        if isinstance(schema, dict):
            fault = _fault(value, _declared(schema))
            if fault is not None:
                return fault
    return None


def _by_reference(reference: Sequence[ReferenceCall], call: ToolCall) -> EncodingFault | None:
    for wanted in reference:
        if wanted.tool == call.name and wanted.arguments.keys() == (call.arguments or {}).keys():
            unlike = differences(wanted.arguments, call.arguments or {})
            if unlike and all(one.encoding for one in unlike):
                return _fault(unlike[0].found, (_type(unlike[0].expected),)) or "json_as_text"
    return None


def _fault(value: JsonValue, declared: Sequence[str]) -> EncodingFault | None:
    if not declared or value is None or _fits(value, declared):
        return None
    opened = _opened(value)
    if opened is not None and _fits(opened, declared):
        return "json_as_text" if isinstance(opened, dict | list) else "value_as_text"
    if isinstance(value, list) and len(value) == 1 and _fits(value[0], declared):
        return "list_of_one"
    if "array" in declared:
        return "one_without_list"
    if "string" not in declared:
        return None
    return "json_for_text" if isinstance(value, dict | list) else "value_for_text"


def _opened(value: JsonValue) -> JsonValue:
    """What a text holds as JSON; None where it is none, or is a text again."""
    if not isinstance(value, str):
        return None
    try:
        opened = parsed_json(value)
    except ValueError:
        return None
    return None if isinstance(opened, str) else opened


def _fits(value: JsonValue, declared: Sequence[str]) -> bool:
    own = _type(value)
    return own in declared or (own == "integer" and "number" in declared)


def _declared(schema: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """The names of the types that a schema accepts; empty where it does not declare them directly."""
    declared = schema.get("type")
    if isinstance(declared, str):
        return (declared,)
    if isinstance(declared, list):
        return tuple(one for one in declared if isinstance(one, str))
    branches = schema.get("anyOf")
    if not isinstance(branches, list):
        return ()
    parts = [_declared(branch) if isinstance(branch, dict) else () for branch in branches]
    return tuple(one for part in parts for one in part) if all(parts) else ()


def _type(value: JsonValue) -> str:
    if isinstance(value, float) and not value.is_integer():
        return "number"
    return _TYPES[type(value)]
