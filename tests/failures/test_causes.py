"""One finding a cause, not one a value."""

from collections.abc import Callable
from typing import Any

Diagnosed = Callable[..., Any]


def test_guesses_of_one_trial_are_one_finding_from_the_first_on(diagnosed: Diagnosed) -> None:
    refused = "no such item"
    turns = [("call", "get_stock", {"item_id": f"ZX{n}417{n}Q"}, None, refused) for n in range(4)]
    guesses = [one for one in diagnosed(*turns) if one.kind == "guessed_argument"]
    assert [(0, (1, 2, 3))] == [(one.origin_step, one.dependent_steps) for one in guesses]
    assert "; and 3 more" in guesses[0].evidence


def test_two_values_that_one_call_invents_are_one_finding(diagnosed: Diagnosed) -> None:
    call = ("call", "get_order", {"order_id": "W1000001", "colour": "red", "size": "XL"}, {"order_id": "W1000001"})
    found = [one for one in diagnosed(call) if one.kind == "invented_parameter"]
    assert [0] == [one.origin_step for one in found]
