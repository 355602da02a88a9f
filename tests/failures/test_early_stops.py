"""A write of the reference that was never attempted: an early stop, unless something else stands for it."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.suite.tools import ToolSpec

Found = Callable[..., list[tuple[str, int | None]]]
NAMES = {
    "get_order": "read",
    "exchange_items": "write",
    "modify_items": "write",
    "reboot_device": "write",
    "transfer_to_person": "write",
    "transfer_funds": "write",
}
TOOLS = [
    ToolSpec.model_validate(
        {
            "name": name,
            "effect": effect,
            "server": "s",
            "http": {"path": "/"},
            "parameters": {"type": "object", "properties": {"order_id": {}, "item": {}, "summary": {}}},
        }
    )
    for name, effect in NAMES.items()
]
GET: dict[str, Any] = {"order_id": "W1000001"}
LOOK = ("call", "get_order", GET, {"id": "W1000001", "status": "open"})
LAMP: dict[str, Any] = {"order_id": "W1000001", "item": "lamp"}
TRANSFER = ("call", "transfer_to_person", {"summary": "wants a lamp"}, "ok")
BYE = ("agent", "Good bye.")


@pytest.mark.parametrize(
    ("turns", "reference", "stopped"),
    [
        ([LOOK, BYE], [("exchange_items", LAMP)], True),
        # agents that settle the matter themselves succeed without the hand-over
        ([LOOK, BYE], [("transfer_to_person", {})], False),
        ([LOOK, BYE], [("transfer_funds", {})], True),
        # a hand-over leaves the rest to a person, where the reference hands over too
        ([LOOK, TRANSFER, BYE], [("exchange_items", LAMP), ("transfer_to_person", {})], False),
        ([LOOK, TRANSFER, BYE], [("exchange_items", LAMP)], True),
        # another tool did the same request: the reference tried both
        (
            [LOOK, ("call", "modify_items", LAMP, "ok"), BYE],
            [("exchange_items", LAMP), ("modify_items", LAMP)],
            False,
        ),
        (
            [LOOK, ("call", "modify_items", {**LAMP, "item": "bed"}, "ok"), BYE],
            [("exchange_items", LAMP), ("modify_items", {**LAMP, "item": "bed"})],
            True,
        ),
        (
            [LOOK, ("call", "modify_items", LAMP, None, "not now"), BYE],
            [("exchange_items", LAMP), ("modify_items", LAMP)],
            True,
        ),
        # what was refused was not made
        ([LOOK, ("call", "exchange_items", LAMP, None, "try later"), BYE], [("exchange_items", LAMP)], True),
        # the same write twice is not two tools for one request
        ([LOOK, ("call", "exchange_items", LAMP, "ok"), BYE], [("exchange_items", LAMP)] * 2, True),
        # a restart only makes settings take hold
        ([LOOK, BYE], [("reboot_device", {})], False),
    ],
)
def test_a_write_that_nothing_stands_for_is_an_early_stop(
    found: Found, turns: list[Any], reference: list[Any], stopped: bool
) -> None:
    kinds = [kind for kind, _ in found(*turns, reference=reference, tools=TOOLS)]
    assert (["stopped_early"] if stopped else []) == kinds


CANNOT = ("agent", "I am sorry, our policy does not allow that, so I cannot change it.")
ASKED = [("get_order", GET), ("exchange_items", LAMP)]


def test_a_refusal_after_looking_is_no_early_stop_but_a_failure_of_its_own(
    diagnosed: Callable[..., Any],
) -> None:
    (one,) = diagnosed(LOOK, CANNOT, ("user", "a pity"), BYE, reference=ASKED, tools=TOOLS, failed=True)
    assert ("wrong_outcome", "refused", 1) == (one.failure, one.kind, one.origin_step)
    assert "exchange_items" in one.evidence


@pytest.mark.parametrize(
    "turns",
    [
        [CANNOT, BYE],  # nothing was looked at
        [CANNOT, LOOK, BYE],  # said before it looked
        [LOOK, ("agent", "All is done."), BYE],
        [LOOK, ("call", "modify_items", {**LAMP, "item": "bed"}, "ok"), CANNOT, BYE],  # it had begun to write
    ],
)
def test_a_refusal_without_the_evidence_is_an_early_stop(found: Found, turns: list[Any]) -> None:
    assert "stopped_early" in [kind for kind, _ in found(*turns, reference=ASKED, tools=TOOLS)]
