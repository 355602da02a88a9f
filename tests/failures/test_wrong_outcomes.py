"""What differs from the reference is named: which write, which argument, expected and found."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import JsonValue

from harness.scoring.evidence import Evidence
from harness.scoring.failures.diagnose import diagnose
from harness.scoring.json_values import differences
from harness.suite.tools import ToolSpec

Diagnosed = Callable[..., Any]
TOOLS = [
    ToolSpec.model_validate(
        {"name": name, "effect": effect, "server": "s", "http": {"path": "/"}, "parameters": {"type": "object"}}
    )
    for name, effect in (
        ("get_order", "read"),
        ("get_stock", "read"),
        ("update_order", "write"),
        ("update_items", "write"),
    )
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
    assert [("wrong_answer", 1)] == kinds(one, reference=[wanted])


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


@pytest.mark.parametrize(
    ("turns", "kind", "step"),
    [
        ((LOOK, _write(address="here"), ("agent", "Done.")), "missing_call", 2),
        ((LOOK, ("call", "get_stock", {"item": 2}, {}), _write(address="here")), "wrong_argument", 1),
        ((LOOK, ("call", "get_stock", {"item": 1}, {}), _write(address="here"), ("agent", "Done.")), "wrong_answer", 3),
    ],
)
def test_a_failure_that_no_detector_names_gets_its_kind_by_the_reference(
    diagnosed: Diagnosed, turns: tuple[Any, ...], kind: str, step: int
) -> None:
    reference = [("get_order", ORDER), ("get_stock", {"item": 1}), ("update_order", {**ORDER, "address": "here"})]
    found = diagnosed(*turns, reference=reference, tools=TOOLS, failed=True)
    assert [("other", kind, step)] == [(one.failure, one.kind, one.origin_step) for one in found]


FIRST, SECOND = ("update_order", {**ORDER, "address": "here"}), ("update_items", {**ORDER, "items": ["lamp"]})


def _ended(
    told: Callable[..., Evidence], *turns: tuple[Any, ...], reference: list[tuple[str, dict[str, Any]]], **case: Any
) -> list[tuple[str, int | None, str]]:
    """What is found in a failed trial; `after`: names of the reference's calls before its last one; `expected`."""
    evidence = told(LOOK, *turns, reference=reference, tools=TOOLS, failed=True)
    calls = evidence.case.reference or ()
    last = calls[-1].model_copy(update={"after": case.get("after", ())})
    changed = {"reference": (*calls[:-1], last), "expected": case.get("expected")}
    found = diagnose(evidence.model_copy(update={"case": evidence.case.model_copy(update=changed)}))
    return [(one.kind, one.origin_step, one.evidence) for one in found]


def test_the_right_writes_in_an_order_that_the_reference_does_not_allow_are_named(
    told: Callable[..., Evidence],
) -> None:
    one, two = _write(address="here"), _write(tool="update_items", items=["lamp"])
    [(kind, step, _)] = _ended(told, two, one, reference=[FIRST, SECOND], after=("0",))
    assert ("wrong_order", 1) == (kind, step)
    free = _ended(told, two, one, reference=[FIRST, SECOND])
    ordered = _ended(told, one, two, reference=[FIRST, SECOND], after=("0",))
    assert "wrong_order" not in [kind for kind, _, _ in (*free, *ordered)]


@pytest.mark.parametrize("criterion", ["outputs", "communicate_info"])
def test_right_writes_without_the_words_that_had_to_be_said_are_named(
    told: Callable[..., Evidence], criterion: str
) -> None:
    expected: JsonValue = {criterion: ["1,250"]}
    done, good_bye = _write(address="here"), ("agent", "It is done. Good bye.")
    [(kind, step, evidence)] = _ended(told, done, good_bye, reference=[FIRST], expected=expected)
    assert ("wrong_words", 2, True) == (kind, step, "'1,250'" in evidence)
    said = _ended(told, done, ("agent", "You get 1250 back."), reference=[FIRST], expected=expected)
    assert "wrong_words" not in [kind for kind, _, _ in said]


def test_what_the_user_should_have_been_led_to_do_is_named(told: Callable[..., Evidence]) -> None:
    action = {"requestor": "user", "name": "toggle_roaming", "arguments": {"on": True}}
    expected: JsonValue = {"actions": [action]}
    [(kind, step, evidence)] = _ended(
        told, _write(address="here"), ("agent", "Good bye."), reference=[FIRST], expected=expected
    )
    assert ("left_to_the_user", 2, True) == (kind, step, "toggle_roaming" in evidence)


def test_what_was_written_in_place_of_the_hand_over_that_the_reference_makes_is_needless(
    told: Callable[..., Evidence],
) -> None:
    hand_over = ("transfer_to_human_agents", {"summary": "It cannot be mended here."})
    expected: JsonValue = {"reward_basis": ["ENV_ASSERTION"]}
    turns = (_write(address="here"), _write(tool="update_items", items=["lamp"]), ("agent", "It is done."))
    found = _ended(told, *turns, reference=[hand_over], expected=expected)
    assert [("needless_write", 1), ("needless_write", 2), ("missing_write", 3)] == [
        (kind, step) for kind, step, _ in found
    ]
    handed = ("call", *hand_over, "ok")
    kinds = {kind for kind, _, _ in _ended(told, turns[0], handed, reference=[hand_over], expected=expected)}
    assert kinds >= {"needless_write"}
    assert "missing_write" not in kinds
