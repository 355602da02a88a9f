"""A schema of the usual form is checked without `jsonschema`, with the same result."""

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from harness.suite.schemas import Schema, simple_check
from harness.values import JsonObject, JsonValue

NAMES = st.sampled_from(["a", "b", "ä"])
NUMBERS = st.sampled_from([-1, 0, 1, 2, 2**50, 2**53 + 1, 10**400, 0.5, 1.0, float("nan"), float("inf")])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.sampled_from(["", "a", "b", "ab", "1", "\U0001f600", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
LIMITS = st.sampled_from([0, 1, 2, 2**50, 2**53, -1])
TYPES = st.sampled_from(
    ["object", "object", "array", "string", "string", "integer", "number", "boolean", "null", "text"]
)


def schemas_with(inner: st.SearchStrategy[JsonValue]) -> st.SearchStrategy[JsonValue]:
    return st.fixed_dictionaries(
        {"type": TYPES},
        optional={
            "description": st.sampled_from(["d", "", "x", 1]),
            "enum": st.lists(st.sampled_from(["", "a", "ab", 1]), max_size=2),
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "required": st.lists(NAMES, max_size=2),
            "additionalProperties": st.booleans(),
            "items": inner,
            **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum"), LIMITS),
        },
    )


SCHEMAS = schemas_with(schemas_with(st.sampled_from([{"type": "string"}, {"type": "number", "minimum": 1}, True])))


@settings(max_examples=500, deadline=None)
@given(SCHEMAS, st.lists(VALUES, min_size=1, max_size=5))
def test_a_simple_schema_is_well_formed_and_accepts_valid_values_only(
    schema: JsonObject, values: list[JsonValue]
) -> None:
    simple = simple_check(schema)
    if simple is not None:
        Draft202012Validator.check_schema(schema)
        reference = Draft202012Validator(schema)
        for value in values:
            valid = reference.is_valid(value)
            assert valid or not simple(value)
            assert valid == (Schema(schema, field="f").problem(value) is None)


def test_valid_calls_of_usual_tools_need_no_other_validator() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "order": {"type": "string", "minLength": 1, "description": "its number"},
            "items": {"type": "array", "items": {"type": "string", "enum": ["tea", "soup"]}, "maxItems": 2},
            "price": {"type": "number", "minimum": 0},
            "count": {"type": "integer"},
        },
        "required": ["order"],
        "additionalProperties": False,
    }
    simple = simple_check(schema)
    assert simple is not None
    assert simple({"order": "1", "items": ["tea", "soup"], "price": 3, "count": 10**30})
    for wrong in (
        {},
        {"order": ""},
        {"order": "1", "items": ["salt"]},
        {"order": "1", "price": -1},
        {"order": "1", "x": 1},
        {"order": "1", "count": True},
        {"order": "1", "price": "1"},
    ):
        assert not simple(wrong)


def test_a_bound_that_a_float_rounds_is_exact() -> None:
    problem = Schema({"type": "number", "maximum": 2**53}, field="f").problem(2**53 + 1)
    assert problem is not None
