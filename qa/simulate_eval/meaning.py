"""How well the check of meaning tells variants from changes, and how fast it is."""

import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from harness.users.meaning.said import said_in
from harness.users.meaning.turn import AgentTurn, difference
from qa.simulate_eval.logs import Conversation
from qa.simulate_eval.variants import CHANGED, SAME, Variant, variants

A_CLASS = 150
"""Variants of a class at most, spread over the conversations."""


def turns_of(found: Iterable[Conversation]) -> list[AgentTurn]:
    return [AgentTurn(calls=turn.calls, said=turn.agent) for one in found for turn in one.log.turns if turn.agent]


def planted(turns: list[AgentTurn], *, part: int) -> dict[str, list[Variant]]:
    made: dict[str, list[Variant]] = defaultdict(list)
    step = max(1, len(turns) // 1500)
    for number, turn in enumerate(turns[::step]):
        for variant in variants(turn, number, part=part):
            if len(made[variant.kind]) < A_CLASS:
                made[variant.kind].append(variant)
    return made


@dataclass(frozen=True)
class Judged:
    """What the check of meaning did with the variants of a class."""

    every: int
    replayed: int
    """Found to mean the same, by rules."""
    left_to_a_model: int
    """Found to differ in wording alone: what `entailment:` decides, where it is named."""


def judged(made: dict[str, list[Variant]]) -> dict[str, Judged]:
    """Each class of variants, judged."""
    found = {}
    for kind in (*SAME, *CHANGED):
        differences = [difference(variant.then, variant.now) for variant in made.get(kind, [])]
        found[kind] = Judged(
            every=len(differences),
            replayed=sum(one is None for one in differences),
            left_to_a_model=sum(one is not None and one.of_wording for one in differences),
        )
    return found


def speed(turns: list[AgentTurn], *, log_is_read: bool) -> float:
    """Turns a second of one core: pairs of different turns, both read anew, or only the agent's."""
    pairs = list(pairwise(turns))[:4000]
    said_in.cache_clear()
    began = time.process_time()
    for then, now in pairs:
        if not log_is_read:
            said_in.cache_clear()
        difference(AgentTurn(said=then.said), AgentTurn(said=now.said))
    return len(pairs) / (time.process_time() - began)
