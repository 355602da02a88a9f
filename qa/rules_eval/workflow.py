"""Passing runs of one workflow with other data each time, made by a program.

A desk pays money back: it finds the customer and the order in either order, checks the policy of the product, has a
large amount approved, pays, and tells the customer.
"""

import random
from collections.abc import Iterator

from pydantic import JsonValue

from harness.scoring.rules.events import Event, Row

WRITES = frozenset({"request_approval", "pay_back", "send_message"})


def runs(many: int, seed: int) -> Iterator[Row]:
    """So many runs; the same for equal seeds."""
    chosen = random.Random(seed)
    for number in range(many):
        calls = _calls(chosen)
        order = calls[0][1]["order"] if "order" in calls[0][1] else calls[1][1]["order"]
        email = calls[0][1].get("email", calls[1][1].get("email"))
        wish = Event(name="user", step=0, text=f"I am {email}. Please pay my order {order} back, case {number}.")
        events = [
            Event(name=name, step=step, is_call=True, arguments=arguments, content=answer)
            for step, (name, arguments, answer) in enumerate(calls, 1)
        ]
        last = len(calls) + 1
        yield Row((wish, *events, Event(name="reply", step=last, text="Done."), Event(name="answer", step=last)))


def _calls(chosen: random.Random) -> list[tuple[str, dict[str, JsonValue], JsonValue]]:
    customer, order = f"C{chosen.randrange(10_000, 99_999)}", f"ORD-{chosen.randrange(100_000, 999_999)}"
    email, sku = f"{chosen.choice('abcdefgh')}{chosen.randrange(1000)}@mail.test", f"sku-{chosen.randrange(100, 999)}"
    paid = round(chosen.uniform(5, 400), 2)
    most = round(paid * chosen.choice([0.5, 0.8, 1]), 2)
    found: JsonValue = {"id": customer, "email": email, "tier": chosen.choice(["basic", "gold"])}
    bought: JsonValue = {"id": order, "customer": customer, "lines": [{"sku": sku, "paid": paid}], "paid": paid}
    reads = [("find_customer", {"email": email}, found), ("get_order", {"order": order}, bought)]
    chosen.shuffle(reads)
    calls = [*reads, ("check_policy", {"sku": sku, "paid": paid}, {"most": most, "approval": most > 150})]
    pay: dict[str, JsonValue] = {"order": order, "amount": most}
    if most > 150:
        approved = f"AP{chosen.randrange(1000, 9999)}"
        calls.append(("request_approval", {"order": order, "amount": most}, {"approval": approved}))
        pay["approval"] = approved
    calls.append(("pay_back", pay, {"payment": f"P{chosen.randrange(10_000)}"}))
    calls.append(("send_message", {"customer": customer, "template": "paid_back"}, {"sent": True}))
    return calls  # type: ignore[return-value]
