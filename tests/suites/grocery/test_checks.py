"""The check of the last answer, and what the model of rules says to answers that its rules do not know."""

from typing import Any

import pytest

from harness.plugins import find_plugin
from harness.scoring.evidence import Evidence
from harness.suite.cases import Case
from harness.suite.suites import Suite
from harness.traces.trajectory import Trajectory
from harness.traces.trial import Trial

CART = {
    "status": "open",
    "subtotal_cents": 1114,
    "items": [
        {"product_id": "oat-milk", "store_id": "greenway", "quantity": 2, "price_cents": 998},
        {"product_id": "bananas", "store_id": "greenway", "quantity": 4, "price_cents": 116},
    ],
}
RIGHT = "Your cart has 2 x Oat Milk ($9.98, greenway), 4 x Bananas ($1.16, greenway). The subtotal is $11.14."


def verdict(suite: Suite, answer: str | None, cart: Any) -> bool | None:
    states = {} if cart is None else {"cart": cart}
    trajectory = Trajectory(trace_id="0", agent="shopper", steps=(), final_output=answer)
    trial = Trial(case_id="c", attempt=1, outcome="finished", trajectory=trajectory, states=states)
    (check,) = [one for one in suite.checks if one.name == "answer"]
    verifier = find_plugin("verifier", check.verifier, {}, suite.folder).model_validate(check.parameters)
    passed, _, _ = verifier.verify(Evidence(case=Case(id="c", task="shop"), trial=trial, tools=()))
    return passed


@pytest.mark.parametrize(
    ("answer", "cart", "passed"),
    [
        (RIGHT, CART, True),
        ("Your order is placed. Thank you!", CART, True),
        (None, CART, True),
        (RIGHT.replace("4 x", "5 x"), CART, False),
        (RIGHT.replace("9.98", "9.89"), CART, False),
        (RIGHT.replace("$11.14", "$11.41"), CART, False),
        (RIGHT.replace("$1.16, greenway", "$1.16, harvest"), CART, False),
        (RIGHT, None, None),
    ],
)
def test_the_last_answer_states_the_cart_as_it_is(suite: Suite, answer: str | None, cart: Any, passed: bool | None):
    assert verdict(suite, answer, cart) is passed
