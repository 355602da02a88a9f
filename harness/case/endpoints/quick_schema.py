"""A fast check that a value is valid, for schemas made of the keywords that tools nearly always use.

jsonschema decides whether a value is invalid, and why; but calling it for each of thousands of valid calls takes a
third of the gateway's time, and a tenth of scoring. Here True means valid, and False means unknown.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from harness.validation import check_expression, is_quickly_found
from harness.values import JsonValue

Fits = Callable[[JsonValue], bool]

_NOTES = frozenset({"$schema", "$comment", "title", "description", "default", "examples", "format", "deprecated"})
_KNOWN = _NOTES | {
    "type",
    "enum",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
}
_TYPES: Mapping[str, Fits] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
}


def is_plain(schema: JsonValue) -> bool:
    """Whether the schema is certainly well formed, at every depth, and made of known keywords only.

    `jsonschema` then accepts the schema itself; otherwise that is unknown.
    """
    try:
        return _is_plain(schema)
    except RecursionError:
        return False


def quick_check(schema: JsonValue) -> Fits:
    """True only for a value that fits; a schema that is not understood fits nothing."""
    try:
        return _check(schema)
    except RecursionError:
        return _unsure


def _check(schema: JsonValue) -> Fits:
    if isinstance(schema, bool):
        return lambda _: schema
    if not isinstance(schema, dict) or not schema.keys() <= _KNOWN:
        return _unsure
    made = (_type, _enum, _text, _pattern, _number, _list, _object)
    tests = [test for make in made if (test := make(schema)) is not None]
    if _unsure in tests:
        return _unsure
    return tests[0] if len(tests) == 1 else partial(_passes_all, tests)


def _passes_all(tests: Sequence[Fits], value: JsonValue) -> bool:
    for test in tests:  # noqa: SIM110  # a generator for each value takes longer than most tests
        if not test(value):
            return False
    return True


def _is_plain(schema: JsonValue) -> bool:
    if isinstance(schema, bool):
        return True
    if not isinstance(schema, dict) or not schema.keys() <= _FORMS.keys():
        return False
    return all(_FORMS[keyword](value) for keyword, value in schema.items())


def _is_text(value: JsonValue) -> bool:
    return isinstance(value, str)


def _is_expression(value: JsonValue) -> bool:
    if not isinstance(value, str):
        return False
    try:
        check_expression(value)
    except ValueError:
        return False
    return True


def _is_count(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_names(value: JsonValue) -> bool:
    return (
        isinstance(value, list)
        and all(isinstance(name, str) for name in value)
        and len({*map(str, value)}) == len(value)
    )


def _are_types(value: JsonValue) -> bool:
    if isinstance(value, list):
        return len(value) > 0 and _are_names(value) and all(name in _TYPES for name in value)
    return isinstance(value, str) and value in _TYPES


_FORMS: Mapping[str, Fits] = {
    **dict.fromkeys(("$comment", "title", "description", "format"), _is_text),
    "pattern": _is_expression,
    "default": lambda _: True,
    "examples": lambda value: isinstance(value, list),
    "deprecated": lambda value: isinstance(value, bool),
    "type": _are_types,
    "enum": lambda value: isinstance(value, list),
    "properties": lambda value: isinstance(value, dict) and all(_is_plain(inner) for inner in value.values()),
    "required": _are_names,
    **dict.fromkeys(("additionalProperties", "items"), _is_plain),
    **dict.fromkeys(("minItems", "maxItems", "minLength", "maxLength"), _is_count),
    **dict.fromkeys(("minimum", "maximum"), _is_number),
}
"""Keyword -> whether its value is well formed. `$schema` is not among them: it may name other rules."""


def _unsure(_: JsonValue) -> bool:
    return False


def _type(schema: Mapping[str, JsonValue]) -> Fits | None:
    match schema.get("type"):
        case None:
            return None
        case str() as name:
            return _TYPES.get(name, _unsure)
        case list() as names:
            tests = [_TYPES.get(str(name), _unsure) for name in names]
            return lambda value: any(test(value) for test in tests)
        case _:
            return _unsure


def _enum(schema: Mapping[str, JsonValue]) -> Fits | None:
    allowed = schema.get("enum")
    if allowed is None:
        return None
    if not isinstance(allowed, list) or not all(isinstance(item, str) for item in allowed):
        return _unsure  # only the full validator distinguishes 1, 1.0 and true
    return lambda value: isinstance(value, str) and value in allowed


def _text(schema: Mapping[str, JsonValue]) -> Fits | None:
    if not schema.keys() & {"minLength", "maxLength"}:
        return None
    bounds = _bounds(schema, "minLength", "maxLength")
    return lambda value: not isinstance(value, str) or bounds(len(value))


def _pattern(schema: Mapping[str, JsonValue]) -> Fits | None:
    expression = schema.get("pattern")
    if expression is None:
        return None
    if not isinstance(expression, str) or not _is_expression(expression):
        return _unsure
    return lambda value: not isinstance(value, str) or is_quickly_found(expression, value)


def _number(schema: Mapping[str, JsonValue]) -> Fits | None:
    if not schema.keys() & {"minimum", "maximum"}:
        return None
    bounds = _bounds(schema, "minimum", "maximum")
    return lambda value: isinstance(value, bool) or not isinstance(value, int | float) or bounds(value)


def _list(schema: Mapping[str, JsonValue]) -> Fits | None:
    if not schema.keys() & {"items", "minItems", "maxItems"}:
        return None
    bounds, item = _bounds(schema, "minItems", "maxItems"), _check(schema.get("items", True))
    return lambda value: not isinstance(value, list) or (bounds(len(value)) and all(item(each) for each in value))


def _object(schema: Mapping[str, JsonValue]) -> Fits | None:
    if not schema.keys() & {"properties", "required", "additionalProperties"}:
        return None
    declared, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(declared, dict) or not isinstance(required, list):
        return _unsure
    members = {name: _check(inner) for name, inner in declared.items()}
    return partial(_fits_members, required, members, _check(schema.get("additionalProperties", True)))


def _fits_members(required: list[JsonValue], members: Mapping[str, Fits], other: Fits, value: JsonValue) -> bool:
    if not isinstance(value, dict):
        return True
    for name in required:
        if name not in value:
            return False
    for name, item in value.items():  # noqa: SIM110  # as above
        if not members.get(name, other)(item):
            return False
    return True


def _bounds(schema: Mapping[str, JsonValue], least: str, most: str) -> Callable[[float], bool]:
    low, high = schema.get(least, float("-inf")), schema.get(most, float("inf"))
    if not isinstance(low, int | float) or not isinstance(high, int | float):
        return _unsure
    return lambda size: low <= size <= high
