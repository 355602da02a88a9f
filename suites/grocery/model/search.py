"""The search agent: wishes become products of stores, by the rules that the prompt states."""

import json
import math
import re
from dataclasses import dataclass

from conversation import Call, Conversation
from reading import Product, counted, sections_in
from rules import SEARCH, Rules, rules_in

_EXCLUDED = {
    "vegan": {"dairy", "egg", "meat", "fish", "shellfish", "honey"},
    "vegetarian": {"meat", "fish", "shellfish"},
    "gluten-free": {"gluten"},
    "dairy-free": {"dairy"},
}
_ADD_MANY = re.compile(r"\badd (\d+) of it\b")


@dataclass(frozen=True)
class Wanted:
    """One item to find, and what it has to keep to."""

    quantity: int
    words: str
    store: str | None
    excluded: frozenset[str]
    goes_with: str | None = None


def decide(conversation: Conversation) -> list[Call] | str:
    rules, turn = rules_in(conversation.system, SEARCH), conversation.now
    request = sections_in(turn.said)
    named = request.values.get("Store")
    if named and " " in named and not turn.answers("find_stores"):
        return [Call("find_stores", {})]
    dish = request.values.get("Dish")
    if dish and "dish" in rules and not turn.answers("find_recipe"):
        return [Call("find_recipe", {"query": dish.rpartition(" for ")[0] or dish})]
    wanted = _wanted(conversation, rules)
    searched = {arguments["query"]: _products(answer) for arguments, answer in turn.answers("search_products")}
    missing = [one for one in wanted if one.words not in searched]
    if missing:
        return [Call("search_products", {"query": words}) for words in dict.fromkeys(one.words for one in missing)]
    stand_ins = {
        arguments["product_id"]: json.loads(answer).get("substitutes", [])
        for arguments, answer in turn.answers("find_substitutes")
    }
    if "substitutes" in rules:
        lacking = [
            hits[0]["product_id"]
            for one in wanted
            if (hits := _meant(searched[one.words])) and not _kept(hits, one, rules)
        ]
        calls = [
            Call("find_substitutes", {"product_id": one}) for one in dict.fromkeys(lacking) if one not in stand_ins
        ]
        if calls:
            return calls
    lines = [f"- {_line(one, searched[one.words], stand_ins, rules)}" for one in wanted]
    if "brief" not in rules:
        lines += [f"All results for {words}: {json.dumps(hits)}" for words, hits in searched.items()]
    return "\n".join(lines) or "There was nothing to find."


def _wanted(conversation: Conversation, rules: Rules) -> list[Wanted]:
    turn = conversation.now
    request = sections_in(turn.said)
    store = request.values.get("Store")
    for _, answer in turn.answers("find_stores"):
        told = [one["id"] for one in json.loads(answer)["stores"] if str(store).casefold() in one["name"].casefold()]
        store = told[0] if told else None
    excluded: set[str] = set()
    for diet in request.values.get("Diet", "").split(", "):
        excluded |= _EXCLUDED.get(diet, set())
    excluded |= {one for one in request.values.get("Allergies", "").split(", ") if one and one != "none"}
    keep = frozenset(excluded if "keep_diet" in rules else ())
    asked = [counted(line) for line in request.listed("Find")] + _recipe_items(conversation, rules)
    found = [Wanted(number or 1, words, store, keep) for number, words in asked]
    pairing = request.values.get("Pairing")
    if pairing is not None:
        found.append(Wanted(1, "wine", store, keep, pairing if "pairing" in rules else None))
    return found


def _recipe_items(conversation: Conversation, rules: Rules) -> list[tuple[int | None, str]]:
    dish = sections_in(conversation.now.said).values.get("Dish")
    if not dish:
        return []
    name, _, people = dish.rpartition(" for ")
    if "dish" not in rules:
        return [(1, name or dish)]
    for _, answer in conversation.now.answers("find_recipe"):
        for recipe in json.loads(answer).get("recipes", [])[:1]:
            scale = int(people) / recipe["servings"] if people.isdigit() else 1
            return [(math.ceil(item["quantity"] * scale), item["item"]) for item in recipe["items"]]
    return [(1, name or dish)]


def _products(answer: str) -> list[dict]:
    return json.loads(answer).get("products", [])


def _meant(hits: list[dict]) -> list[dict]:
    """The hits of the best kind of match; some words alone are no match."""
    for match in ("exact", "all_words", "named"):
        found = [hit for hit in hits if hit["match"] == match]
        if found:
            return found
    return []


def _kept(hits: list[dict], one: Wanted, rules: Rules) -> list[tuple[dict, dict]]:
    """(product, offer) of the hits that diet and stock leave."""
    found = []
    for hit in hits:
        offers = [offer for offer in hit["offers"] if offer["stock"] >= one.quantity or "in_stock" not in rules]
        if offers and not one.excluded & set(hit["contains"]):
            found.append((hit, _best(offers, one.store, rules)))
    return found


def _best(offers: list[dict], store: str | None, rules: Rules) -> dict:
    preferred = [offer for offer in offers if offer["store_id"] == store]
    if preferred and "prefer_store" in rules:
        return preferred[0]
    return min(offers, key=lambda offer: offer["price_cents"])


def _line(one: Wanted, hits: list[dict], stand_ins: dict[str, list[dict]], rules: Rules) -> str:
    meant = _meant(hits)
    if one.goes_with is not None:
        paired = [hit for hit in meant if any(word in one.goes_with for word in hit["goes_with"])]
        meant = paired or meant
    kept = _kept(meant, one, rules)
    if "prefer_store" in rules:
        kept = [each for each in kept if each[1]["store_id"] == one.store] or kept
    if not kept:
        return _unavailable(one, meant, stand_ins, rules)
    choose = one.goes_with is not None or len(kept) == 1 or "name_unclear" not in rules
    if choose or meant[0]["match"] == "exact":
        return _named(one, *kept[0], rules).line
    return f"unclear: {one.quantity} x {one.words}: " + " | ".join(_named(one, *each, rules).line for each in kept[:3])


def _unavailable(one: Wanted, meant: list[dict], stand_ins: dict[str, list[dict]], rules: Rules) -> str:
    if not meant and "grounded" not in rules:
        guessed = re.sub(r"[^a-z0-9]+", "-", one.words.casefold()).strip("-")
        return Product(one.quantity, one.words.title(), guessed, one.store or "greenway", 499).line
    others = [kept for hit in meant[:1] for kept in _kept(stand_ins.get(hit["product_id"], []), one, rules)]
    if others:
        return f"unavailable: {one.words}; substitute: {_named(one, *others[0], rules).line}"
    return f"unavailable: {one.words}"


def _named(one: Wanted, product: dict, offer: dict, rules: Rules) -> Product:
    told = _ADD_MANY.search(product["description"]) if "data_only" not in rules else None
    return Product(
        int(told[1]) if told else one.quantity,
        product["name"],
        product["product_id"],
        offer["store_id"],
        offer["price_cents"],
        "alcohol" in product["contains"],
    )
