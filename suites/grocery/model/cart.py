"""The cart agent: writes what a request names, and answers with what the cart holds then."""

import json
import re
from dataclasses import dataclass, field

from conversation import Call, Conversation
from reading import Product, Sections, cents_of, counted, money, products_in, sections_in, stems
from rules import CART, Rules, rules_in

_WRITES = ("add_to_cart", "set_quantity", "place_order")


def decide(conversation: Conversation) -> list[Call] | str:
    rules, request = rules_in(conversation.system, CART), sections_in(conversation.now.said)
    turn = conversation.now
    seen, written = turn.answers("get_cart"), [(call, answer) for call, answer in turn.made if call.name in _WRITES]
    changes = bool(request.listed("Add") or request.listed("Take out") or request.listed("Set"))
    if not seen and not written and ("read_first" in rules or (not changes and "Place the order" not in turn.said)):
        return [Call("get_cart", {})]
    cart = json.loads(seen[0][1]) if seen else {"items": [], "subtotal_cents": 0, "status": "open"}
    if "items" not in cart:
        return f"I could not read the cart: {json.dumps(cart)[:200]}"
    calls, left_out = _changes(rules, request, cart)
    if "Place the order" in turn.said:
        calls = [Call("place_order", {})]
    if not written and calls:
        return calls
    return _report(rules, cart, written, left_out)


@dataclass
class _Plan:
    """What is to be written, and what is left out."""

    spent_cents: int
    calls: list[Call] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def _changes(rules: Rules, request: Sections, cart: dict) -> tuple[list[Call], list[str]]:
    plan, held = _Plan(cart["subtotal_cents"]), cart["items"]
    for words in request.listed("Take out"):
        _take_out(plan, words, held, rules)
    for words in request.listed("Set"):
        _set(plan, words, held, rules)
    budget = request.values.get("Budget")
    limit = cents_of(budget) if budget and "keep_budget" in rules else None
    for product in products_in("\n".join(request.listed("Add"))):
        _add(plan, product, limit, rules)
    return plan.calls, plan.left_out


def _take_out(plan: _Plan, words: str, held: list[dict], rules: Rules) -> None:
    line = _meant(words, held)
    if line is not None:
        plan.calls.append(_put("set_quantity", line["product_id"], line["store_id"], 0))
        plan.spent_cents -= line["price_cents"]
    elif "read_first" in rules:
        plan.left_out.append(f"{words} (not in the cart)")
    else:
        plan.calls.append(_put("set_quantity", _guessed(words), "greenway", 0))


def _set(plan: _Plan, words: str, held: list[dict], rules: Rules) -> None:
    number, name = counted(words)
    line = _meant(name, held)
    if line is None:
        plan.left_out.append(f"{name} (not in the cart)")
        return
    tool = "set_quantity" if "set_quantity" in rules else "add_to_cart"
    plan.calls.append(_put(tool, line["product_id"], line["store_id"], number or 1))
    before = line["price_cents"] if tool == "set_quantity" else 0
    plan.spent_cents += line["price_cents"] // line["quantity"] * (number or 1) - before


def _add(plan: _Plan, product: Product, limit_cents: int | None, rules: Rules) -> None:
    quantity = rules.constant_quantity or (product.quantity if "asked_quantity" in rules else 1)
    cost = (product.cents or 0) * quantity
    if limit_cents is not None and plan.spent_cents + cost > limit_cents:
        plan.left_out.append(f"{product.name} (over the budget)")
        return
    plan.spent_cents += cost
    plan.calls.append(_put("add_to_cart", product.product_id, product.store_id, quantity))


def _put(tool: str, product_id: str, store_id: str, quantity: int) -> Call:
    return Call(tool, {"product_id": product_id, "store_id": store_id, "quantity": quantity})


def _meant(words: str, lines: list[dict]) -> dict | None:
    """The line whose name holds the words, the last one first; `last` is the last line."""
    if words == "last" and lines:
        return lines[-1]
    wanted = stems(words)
    fitting = [line for line in lines if wanted & stems(line["name"])]
    whole = [line for line in fitting if wanted <= stems(line["name"])]
    return (whole or fitting or [None])[-1]


def _guessed(words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", words.casefold()).strip("-")


def _report(rules: Rules, cart: dict, written: list, left_out: list[str]) -> str:
    for call, answer in written:
        told = json.loads(answer or "{}")
        if "items" in told:
            cart = told
        else:
            what = call.arguments.get("product_id", "the order").replace("-", " ")
            left_out.append(f"{what} ({told.get('error', {}).get('message', 'refused')})")
    if "report" not in rules:
        return "Done."
    lines = [
        Product(one["quantity"], one["name"], one["product_id"], one["store_id"], one["price_cents"]).line
        for one in cart["items"]
    ]
    told = ["Order placed:" if cart["status"] == "placed" else "Cart:", *(f"- {line}" for line in lines)]
    told.append(f"Subtotal: {money(cart['subtotal_cents'])}")
    if left_out:
        told += ["Left out:", *(f"- {one}" for one in left_out)]
    return "\n".join(told)
