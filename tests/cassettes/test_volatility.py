"""In which places two answers to one call differ, and which fields change by themselves."""

import pytest
from pydantic import JsonValue

from harness.cassettes.volatility import (
    changes,
    decoded,
    is_declared,
    is_identity,
    is_time_or_trace,
    json_in,
    unfolded,
)

Found = list[tuple[str, JsonValue, JsonValue, bool]]


def found(before: JsonValue, after: JsonValue) -> Found:
    return [("/".join(one.path), one.before, one.after, one.same_shape) for one in changes(before, after)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [("a", 1, 2, True)]),
        ({"a": 1}, {"a": 2.5}, [("a", 1, 2.5, True)]),
        ({"a": 1}, {"a": "1"}, [("a", 1, "1", False)]),
        ({"a": 1}, {"a": True}, [("a", 1, True, False)]),
        ({"a": False}, {"a": 0}, [("a", False, 0, False)]),
        ({"a": True}, {"a": False}, [("a", True, False, True)]),
        ({"a": None}, {"a": "x"}, [("a", None, "x", False)]),
        ({"a": [1]}, {"a": {"b": 1}}, [("a", [1], {"b": 1}, True)]),
        ({"b": 1, "a": 1}, {"c": 2, "a": 1}, [("b", 1, None, False), ("c", None, 2, False)]),
        ([1, 2], [1, 3, 4], [("1", 2, 3, True), ("", 2, 3, False)]),
        ([1, 2], [2, 1], [("0", 1, 2, True), ("1", 2, 1, True)]),
        ("old", "new", [("", "old", "new", True)]),
        ("same", "same", []),
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 3}', [("a", 1, 3, True)]),
        ('{"a": 1}', '{"a":1}', [("", '{"a": 1}', '{"a":1}', True)]),
        ('{"a": 1}', "[1]", [("", '{"a": 1}', "[1]", True)]),
        ('{"a": 1}', "text", [("", '{"a": 1}', "text", True)]),
        ("text", '{"a": 1}', [("", "text", '{"a": 1}', True)]),
    ],
)
def test_every_place_that_differs_is_found_with_both_values(
    before: JsonValue, after: JsonValue, expected: Found
) -> None:
    assert expected == found(before, after)


@pytest.mark.parametrize(
    ("name", "identity", "time"),
    [
        ("id", True, False),
        ("ID", True, False),
        ("order_id", True, False),
        ("order-uuid", True, False),
        ("orderId", True, False),
        ("nextCursor", True, False),
        ("paid", False, False),
        ("id_card", False, False),
        ("created_at", False, True),
        ("Last-Modified", False, True),
        ("requestId", True, True),
        ("etag", False, True),
        ("creator", False, False),
    ],
)
def test_identities_and_times_are_told_by_the_name_of_their_field(name: str, *, identity: bool, time: bool) -> None:
    assert (identity, time) == (is_identity(name), is_time_or_trace(name))


@pytest.mark.parametrize(
    ("pointers", "path", "declared"),
    [
        (["/a/b"], ("a", "b"), True),
        (["/a"], ("a", "b"), True),
        (["/a/b"], ("a",), False),
        (["/a/c"], ("a", "b"), False),
        (["/*/b"], ("3", "b"), True),
        (["/*/b"], ("3", "c"), False),
        (["/x", "/a"], ("a",), True),
        (["/a~1b"], ("a/b",), True),
        (["/a~0b"], ("a~b",), True),
        (["/a~01b"], ("a~1b",), True),
        ([], ("a",), False),
    ],
)
def test_a_pointer_declares_its_place_and_all_below_it(
    pointers: list[str], path: tuple[str, ...], *, declared: bool
) -> None:
    assert declared == is_declared(path, pointers)


def test_only_objects_and_lists_are_unfolded_out_of_texts() -> None:
    deep = "[" * 100_000
    assert {"a": [1, {"b": "2"}], "c": "3", "d": None} == unfolded(
        {"a": '[1, "{\\"b\\": \\"2\\"}"]', "c": "3", "d": None}
    )
    assert [{"a": 1}, 2, True] == unfolded(['{"a": 1}', 2, True])
    for text in ("3", '"x"', "", "{", "[1", deep):
        assert None is json_in(text)
        assert text == unfolded(text)
    assert [] == json_in("[]")
    assert ({"a": 1}, 3, "{", "\ufffd", deep) == tuple(map(decoded, (b'{"a": 1}', b"3", b"{", b"\xff", deep.encode())))
