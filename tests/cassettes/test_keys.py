"""When two calls are the same call."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cassettes.keys import StateChain, call_key, complete_arguments
from harness.cassettes.redaction import Redactor
from harness.suite.tools import HttpRoute, ToolSpec
from harness.values import JsonObject

OPEN = ToolSpec(name="t", server="s", http=HttpRoute(path="/"), parameters={"type": "object"})
NOTHING_SECRET = Redactor({})

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abcé\x00", max_size=3), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text("abcd", min_size=1, max_size=3), values, max_size=4)


def key(arguments: JsonObject, tool: ToolSpec = OPEN) -> str:
    return call_key(tool, complete_arguments(tool, arguments), NOTHING_SECRET).key


def reordered(value: Any) -> Any:
    match value:
        case dict():
            return {name: reordered(value[name]) for name in reversed(value)}
        case list():
            return [reordered(item) for item in value]
        case _:
            return value


def as_floats(value: Any) -> Any:
    match value:
        case bool():
            return value
        case int():
            return float(value)
        case dict():
            return {name: as_floats(item) for name, item in value.items()}
        case list():
            return [as_floats(item) for item in value]
        case _:
            return value


@given(objects)
def test_the_order_of_arguments_does_not_matter(arguments: JsonObject) -> None:
    assert key(arguments) == key(reordered(arguments))


@given(objects)
def test_an_integral_float_is_its_integer(arguments: JsonObject) -> None:
    assert key(arguments) == key(as_floats(arguments))


def strictly(value: Any) -> Any:
    """A value that is equal only to itself: True is not 1."""
    match value:
        case dict():
            return frozenset((name, strictly(item)) for name, item in value.items())
        case list():
            return tuple(strictly(item) for item in value)
        case _:
            return (type(value).__name__, value)


@given(objects, objects)
def test_different_arguments_have_different_keys(first: JsonObject, second: JsonObject) -> None:
    assert (key(first) == key(second)) == (strictly(first) == strictly(second))


@pytest.mark.parametrize(
    ("first", "second"),
    [({"a": True}, {"a": 1}), ({"a": None}, {}), ({"a": "1"}, {"a": 1}), ({"a": [1, 2]}, {"a": [2, 1]})],
)
def test_values_that_merely_look_alike_are_different(first: JsonObject, second: JsonObject) -> None:
    assert key(first) != key(second)


def test_a_default_that_is_left_out_is_the_same_call_as_one_that_is_given(look: ToolSpec) -> None:
    assert key({"q": "egg"}, look) == key({"q": "egg", "limit": 5.0}, look)
    assert key({"q": "egg"}, look) != key({"q": "egg", "limit": 6}, look)


def test_defaults_are_filled_inside_objects_and_lists() -> None:
    line = {"type": "object", "properties": {"quantity": {"type": "integer", "default": 1}}}
    tool = OPEN.model_copy(
        update={"parameters": {"type": "object", "properties": {"lines": {"type": "array", "items": line}}}}
    )

    assert complete_arguments(tool, {"lines": [{"item": "egg"}, {"quantity": 2}]}) == {
        "lines": [{"item": "egg", "quantity": 1}, {"quantity": 2}]
    }


def test_a_volatile_argument_is_no_part_of_the_key(look: ToolSpec) -> None:
    assert key({"q": "egg", "nonce": 1}, look) == key({"q": "egg", "nonce": 2}, look) == key({"q": "egg"}, look)


def test_two_tools_never_share_a_key(look: ToolSpec) -> None:
    assert key({}, OPEN) != key({}, OPEN.model_copy(update={"name": "u"}))


def test_the_state_depends_on_the_writes_and_their_order_and_on_the_server_alone() -> None:
    def state_after(*items: str, server: str = "s") -> str:
        chain = StateChain()
        for item in items:
            chain.advance(call_key(OPEN, {"item": item}, NOTHING_SECRET))
        return chain.state(server)

    assert state_after("a", "b") == state_after("a", "b")
    assert len({state_after(), state_after("a"), state_after("a", "b"), state_after("b", "a")}) == 4
    assert state_after("a", server="other") == state_after(server="other") != state_after()


def test_a_property_without_a_schema_leaves_the_defaults_of_the_others() -> None:
    properties = {"any": True, "limit": {"default": 5}}
    tool = OPEN.model_copy(update={"parameters": {"type": "object", "properties": properties}})
    assert {"any": 1, "limit": 5} == complete_arguments(tool, {"any": 1})
