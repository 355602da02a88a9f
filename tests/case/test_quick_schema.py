"""The quick look at arguments never lets pass what the real validator refuses."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from harness.case.endpoints.quick_schema import is_plain, quick_check
from harness.values import JsonValue

NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, 1.0, 1.5])
    | st.sampled_from(["", "a", "bb"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
TYPES = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keywords: dict[str, st.SearchStrategy[Any]] = {
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=2, unique=True),
        "enum": st.lists(st.sampled_from(["a", "bb", 1, True, None]), min_size=1, max_size=3, unique_by=repr),
        "properties": st.dictionaries(NAMES, inner, max_size=2),
        "required": st.lists(NAMES, max_size=2, unique=True),
        "additionalProperties": inner,
        "items": inner,
        "minItems": st.integers(0, 2),
        "maxLength": st.integers(0, 2),
        "pattern": st.sampled_from(["a", "^b?$", "(a|b)+", "."]),
        "minimum": st.integers(-1, 2),
        "exclusiveMaximum": st.integers(-1, 2),
        "const": VALUES,
        "description": st.just("a note"),
    }
    return st.fixed_dictionaries({}, optional=keywords)


@settings(max_examples=300, deadline=None)
@given(st.recursive(st.booleans() | st.just({}), schemas, max_leaves=4), VALUES)
def test_what_fits_at_a_glance_is_valid(schema: JsonValue, value: JsonValue) -> None:
    if quick_check(schema)(value):
        assert Draft202012Validator(schema).is_valid(value)


SHAPES = {
    "type": VALUES | TYPES,
    "enum": VALUES,
    "required": VALUES,
    "title": VALUES,
    "pattern": VALUES | st.sampled_from(["a", "("]),
    "examples": VALUES,
    "minItems": VALUES,
    "maximum": VALUES,
    "properties": VALUES,
}


@settings(max_examples=300, deadline=None)
@given(st.fixed_dictionaries({}, optional={**SHAPES, "items": st.fixed_dictionaries({}, optional=SHAPES)}))
def test_a_schema_called_plain_is_well_formed(schema: JsonValue) -> None:
    if is_plain(schema):
        Draft202012Validator.check_schema(schema)


SCHEMA: JsonValue = {
    "type": "object",
    "required": ["size"],
    "additionalProperties": False,
    "properties": {
        "size": {"type": "string", "enum": ["small", "large"], "description": "of the drink"},
        "number": {"type": "integer", "minimum": 1, "maximum": 9},
        "extras": {"type": "array", "items": {"type": "string", "maxLength": 5}, "maxItems": 2},
        "note": {"type": ["string", "null"]},
        "code": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$"},
    },
}


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ({"size": "small", "number": 2, "extras": ["ice"], "note": None}, True),
        ({"size": "small"}, True),
        ({}, False),
        ({"size": "huge"}, False),
        ({"size": "small", "number": True}, False),
        ({"size": "small", "code": "AB-12"}, True),
        ({"size": "small", "code": "AB-12 "}, False),
        ({"size": "small", "number": 10}, False),
        ({"size": "small", "extras": ["lemonade"]}, False),
        ({"size": "small", "extras": ["a", "b", "c"]}, False),
        ({"size": "small", "colour": "red"}, False),
        (["size"], False),
    ],
)
def test_the_keywords_that_tools_use_are_understood(value: JsonValue, fits: bool) -> None:
    assert is_plain(SCHEMA)
    assert quick_check(SCHEMA)(value) is fits
    assert Draft202012Validator(SCHEMA).is_valid(value) is fits


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/a"},
        {"patternProperties": {"a": {}}},
        {"pattern": "("},
        {"anyOf": [{}]},
        {"type": "other"},
        "text",
    ],
)
def test_a_schema_that_is_not_understood_fits_nothing(schema: JsonValue) -> None:
    assert not is_plain(schema)
    assert not quick_check(schema)({})


def test_a_bottomless_schema_is_left_to_the_validator() -> None:
    schema: JsonValue = {}
    for _ in range(5000):
        schema = {"items": schema}

    assert not quick_check(schema)([])
