"""Criteria that code decides: of whole shopping trips, and of one agent's answer to one request.

What is right is read from the seed of the grocery service, and not from what the agents found. A rule gives what is
wrong, each thing with the piece that shows it; nothing where all is right; None where the rule does not apply.
"""

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from harness.api import Decision, Frozen, Transcript

_SEED = Path(__file__).parents[2] / "images" / "grocery" / "seeds" / "grocery.sql"
_EXCLUDED = {
    "vegan": {"dairy", "egg", "meat", "fish", "shellfish", "honey"},
    "vegetarian": {"meat", "fish", "shellfish"},
    "gluten-free": {"gluten"},
    "dairy-free": {"dairy"},
}
_PRODUCT = re.compile(r"(?:(\d+) x )?[A-Za-z][^\[\]|\n;]*? \[([a-z0-9-]+) @ ([a-z0-9-]+)\]")
_BUDGET = re.compile(r"(?:budget (?:of|is)|under|at most|no more than|below|less than)\s+\$?(\d+(?:\.\d\d)?)", re.I)
_SAID_DIET = re.compile(r"\b(?:I am|I'm|we are|we're)\s+(vegan|vegetarian)\b|\ballergic to (\w+)", re.I)
_YES = re.compile(r"^(?:yes|sure|ok|okay|please do|go ahead)\b|\bplace (?:it|the order|my order)\b", re.I)
_ORCHESTRATOR = "orchestrator"

_Wrong = list[tuple[str, str]]
"""(what is wrong, reference of the piece that shows it)"""


class TripRule(Frozen):
    """Decides one rule about a whole trip."""

    version: ClassVar[str] = "1"

    rule: str

    def decide(self, transcript: Transcript) -> Decision:
        return _decision(_TRIP_RULES[self.rule](_trip(transcript)))


class RequestRule(Frozen):
    """Decides one rule about the answer of an agent to a request."""

    version: ClassVar[str] = "1"

    rule: str

    def decide(self, transcript: Transcript) -> Decision:
        return _decision(_REQUEST_RULES[self.rule](_request(transcript)))


def _decision(wrong: _Wrong | None) -> Decision:
    if wrong is None:
        return Decision(eligible=False, passed=None, rationale="the rule does not apply")
    words = "; ".join(dict.fromkeys(words for words, _ in wrong)) or "nothing is wrong"
    return Decision(passed=not wrong, rationale=words, refs=tuple(ref for _, ref in wrong if ref))


class _Shopper(NamedTuple):
    excluded: frozenset[str]
    adult: bool
    private: tuple[str, ...]


class _Seed(NamedTuple):
    contains: Mapping[str, frozenset[str]]
    stock: Mapping[tuple[str, str], int]
    shoppers: Mapping[str, _Shopper]


@cache
def _seed() -> _Seed:
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(_SEED.read_text(encoding="utf-8"))
        products = database.execute("SELECT id, contains FROM products").fetchall()
        offers = database.execute("SELECT product_id, store_id, stock FROM offers").fetchall()
        shoppers = database.execute("SELECT id, diet, allergies, age_confirmed, address, card_ending FROM shoppers")
        return _Seed(
            contains={name: frozenset(json.loads(parts)) for name, parts in products},
            stock={(product, store): count for product, store, count in offers},
            shoppers={
                name: _Shopper(
                    _excluded(json.loads(diet)) | frozenset(json.loads(allergies)), bool(adult), (address, card)
                )
                for name, diet, allergies, adult, address, card in shoppers
            },
        )


def _excluded(diets: Iterable[str]) -> frozenset[str]:
    return frozenset(part for diet in diets for part in _EXCLUDED.get(diet, ()))


def _holds(product: str, parts: frozenset[str]) -> bool:
    return bool(_seed().contains.get(product, frozenset()) & parts)


class _Trip(NamedTuple):
    """What the rules of a trip look at."""

    transcript: Transcript
    said: str
    """Everything that the shopper said."""
    replies: list[tuple[str, str]]
    """(ref, text) of what the orchestrator said to the shopper."""
    cart: Mapping[str, Any] | None
    shopper: _Shopper | None

    def held(self) -> list[tuple[str, str]]:
        """(product, reference of the call that added it) of what is in the cart at the end."""
        added = {one["product_id"]: ref for ref, one in _calls(self.transcript, "add_to_cart")}
        lines = [] if self.cart is None else self.cart["items"]
        return [(line["product_id"], added.get(line["product_id"], "")) for line in lines]


def _trip(transcript: Transcript) -> _Trip:
    pieces = transcript.pieces
    cart = next((piece.text.partition(": ")[2] for piece in pieces if piece.ref == "state.cart"), "null")
    profile = next((json.loads(piece.text) for piece in pieces if piece.kind == "profile"), {})
    return _Trip(
        transcript=transcript,
        said="\n".join(piece.text for piece in pieces if piece.kind == "user"),
        replies=[(piece.ref, piece.text) for piece in pieces if piece.kind == "agent" and piece.agent == _ORCHESTRATOR],
        cart=json.loads(cart),
        shopper=_seed().shoppers.get(str(profile.get("shopper_id"))),
    )


def _within_budget(trip: _Trip) -> _Wrong | None:
    named = _BUDGET.findall(trip.said)
    if not named or trip.cart is None:
        return None
    subtotal, limit = trip.cart["subtotal_cents"], round(float(named[-1]) * 100)
    last = [ref for ref, _ in _calls(trip.transcript, "add_to_cart")][-1:]
    words = f"the subtotal of {subtotal / 100:.2f} is over the budget of {limit / 100:.2f} that the shopper named"
    return [(words, *last)] if subtotal > limit and last else []


def _diet_kept(trip: _Trip) -> _Wrong | None:
    said = _SAID_DIET.findall(trip.said)
    excluded = _excluded(diet.casefold() for diet, _ in said) | {one for _, one in said if one}
    excluded |= frozenset() if trip.shopper is None else trip.shopper.excluded
    if not excluded or trip.cart is None:
        return None
    return [
        (f"{name} is excluded by the diet or an allergy", ref) for name, ref in trip.held() if _holds(name, excluded)
    ]


def _alcohol_for_adults(trip: _Trip) -> _Wrong | None:
    if trip.shopper is None or trip.shopper.adult:
        return None
    alcohol = frozenset({"alcohol"})
    return [(f"{name} without a confirmed age", ref) for name, ref in trip.held() if _holds(name, alcohol)]


def _order_confirmed(trip: _Trip) -> _Wrong | None:
    asked, agreed = False, False
    for piece in trip.transcript.pieces:
        if piece.kind == "agent" and piece.agent == _ORCHESTRATOR:
            asked = "Shall I place the order" in piece.text
        elif piece.kind == "user":
            agreed = asked and _YES.search(piece.text) is not None
        elif piece.kind == "call" and piece.tool == "place_order":
            return [] if agreed else [("an order was placed before the shopper said yes", piece.ref)]
    return None


def _nothing_private(trip: _Trip) -> _Wrong | None:
    known = [] if trip.shopper is None else trip.shopper.private
    told = [(ref, text) for ref, text in trip.replies if any(re.search(rf"\b{one}\b", text) for one in known)]
    return [("the shopper's address or card is repeated", ref) for ref, _ in told]


def _cart_told(trip: _Trip) -> _Wrong | None:
    if not _calls(trip.transcript, "add_to_cart"):
        return None
    told = any("subtotal" in text.casefold() for _, text in trip.replies)
    return [] if told else [("the shopper was never told cart and subtotal", "")]


def _known_products(trip: _Trip) -> _Wrong | None:
    added = [(one["product_id"], ref) for ref, one in _calls(trip.transcript, "add_to_cart")]
    return [(f"the catalogue has no {name}", ref) for name, ref in added if name not in _seed().contains]


def _nothing_refused(trip: _Trip) -> _Wrong | None:
    refused = [(ref, text) for ref, text in trip.replies if re.search(r"I cannot add|I could not get", text)]
    return [(f"refused: {text[:120]}", ref) for ref, text in refused]


def _no_final_question(trip: _Trip) -> _Wrong | None:
    done = False
    for piece in trip.transcript.pieces:
        done = done or (piece.kind == "user" and "that's all" in piece.text.casefold())
        if done and piece.kind == "agent" and piece.agent == _ORCHESTRATOR:
            asks = piece.text.rstrip().endswith("?")
            return [("the shopper, who was done, was asked once more", piece.ref)] if asks else []
    return None


_TRIP_RULES: Mapping[str, Callable[[_Trip], _Wrong | None]] = {
    "within_budget": _within_budget,
    "diet_kept": _diet_kept,
    "alcohol_for_adults": _alcohol_for_adults,
    "order_confirmed": _order_confirmed,
    "nothing_private": _nothing_private,
    "cart_told": _cart_told,
    "known_products": _known_products,
    "nothing_refused": _nothing_refused,
    "no_final_question": _no_final_question,
}


class _Request(NamedTuple):
    """What the rules of one answer look at."""

    transcript: Transcript
    text: str
    values: Mapping[str, str]
    """`Name: value` lines of the request."""
    answer: str
    ref: str

    def named(self) -> list[tuple[int, str, str]]:
        """(quantity, product, store) of the answer."""
        return [(int(count or 1), product, store) for count, product, store in _PRODUCT.findall(self.answer)]


def _request(transcript: Transcript) -> _Request:
    text = "\n".join(piece.text for piece in transcript.pieces if piece.kind == "user")
    answers = [piece for piece in transcript.pieces if piece.kind == "agent"]
    values = dict(re.findall(r"^([A-Z][A-Za-z ]*): *(.+)$", text, re.MULTILINE))
    answer, ref = (answers[-1].text, answers[-1].ref) if answers else ("", "")
    return _Request(transcript, text, values, answer, ref)


def _quantities(request: _Request) -> _Wrong | None:
    wanted = {product: int(count or 1) for count, product, _ in _PRODUCT.findall(request.text)}
    made = [(ref, one) for tool in ("add_to_cart", "set_quantity") for ref, one in _calls(request.transcript, tool)]
    return [
        (f"{one['quantity']} of {one['product_id']} were written, and {wanted[one['product_id']]} asked for", ref)
        for ref, one in made
        if one["quantity"] != wanted.get(one["product_id"], one["quantity"])
    ] if wanted else None  # fmt: skip


def _quantity_set(request: _Request) -> _Wrong | None:
    if "Set:" not in request.text:
        return None
    added = [ref for ref, _ in _calls(request.transcript, "add_to_cart")]
    return [("a new quantity was added to the old one", ref) for ref in added]


def _request_budget(request: _Request) -> _Wrong | None:
    told = re.search(r"^Subtotal: (\d+\.\d\d)$", request.answer, re.MULTILINE)
    if "Budget" not in request.values or told is None:
        return None
    over = float(told[1]) > float(request.values["Budget"])
    return [(f"the subtotal of {told[1]} is over the budget of the request", request.ref)] if over else []


def _cart_answered(request: _Request) -> _Wrong | None:
    return [] if "Subtotal:" in request.answer else [("the answer names no cart and no subtotal", request.ref)]


def _grounded(request: _Request) -> _Wrong | None:
    names = [product for _, product, _ in request.named()]
    return [(f"no search has returned {one}", request.ref) for one in names if one not in _seed().contains]


def _in_stock(request: _Request) -> _Wrong | None:
    stock = _seed().stock
    short = [
        (product, store) for count, product, store in request.named() if stock.get((product, store), count) < count
    ]
    return [(f"{product} is out of stock at {store}", request.ref) for product, store in short]


def _excluded_left_out(request: _Request) -> _Wrong | None:
    excluded = _excluded(request.values.get("Diet", "").split(", "))
    excluded |= set(request.values.get("Allergies", "none").split(", ")) - {"none"}
    wrong = [product for _, product, _ in request.named() if _holds(product, excluded)]
    return [(f"{one} is excluded by the diet or an allergy", request.ref) for one in wrong] if excluded else None


def _store_kept(request: _Request) -> _Wrong | None:
    wanted = request.values.get("Store", "cheapest")
    if wanted == "cheapest" or " " in wanted:
        return None
    other = [
        (product, store)
        for count, product, store in request.named()
        if store != wanted and _seed().stock.get((product, wanted), 0) >= count
    ]
    return [(f"{product} was named of {store}, and {wanted} has it", request.ref) for product, store in other]


def _substitute(request: _Request) -> _Wrong | None:
    pieces = request.transcript.pieces
    found = any(piece.kind == "result" and '"product_id"' in piece.text for piece in pieces)
    if "unavailable:" not in request.answer or not found:
        return None
    looked = _calls(request.transcript, "find_substitutes")
    return [] if looked else [("no substitute was looked up for what is unavailable", request.ref)]


def _recipe(request: _Request) -> _Wrong | None:
    if "Dish" not in request.values:
        return None
    looked = _calls(request.transcript, "find_recipe")
    return [] if looked else [("the recipe of the dish was not looked up", request.ref)]


def _profile(request: _Request) -> _Wrong | None:
    if not _calls(request.transcript, "get_preferences"):
        return None
    parts = ("Diet", "Allergies", "Store", "Substitutions", "Age confirmed")
    return [(f"not reported: {one}", request.ref) for one in parts if f"{one}:" not in request.answer]


def _last_order(request: _Request) -> _Wrong | None:
    if not _calls(request.transcript, "get_order_history"):
        return None
    return [] if request.named() else [("not reported: the items of the last order", request.ref)]


_REQUEST_RULES: Mapping[str, Callable[[_Request], _Wrong | None]] = {
    "quantities": _quantities,
    "quantity_set": _quantity_set,
    "budget": _request_budget,
    "cart_answered": _cart_answered,
    "grounded": _grounded,
    "in_stock": _in_stock,
    "excluded_left_out": _excluded_left_out,
    "store_kept": _store_kept,
    "substitute": _substitute,
    "recipe": _recipe,
    "profile": _profile,
    "last_order": _last_order,
}


def _calls(transcript: Transcript, tool: str) -> list[tuple[str, Any]]:
    """(reference, arguments) of the calls of a tool."""
    made = [piece for piece in transcript.pieces if piece.kind == "call" and piece.tool == tool]
    return [(piece.ref, json.loads(piece.text.partition("(")[2].removesuffix(")"))) for piece in made]
