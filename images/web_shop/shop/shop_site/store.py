"""What the shop knows. Prices in cents; every change is written to the state file at once."""

import json
import threading
from pathlib import Path
from typing import Any

State = dict[str, Any]


class Refused(Exception):
    """Something that the shop does not do, in words for the visitor."""


class Store:
    """The products, the visitors' carts and the orders; safe for many threads."""

    def __init__(self, state: State, path: Path) -> None:
        self._state = state
        self._path = path
        self._lock = threading.Lock()
        self._write()

    @property
    def products(self) -> list[State]:
        return list(self._state["products"])

    @property
    def orders(self) -> list[State]:
        return list(self._state["orders"])

    def search(self, words: str) -> list[State]:
        """The products whose names hold all words, whatever their case."""
        wanted = words.casefold().split()
        return [one for one in self.products if all(word in one["name"].casefold() for word in wanted)]

    def product(self, sku: str) -> State:
        for one in self.products:
            if one["sku"] == sku:
                return one
        raise Refused("We do not have that article.")

    def cart(self, visitor: str) -> list[tuple[State, int]]:
        """(product, quantity) in the order in which they were put in."""
        return [(self.product(sku), count) for sku, count in self._state["carts"].get(visitor, {}).items()]

    def order_by(self, number: str) -> State:
        for one in self.orders:
            if str(one["number"]) == number:
                return one
        raise Refused("There is no such order.")

    def new_visitor(self) -> str:
        with self._lock:
            number = 1 + max((int(name[1:]) for name in self._state["carts"]), default=0)
            self._state["carts"][f"c{number}"] = {}
            self._write()
            return f"c{number}"

    def put(self, visitor: str, sku: str, quantity: int) -> None:
        """Sets how many of an article are in the cart; 0 takes it out."""
        product = self.product(sku)
        if quantity > product["stock"]:
            left = product["stock"]
            raise Refused(f"{product['name']} is sold out." if not left else f"Only {left} of {product['name']} left.")
        with self._lock:
            cart = self._state["carts"].setdefault(visitor, {})
            cart.pop(sku, None)
            if quantity > 0:
                cart[sku] = quantity
            self._write()

    def empty(self, visitor: str) -> None:
        with self._lock:
            self._state["carts"][visitor] = {}
            self._write()

    def order(self, visitor: str, customer: State) -> State:
        """Makes an order of the cart; the articles leave the stock."""
        lines = [{"sku": one["sku"], "quantity": count, "price": one["price"]} for one, count in self.cart(visitor)]
        if not lines:
            raise Refused("Your cart is empty.")
        with self._lock:
            for line in lines:
                self.product(line["sku"])["stock"] -= line["quantity"]
            total = sum(line["price"] * line["quantity"] for line in lines)
            order = {"number": 1001 + len(self._state["orders"]), **customer, "lines": lines, "total": total}
            self._state["orders"].append(order)
            self._state["carts"][visitor] = {}
            self._write()
        return order

    def _write(self) -> None:
        self._path.write_text(json.dumps(self._state, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
