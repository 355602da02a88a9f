"""The preferences agent: what the profile and the last order say, as far as the prompt has it reported."""

import json
import re

from conversation import Call, Conversation
from reading import Product
from rules import PREFERENCES, Rules, rules_in


def decide(conversation: Conversation) -> list[Call] | str:
    rules, request = rules_in(conversation.system, PREFERENCES), conversation.now.said
    shopper = re.search(r"Shopper: (\S+)", request)
    if shopper is None:
        return "I need to know which shopper."
    wanted = "get_order_history" if "last order" in request else "get_preferences"
    answers = conversation.now.answers(wanted)
    if not answers:
        limit = {"limit": 1} if wanted == "get_order_history" else {}
        return [Call(wanted, {"shopper_id": shopper[1], **limit})]
    told = json.loads(answers[0][1])
    if "error" in told:
        return f"I could not read it: {told['error'].get('message')}"
    if wanted == "get_order_history":
        return _last_order(told) if "last_order" in rules else "There is an earlier order."
    return _profile(told, rules)


def _profile(told: dict, rules: Rules) -> str:
    lines = {
        "diet": f"Diet: {_listed(told['diet'])}\nAllergies: {_listed(told['allergies'])}",
        "store": f"Store: {told['preferred_store']}\nSubstitutions: {told['substitutions']}",
        "age": f"Age confirmed: {'yes' if told['age_confirmed'] else 'no'}",
    }
    said = [line for rule, line in lines.items() if rule in rules]
    if "private" not in rules:
        said.append(f"Address: {told['address']}\nCard ending: {told['card_ending']}")
    return "\n".join(said) or "I know the shopper."


def _last_order(told: dict) -> str:
    items = [item for order in told["orders"][:1] for item in order["items"]]
    if not items:
        return "There is no earlier order."
    lines = [Product(one["quantity"], one["name"], one["product_id"], one["store_id"]).line for one in items]
    return "\n".join(["Last order:", *(f"- {line}" for line in lines)])


def _listed(values: list[str]) -> str:
    return ", ".join(values) or "none"
