"""Optimisations of agents that obey only the rules of their texts, with a reflector that knows rules to try."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from zlib import crc32

from harness.improve.candidates import Component, candidate_of
from harness.improve.lineage import WeightedObjective
from harness.improve.optimisation import Optimisation
from harness.improve.rollouts import Rollouts, SearchBudget, SpendingMeter
from harness.improve.search import optimisers_of
from harness.improve.sizing import OptimisationSettings

CART = Component(name="cart", role="Fills the cart.", files=("cart.md",))
ORCHESTRATOR = Component(name="orchestrator", role="Talks to the user.", files=("orchestrator.md",))
TEXTS = {"cart.md": "You fill the cart.\n", "orchestrator.md": "You talk to the user.\n"}
CASES = tuple(f"case-{number:03d}" for number in range(60))


@dataclass(kw_only=True)
class Rules:
    """A reflector: adds a rule that feedback names, else one of the list, which depends on the request."""

    rules: Sequence[str]
    reads_feedback: bool = True
    asked: list[str] = field(default_factory=list)

    def __call__(self, request: str) -> str:
        self.asked.append(request)
        text = request.split("```")[1].strip()
        named = re.findall(r"the rule '([^']+)' was not followed", request) if self.reads_feedback else []
        lacking = [one for one in (*dict.fromkeys(named), *self.rules) if one not in text]
        if not lacking:
            return f"```\n{text}\n```"
        chosen = lacking[0] if named else lacking[crc32(f"{len(self.asked)}{request}".encode()) % len(lacking)]
        return f"```\n{text}\n{chosen}\n```"


def optimisation(
    rollouts: Rollouts,
    reflector: object,
    *,
    settings: OptimisationSettings | None = None,
    joint: bool = False,
    objective: WeightedObjective | None = None,
    cases: Mapping[str, Sequence[str]] | None = None,
    folder: Path | None = None,
    limits: SearchBudget | None = None,
    optimiser: str = "gepa",
    looks_before: int = 0,
    **more: object,
) -> Optimisation:
    return Optimisation(
        suite="planted",
        mode="joint" if joint else "agent",
        component=None if joint else "cart",
        start=candidate_of(TEXTS),
        components=(ORCHESTRATOR, CART) if joint else (CART,),
        agent_components=(ORCHESTRATOR, CART),
        cases=cases or {case: (f"I want to buy things of {case}",) for case in CASES},
        objective=objective or WeightedObjective(safety=("safety",)),
        rollouts=rollouts,
        reflector=reflector,
        optimisers=optimisers_of(optimiser),
        settings=settings or OptimisationSettings(rollouts=150),
        meter=SpendingMeter(limits=limits or SearchBudget()),
        folder=folder,
        looks_before=looks_before,
        **more,
    )
