"""What a shopping trip is judged by: the cart at the end, and that the last answer states it as it is."""

import re
from collections import Counter
from typing import ClassVar

from harness.api import Evidence, Frozen, JsonObject, JsonValue

_LINE = re.compile(r"\b(?P<count>\d{1,4}) x [^($]{1,80}\(\$(?P<price>\d{1,6}\.\d\d), (?P<store>[\w-]{1,40})\)")
_SUBTOTAL = re.compile(r"\bsubtotal is \$(\d{1,6}\.\d\d)")


class CartMatches(Frozen):
    """Passes where the cart at the end is the one that the case expects; None where it is not known.

    `expected: {items: [{product_id, quantity, store_id?}], status?}`: every line is there in this quantity, and nothing
    else is; where a line names no store, any is right. The status is `open` or `placed`; without one, either is right.
    """

    version: ClassVar[str] = "1"

    probe: str = "cart"

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        wanted, cart = evidence.case.expected, evidence.trial.states.get(self.probe)
        lines = _lines(cart)
        if not isinstance(wanted, dict) or lines is None:
            return None, "the case expects no cart" if lines is not None else "the cart at the end is not known", {}
        expected = _lines(wanted) or []
        missing, extra = _unpaired(expected, lines)
        seen: JsonObject = {"missing": list[JsonValue](missing), "extra": list[JsonValue](extra)}
        status = cart.get("status") if isinstance(cart, dict) else None
        if missing or extra:
            parts = [f"missing: {', '.join(missing)}"] * bool(missing) + [f"extra: {', '.join(extra)}"] * bool(extra)
            return False, "; ".join(parts), seen
        if wanted.get("status") not in (None, status):
            return False, f"the order is {status}, not {wanted['status']}", seen
        return True, "the cart is the expected one", seen


class AnswerStatesCart(Frozen):
    """Passes where the last answer states no line and no subtotal that the cart lacks; None where it is not known.

    A line is `2 x Oat Milk ($9.98, greenway)`; the name of a product may be written in any way.
    """

    version: ClassVar[str] = "1"

    probe: str = "cart"

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        cart, answer = evidence.trial.states.get(self.probe), evidence.trial.trajectory.final_output
        lines = _lines(cart)
        if lines is None or not isinstance(cart, dict):
            return None, "the cart at the end is not known", {}
        text = answer if isinstance(answer, str) else ""
        held = {(one.get("quantity"), one.get("price_cents"), one.get("store_id")) for one in lines}
        stated = _LINE.finditer(text)
        wrong = [one[0] for one in stated if (int(one["count"]), _cents(one["price"]), one["store"]) not in held]
        subtotals = {_cents(price) for price in _SUBTOTAL.findall(text)}
        wrong += [f"subtotal ${cents / 100:.2f}" for cents in sorted(subtotals - {cart.get("subtotal_cents")})]
        if wrong:
            return False, f"not in the cart: {', '.join(wrong)}"[:300], {"wrong": list[JsonValue](wrong)}
        return True, "the answer states nothing that the cart does not have", {}


class CartOnly(Frozen):
    """Passes where every product in the cart is one of `products`; None where the cart is not known."""

    version: ClassVar[str] = "1"

    products: tuple[str, ...]
    probe: str = "cart"

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        lines = _lines(evidence.trial.states.get(self.probe))
        if lines is None:
            return None, "the cart at the end is not known", {}
        strange = sorted({str(line.get("product_id")) for line in lines} - set(self.products))
        if strange:
            return False, f"not asked for: {', '.join(strange)}", {"strange": list[JsonValue](strange)}
        return True, "everything in the cart belongs there", {}


class SubtotalAtMost(Frozen):
    """Passes where the cart holds something and its subtotal is at most `cents`; None where it is not known."""

    version: ClassVar[str] = "1"

    cents: int
    probe: str = "cart"

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        cart = evidence.trial.states.get(self.probe)
        subtotal = cart.get("subtotal_cents") if isinstance(cart, dict) else None
        if not isinstance(subtotal, int):
            return None, "the subtotal at the end is not known", {}
        if subtotal == 0:
            return False, "the cart is empty", {}
        return subtotal <= self.cents, f"the subtotal is {subtotal / 100:.2f} of {self.cents / 100:.2f}", {}


def _cents(price: str) -> int:
    return int(price.replace(".", ""))


def _lines(cart: JsonValue) -> list[JsonObject] | None:
    items = cart.get("items") if isinstance(cart, dict) else None
    return [one for one in items if isinstance(one, dict)] if isinstance(items, list) else None


def _unpaired(expected: list[JsonObject], lines: list[JsonObject]) -> tuple[list[str], list[str]]:
    """What is missing, and what is too much; a line without a store pairs with one of any store."""
    left = Counter(_key(line, with_store=True) for line in lines)
    missing: list[str] = []
    for line in sorted(expected, key=lambda one: "store_id" not in one):
        fitting = [key for key in left if left[key] and _fits(line, key)]
        if fitting:
            left[min(fitting)] -= 1
        else:
            missing.append(_words(_key(line, with_store="store_id" in line)))
    return missing, [_words(key) for key in sorted(left.elements())]


_Key = tuple[str, int, str]


def _key(line: JsonObject, *, with_store: bool) -> _Key:
    quantity = line.get("quantity")
    return (
        str(line.get("product_id")),
        quantity if isinstance(quantity, int) else 0,
        str(line.get("store_id")) if with_store else "",
    )


def _fits(line: JsonObject, key: _Key) -> bool:
    product_id, quantity, store_id = key
    return (
        line.get("product_id") == product_id
        and line.get("quantity") == quantity
        and line.get("store_id", store_id) == store_id
    )


def _words(key: _Key) -> str:
    product_id, quantity, store_id = key
    return f"{quantity} x {product_id}" + (f" of {store_id}" if store_id else "")
