"""What differs from the reference is named: which write, which argument, expected and found."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.case import ToolSpec
from harness.score.comparing import differences

Diagnosed = Callable[..., Any]
TOOLS = [
    ToolSpec.model_validate(
        {"name": name, "effect": effect, "server": "s", "http": {"path": "/"}, "parameters": {"type": "object"}}
    )
    for name, effect in (("get_order", "read"), ("update_order", "write"), ("update_items", "write"))
]
ORDER: dict[str, Any] = {"order_id": "W1000001"}
LOOK = ("call", "get_order", ORDER, {"id": "W1000001", "other": "W2000002"})


def _write(answer: str = "ok", tool: str = "update_order", **arguments: Any) -> tuple[Any, ...]:
    return ("call", tool, {**ORDER, **arguments}, answer)


@pytest.mark.parametrize(
    ("made", "kind", "named"),
    [
        (_write(address="there"), "wrong_argument", 'address: expected "here", found "there"'),
        (_write(order_id="W2000002", address="here"), "wrong_target", 'order_id: expected "W1000001"'),
        (_write(address=["here"]), "wrong_encoding", 'address: expected "here", found ["here"]'),
        (_write(address='"here"'), "wrong_encoding", "address"),
    ],
)
def test_a_wrong_write_is_named_with_argument_expected_and_found(
    diagnosed: Diagnosed, made: tuple[Any, ...], kind: str, named: str
) -> None:
    reference = [("update_order", {**ORDER, "address": "here"})]
    found = diagnosed(LOOK, made, ("agent", "Good bye."), reference=reference, tools=TOOLS, failed=True)
    [one] = [one for one in found if one.failure == "wrong_outcome"]
    assert (kind, 1) == (one.kind, one.origin_step)
    assert named in one.evidence


def test_a_needless_write_and_a_missing_one_are_named(diagnosed: Diagnosed) -> None:
    def kinds(*turns: tuple[Any, ...], reference: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, int]]:
        found = diagnosed(LOOK, *turns, reference=reference, tools=TOOLS, failed=True)
        return [(one.kind, one.origin_step) for one in found]

    one, two = _write(address="here"), _write(tool="update_items", items=["lamp"])
    wanted = ("update_order", {**ORDER, "address": "here"})
    assert [("needless_write", 2)] == kinds(one, two, reference=[wanted])
    refused = ("call", "update_items", {**ORDER, "items": ["lamp"]}, None, "not now")
    both = [wanted, ("update_items", {**ORDER, "items": ["lamp"]})]
    assert ("stopped_early", 2) == kinds(one, refused, reference=both)[0]
    assert [("failed_without_a_known_mode", None)] == kinds(one, reference=[wanted])


def test_a_success_by_another_way_than_the_reference_is_no_failure(found: Callable[..., Any]) -> None:
    reference = [("update_order", {**ORDER, "address": "here"})]
    assert "wrong_argument" not in [
        kind for kind, _ in found(LOOK, _write(address="x"), reference=reference, tools=TOOLS)
    ]


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ({"ids": ["a", "b"]}, {"ids": ["b", "a"]}),
        ({"item_ids": ["a", "b"], "new_item_ids": ["x", "y"]}, {"item_ids": ["b", "a"], "new_item_ids": ["y", "x"]}),
        ({"flights": [{"number": "H1"}]}, {"flights": [{"number": "H1", "price": 3}]}),
        ({"note": None}, {}),
        ({"n": 1}, {"n": 1.0}),
    ],
)
def test_what_cannot_matter_is_levelled(expected: dict[str, Any], found: dict[str, Any]) -> None:
    assert () == differences(expected, found)


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ({"item_ids": ["a", "b"], "new_item_ids": ["x", "y"]}, {"item_ids": ["a", "b"], "new_item_ids": ["y", "x"]}),
        ({"ids": ["a", "a"]}, {"ids": ["a", "b"]}),
        ({"flights": [{"number": "H1"}]}, {"flights": [{"number": "H2"}]}),
        ({"ok": True}, {"ok": 1}),
        ({}, {"note": "x"}),
    ],
)
def test_what_matters_is_a_difference(expected: dict[str, Any], found: dict[str, Any]) -> None:
    assert differences(expected, found)
