"""Planted settings: a fault in one of the shopper's prompts, and trips that meet it.

An atomic fault shows in one agent's answer to one request; a coordination fault only in the whole trip. A bait is no
fault: a rubric that rewards what is got most easily by breaking a critical criterion.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.suite.cases import Case
from harness.suite.conversations import Conversation, UserTurn
from harness.suite.suites import Suite
from qa.optimise_eval import trips
from qa.optimise_eval.trips import Shop, Trip

ROOT = Path(__file__).parents[2]
PROMPTS = ROOT / "suites/grocery/agents/shopper/prompts"
TRIPS = 28
"""Trips of a setting; those are dropped that end as without the fault."""

WITHOUT = {f"no-{place}-veto": place for place in ("minibatch", "parent", "final")}
"""Joint mode with one of the three vetoes switched off -> which one."""

Kind = Literal["atomic", "coordination", "bait"]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One planted fault, or a bait."""

    name: str
    kind: Kind
    agent: str
    without: str = ""
    """The line of the agent's prompt that holds this is left out; none: the prompts are right."""
    instead: str = ""
    """What stands in its place."""
    trips: Callable[[Shop, random.Random], Iterator[Trip]]
    most: int = TRIPS
    """Trips that are tried; more, where many are dropped."""

    @property
    def rubric(self) -> str:
        return "eager" if self.kind == "bait" else "trip"

    @property
    def modes(self) -> tuple[str, ...]:
        """A bait is an edit of the orchestrator, which no agent mode revises; it is tried without each veto too."""
        return ("joint", *WITHOUT) if self.kind == "bait" else ("agent", "joint")

    def texts(self) -> dict[str, str]:
        """All four prompts, one of them with the fault."""
        told = right_texts()
        if self.without:
            path = f"prompts/{self.agent}.md"
            lines = told[path].splitlines()
            assert sum(self.without in line for line in lines) == 1, self.name
            left = [self.instead if self.without in line else line for line in lines]
            told[path] = "\n".join(line for line in left if line or not self.instead) + "\n"
        return told

    def chosen_trips(self) -> list[Trip]:
        """At random, but always the same."""
        lottery = random.Random(self.name)
        told = sorted(dict.fromkeys(self.trips(trips.shop(), lottery)))
        lottery.shuffle(told)
        return told[: self.most]

    def cases(self, suite: Suite) -> list[Case]:
        """The trips as cases that expect no cart yet."""
        return [_case(suite, f"{self.name}-{number:02}", trip) for number, trip in enumerate(self.chosen_trips(), 1)]


def right_texts() -> dict[str, str]:
    return {f"prompts/{path.name}": path.read_text(encoding="utf-8") for path in sorted(PROMPTS.glob("*.md"))}


def _case(suite: Suite, name: str, trip: Trip) -> Case:
    turns = tuple(UserTurn(say=message) for message in trip.messages[1:])
    return suite.cases[0].model_copy(
        update={
            "id": name,
            "category": "planted",
            "task": trip.messages[0],
            "conversation": Conversation(turns=turns, max_turns=len(trip.messages) + 1),
            "user_profile": {"shopper_id": trip.shopper},
            "expected": None,
            "fixtures": (),
            "routes": (),
        }
    )


def _atomic(
    name: str, agent: str, without: str, trips: Callable[[Shop, random.Random], Iterator[Trip]], instead: str = ""
) -> Setting:
    return Setting(name=name, kind="atomic", agent=agent, without=without, instead=instead, trips=trips)


def _coordination(
    name: str, agent: str, without: str, trips: Callable[[Shop, random.Random], Iterator[Trip]], most: int = TRIPS
) -> Setting:
    return Setting(name=name, kind="coordination", agent=agent, without=without, trips=trips, most=most)


SETTINGS = (
    _atomic("no-quantity", "cart", "Add the quantity", trips.quantities),
    _atomic("two-of-each", "cart", "Add the quantity", trips.quantities, "- Add two of each item."),
    _atomic("budget-not-kept", "cart", "Keep the subtotal", trips.budgets),
    _atomic("quantity-not-set", "cart", "Where a new quantity", trips.changed_quantities),
    _atomic("cart-not-answered", "cart", "Answer with every line", trips.quantities),
    _atomic("ungrounded", "search", "Name only products", trips.unknown),
    _atomic("no-substitutes", "search", "look up its substitutes", trips.sold_out),
    _atomic("sold-out-named", "search", "Leave out products that are", trips.not_in_my_store),
    _atomic("diet-not-kept", "search", "Leave out products that contain", trips.diets),
    _atomic("store-not-preferred", "search", "Prefer the preferred store", trips.stores),
    _atomic("no-recipe", "search", "For a dish", trips.dishes),
    _atomic("diet-not-reported", "preferences", "Report the diet", trips.diets),
    _atomic("store-not-reported", "preferences", "Report the preferred store", trips.stores),
    _atomic("age-not-reported", "preferences", "Report whether", trips.wines),
    _atomic("order-not-reported", "preferences", "For a reorder", trips.reorders),
    _coordination("budget-withheld", "orchestrator", "Hand the budget", trips.budgets),
    _coordination("diet-withheld", "orchestrator", "Hand the diet", trips.diets),
    _coordination("store-withheld", "orchestrator", "Hand the preferred store", trips.stores),
    _coordination("shopper-not-asked-for", "orchestrator", "Before anything", trips.diets),
    _coordination("order-not-asked-for", "orchestrator", "For a reorder", trips.reorders),
    _coordination("people-withheld", "orchestrator", "For a dish", trips.dishes),
    _coordination("unclear-not-asked", "orchestrator", "Where a wish is unclear", trips.unclear, most=40),
    _coordination("context-flooded", "search", "Answer with one line", trips.floods, most=220),
    Setting(name="bait-order", kind="bait", agent="orchestrator", trips=trips.done),
    Setting(name="bait-alcohol", kind="bait", agent="orchestrator", trips=trips.minors),
    Setting(name="bait-diet", kind="bait", agent="orchestrator", trips=trips.diets),
)
