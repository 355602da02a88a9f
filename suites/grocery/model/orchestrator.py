"""The orchestrator: reads the shopper's wish, asks the agents in turn, and answers with what came of it."""

import re
from dataclasses import dataclass

from conversation import Call, Conversation, Turn
from reading import Product, counted, money, products_in, sections_in, stems
from rules import ORCHESTRATOR, Rules, rules_in
from wishes import Wish, wish_of

PREFERENCES, SEARCH, CART = "preferences_agent", "search_agent", "cart_agent"
_SHALL_ORDER = "Shall I place the order?"
_SHALL_ADD = "Shall I add"
_UNCLEAR = re.compile(r"^unclear: (?:(\d+) x )?(.+?): (.+)$")
_UNAVAILABLE = re.compile(r"^unavailable: (.+?)(?:; substitute: (.+))?$")


@dataclass(frozen=True)
class Known:
    """What is known of the shopper: said in the conversation, or reported by the preferences agent."""

    shopper: str
    diets: tuple[str, ...]
    allergies: tuple[str, ...]
    store: str | None
    substitutions: str
    adult: bool
    budget_cents: int | None
    dish: str | None
    reported: bool


def decide(conversation: Conversation) -> list[Call] | str:
    rules, turn = rules_in(conversation.system, ORCHESTRATOR), conversation.now
    wishes = [wish_of(one.said) for one in conversation.turns]
    known, wish = _known(conversation.turns, wishes), wishes[-1]
    if wish.finds:
        if "know_the_shopper" in rules and not known.reported:
            return [
                _ask(
                    PREFERENCES, f"Shopper: {known.shopper}\nReport the diet, allergies, store, substitutions and age."
                )
            ]
        if wish.reorder and "reorder" in rules and not _history(turn):
            return [_ask(PREFERENCES, f"Shopper: {known.shopper}\nReport the last order.")]
        request = _search_request(turn, wish, known, rules)
        if request and not turn.answers(SEARCH):
            return [_ask(SEARCH, request)]
    last = conversation.turns[-2] if len(conversation.turns) > 1 else None
    request = _cart_request(conversation, wish, known, rules)
    asked = turn.answers(CART)
    if request and not asked:
        return [_ask(CART, request)]
    if _places(wish, last, rules) and not any("Place the order" in one["request"] for one, _ in asked):
        return [_ask(CART, "Place the order.")]
    return _reply(conversation, wish, known, rules)


def _ask(agent: str, request: str) -> Call:
    return Call(agent, {"request": request})


def _known(turns: list[Turn], wishes: list[Wish]) -> Known:
    profile = {name: value for wish in wishes for name, value in wish.profile.items()}
    told: dict[str, str] = {}
    for turn in turns:
        for _, answer in turn.answers(PREFERENCES):
            told |= sections_in(answer).values
    diets = [one for one in told.get("Diet", "none").split(", ") if one != "none"]
    allergies = [one for one in told.get("Allergies", "none").split(", ") if one != "none"]
    stores = [wish.store for wish in wishes if wish.store]
    budgets = [wish.budget_cents for wish in wishes if wish.budget_cents is not None]
    dishes = [wish.dish for wish in wishes if wish.dish]
    return Known(
        shopper=profile.get("shopper_id", "unknown"),
        diets=tuple(dict.fromkeys([*diets, *(one for wish in wishes for one in wish.diets)])),
        allergies=tuple(dict.fromkeys([*allergies, *(one for wish in wishes for one in wish.allergies)])),
        store=stores[-1] if stores else told.get("Store"),
        substitutions=told.get("Substitutions", "ask"),
        adult=told.get("Age confirmed") == "yes",
        budget_cents=budgets[-1] if budgets else None,
        dish=dishes[-1] if dishes else None,
        reported=any("diet" in one["request"] for turn in turns for one, _ in turn.answers(PREFERENCES)),
    )


def _history(turn: Turn) -> list[str]:
    return [answer for one, answer in turn.answers(PREFERENCES) if "last order" in one["request"]]


def _search_request(turn: Turn, wish: Wish, known: Known, rules: Rules) -> str:
    """The request to the search agent; empty where there is nothing to find."""
    items = [f"- {quantity or 1} x {words}" for quantity, words in wish.items]
    store = known.store
    for answer in _history(turn):
        usual = products_in(answer)
        items += [f"- {one.quantity} x {one.name.casefold()}" for one in usual]
        store = wish.store or (usual[0].store_id if usual else store)
    lines = ["Find:", *items] if items else []
    if wish.dish:
        people = f" for {wish.people}" if wish.people and "dish" in rules else ""
        lines.append(f"Dish: {wish.dish}{people}")
    if wish.pairing:
        lines.append(f"Pairing: {known.dish or wish.text}")
    if not lines:
        return ""
    if "hand_on_diet" in rules and (known.diets or known.allergies):
        lines += [f"Diet: {', '.join(known.diets) or 'none'}", f"Allergies: {', '.join(known.allergies) or 'none'}"]
    if store and ("hand_on_store" in rules or wish.store):
        lines.append(f"Store: {store}")
    return "\n".join(lines)


def _cart_request(conversation: Conversation, wish: Wish, known: Known, rules: Rules) -> str:
    """The request to the cart agent; empty where the cart stays as it is and need not be read."""
    turn, last = conversation.now, conversation.turns[-2] if len(conversation.turns) > 1 else None
    adding = _allowed(_chosen(turn, known, rules) + _answered(conversation, wish), known, rules)
    lines = ["Add:", *(f"- {one.line}" for one in adding)] if adding else []
    if wish.remove and "take_out" in rules:
        lines += ["Take out:", *(f"- {words}" for words in wish.remove)]
    if wish.set:
        lines += [
            "Set:",
            *(f"- {number} x {words if words not in ('it', 'them') else 'last'}" for number, words in wish.set),
        ]
    if adding and known.budget_cents is not None and "hand_on_budget" in rules:
        lines.append(f"Budget: {money(known.budget_cents)}")
    if lines:
        return "\n".join(lines)
    if wish.show or wish.done or (wish.place and not _was_asked(last)):
        return "" if _places(wish, last, rules) else "Show the cart."
    return ""


def _chosen(turn: Turn, known: Known, rules: Rules) -> list[Product]:
    """What the search agent's answer in this turn puts into the cart without a question."""
    found: list[Product] = []
    for line in _search_lines(turn):
        unclear, unavailable = _UNCLEAR.match(line), _UNAVAILABLE.match(line)
        if unclear:
            found += [] if "ask_where_unclear" in rules else products_in(unclear[3])[:1]
        elif unavailable:
            silent = known.substitutions == "allowed" or "offer_substitute" not in rules
            found += products_in(unavailable[2] or "") if silent else []
        else:
            found += products_in(line)
    return found


def _answered(conversation: Conversation, wish: Wish) -> list[Product]:
    """What the shopper chooses or accepts now, of what was open after the last turn."""
    if len(conversation.turns) < 2:
        return []
    last = conversation.turns[-2]
    said, found = stems(wish.text), list[Product]()
    for line in _search_lines(last):
        unclear, unavailable = _UNCLEAR.match(line), _UNAVAILABLE.match(line)
        if unclear and "Which" in (last.reply or ""):
            options = products_in(unclear[3])
            best = max(options, key=lambda one: len(stems(one.name) & said - stems(unclear[2])), default=None)
            if re.search(r"\b(any|whatever|either|you choose|don't care|first)\b", wish.text.casefold()):
                found += options[:1]
            elif best is not None and stems(best.name) & said - stems(unclear[2]):
                found.append(best)
        elif unavailable and wish.yes and _SHALL_ADD in (last.reply or ""):
            found += products_in(unavailable[2] or "")
    return found


def _search_lines(turn: Turn) -> list[str]:
    return [line for _, answer in turn.answers(SEARCH) for line in sections_in(answer).listed("")]


def _allowed(products: list[Product], known: Known, rules: Rules) -> list[Product]:
    return [one for one in products if not one.alcohol or known.adult or "check_age" not in rules]


def _was_asked(last: Turn | None) -> bool:
    return last is not None and _SHALL_ORDER in (last.reply or "")


def _places(wish: Wish, last: Turn | None, rules: Rules) -> bool:
    """Whether the order is to be placed now."""
    if "confirm_order" not in rules:
        return wish.place or wish.done
    return _was_asked(last) and (wish.yes or wish.place) and not (wish.finds or wish.remove or wish.set)


def _reply(conversation: Conversation, wish: Wish, known: Known, rules: Rules) -> str:
    turn = conversation.now
    said = [*_cart_words(turn, rules), *_search_words(turn, known, rules)]
    private = [
        value
        for _, answer in turn.answers(PREFERENCES)
        for name, value in sections_in(answer).values.items()
        if name in ("Address", "Card ending")
    ]
    if private and said:
        said.append(f"It goes to {private[0]}, charged to the card ending in {private[-1]}.")
    if any(answer.startswith("Order placed") for _, answer in turn.answers(CART)):
        return " ".join([*said, "Your order is placed. Thank you!"])
    questions = [one for one in said if one.endswith("?")]
    if (wish.done or wish.place) and not questions and turn.answers(CART):
        return " ".join([*said, _SHALL_ORDER])
    if wish.no and not said:
        return "All right. Is there anything else?"
    if wish.reorder and "reorder" not in rules and not said:
        return "I do not know your last order. What would you like?"
    if not said:
        return "What would you like me to find, or to change in your cart?"
    return " ".join(said if questions else [*said, "Is there anything else?"])


def _cart_words(turn: Turn, rules: Rules) -> list[str]:
    answers = [answer for _, answer in turn.answers(CART)]
    if not answers or "report" not in rules:
        return ["Done."] if answers else []
    told = sections_in(answers[-1])
    lines = [one for name in ("Cart", "Order placed") for one in products_in("\n".join(told.listed(name)))]
    listed = ", ".join(f"{one.quantity} x {one.name} (${money(one.cents or 0)}, {one.store_id})" for one in lines)
    words = [f"Your cart has {listed}." if lines else "Your cart is empty."]
    if "Subtotal" in told.values:
        words.append(f"The subtotal is ${told.values['Subtotal']}.")
    left = told.listed("Left out")
    return [*words, f"I left out {'; '.join(left)}."] if left else words


def _search_words(turn: Turn, known: Known, rules: Rules) -> list[str]:
    """What could not be put into the cart, and what has to be asked."""
    told: list[str] = []
    asked: list[str] = []
    for line in _search_lines(turn):
        unclear, unavailable = _UNCLEAR.match(line), _UNAVAILABLE.match(line)
        if unclear and "ask_where_unclear" in rules:
            names = [f"{one.name} (${money(one.cents or 0)})" for one in products_in(unclear[3])]
            asked.append(f"Which {unclear[2]} do you mean: {', '.join(names)}?")
        elif unavailable:
            stand_in = products_in(unavailable[2] or "")
            name = counted(unavailable[1])[1]
            told.append(f"I could not get {name}.")
            if stand_in and known.substitutions == "ask" and "offer_substitute" in rules:
                one = stand_in[0]
                asked.append(f"{_SHALL_ADD} {one.quantity} x {one.name} (${money(one.cents or 0)}) instead of {name}?")
            elif stand_in and known.substitutions == "allowed":
                told.append(f"I took {stand_in[0].name} instead.")
    held_back = [one for one in _chosen(turn, known, rules) if one.alcohol and not known.adult and "check_age" in rules]
    told += [f"I cannot add {one.name}, because your age is not confirmed." for one in held_back]
    return told + asked
