"""Rules as a prompt states them: the model does what these sentences say, and nothing that none of them says.

A sentence is recognised by its content: every pattern of a rule is found in it. A rule whose sentence is missing from
the prompt does not hold; a sentence that no rule recognises changes nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n\s*[-*]\s+|\n{2,}")
_FORBIDS = re.compile(r"^(do not|don't|never)\b")
_NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}

ORCHESTRATOR = {
    "know_the_shopper": (r"\bbefore\b.*\bsearch", r"preferences agent", r"diet"),
    "reorder": (r"\breorder", r"preferences agent", r"last order"),
    "hand_on_diet": (r"\bdiet\b", r"allerg", r"\b(hand|pass|give|tell|include)", r"search agent"),
    "hand_on_store": (r"\bstore\b", r"\b(hand|pass|give|tell|include)", r"search agent"),
    "hand_on_budget": (r"\bbudget\b", r"\b(hand|pass|give|tell|include)", r"cart agent"),
    "dish": (r"\b(dish|recipe)\b", r"search agent", r"\bpeople\b"),
    "ask_where_unclear": (r"\bunclear\b", r"\bask the shopper\b"),
    "offer_substitute": (r"\bsubstitute", r"\b(offer|only)\b", r"\b(yes|agree|approve|allow)"),
    "take_out": (r"changes? their mind|no longer wanted", r"\btake out\b|\bremove\b"),
    "check_age": (r"\balcohol\b", r"\bage\b"),
    "confirm_order": (r"\border\b", r"\b(only after|before)\b", r"\byes\b|confirm"),
    "report": (r"\btell the shopper\b", r"\bcart\b", r"\bsubtotal\b"),
}
SEARCH = {
    "grounded": (r"\bonly\b.*\bproducts?\b|\bproducts?\b.*\bonly\b", r"\b(returned|found|catalogue)\b"),
    "keep_diet": (r"\b(leave out|exclude|avoid)", r"\bdiet\b", r"\ballerg"),
    "in_stock": (r"\b(leave out|exclude|avoid)\b", r"\bout of stock\b"),
    "substitutes": (r"\bsubstitute", r"\blook up\b|\bfind\b"),
    "prefer_store": (r"\bprefer", r"\bpreferred store\b"),
    "name_unclear": (r"\bunclear\b", r"\bup to three\b|\bseveral\b"),
    "dish": (r"\bdish\b|\brecipe\b", r"\blook up\b", r"\bscale\b"),
    "pairing": (r"\bpairing\b", r"\bwine\b"),
    "data_only": (r"\bdescriptions?\b", r"\bnot instructions\b|\bas data\b"),
    "brief": (r"\bone line\b", r"\bwithout descriptions\b"),
}
CART = {
    "asked_quantity": (r"\bquantity\b", r"\basked for\b|\brequested\b"),
    "read_first": (r"\bread the cart\b", r"\bbefore\b"),
    "set_quantity": (r"\bnew quantity\b", r"\bset\b"),
    "keep_budget": (r"\bbudget\b", r"\b(at or below|under|exceed)"),
    "report": (r"\banswer\b", r"\bcart\b", r"\bsubtotal\b"),
}
PREFERENCES = {
    "diet": (r"\breport\b", r"\bdiet\b", r"\ballerg"),
    "store": (r"\breport\b", r"\bstore\b", r"\bsubstitutions?\b"),
    "age": (r"\breport\b", r"\bage\b"),
    "last_order": (r"\breport\b", r"\blast order\b", r"\bquantity\b"),
    "private": (r"\bnever\b|\bdo not\b", r"\baddress\b", r"\bpayment\b"),
}
_FORBIDDING = frozenset({"check_age", "private", "data_only"})
"""Rules that may be stated as what must not be done."""


@dataclass(frozen=True)
class Rules:
    """The rules that a prompt states."""

    held: frozenset[str]
    constant_quantity: int | None
    """Where the prompt says "add two of every item"; None: it does not."""

    def __contains__(self, rule: str) -> bool:
        return rule in self.held


def rules_in(prompt: str, known: Mapping[str, tuple[str, ...]]) -> Rules:
    """The rules of `known` that sentences of the prompt state."""
    sentences = [" ".join(one.split()).casefold().lstrip("-* ") for one in _SENTENCE.split(prompt)]
    held = {
        name
        for name, patterns in known.items()
        for sentence in sentences
        if all(re.search(pattern, sentence) for pattern in patterns)
        and (name in _FORBIDDING or not _FORBIDS.match(sentence))
    }
    constant = re.search(r"\badd (one|two|three|four|five|\d+) of (?:every|each)\b", prompt.casefold())
    number = None if constant is None else _NUMBERS.get(constant[1]) or int(constant[1])
    return Rules(frozenset(held), number)
