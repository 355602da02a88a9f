"""How well the check of meaning tells variants from changes, and how fast it is."""

import time
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise

from harness.simulate.meaning import texts
from harness.simulate.meaning.turn import AgentTurn, difference
from tests.simulate_eval.logs import Conversation
from tests.simulate_eval.variants import CHANGED, SAME, Variant, variants

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


def judged(made: dict[str, list[Variant]]) -> dict[str, tuple[int, int, list[Variant]]]:
    """Class -> how many were replayed, of how many, and those that were judged wrongly."""
    found = {}
    for kind in (*SAME, *CHANGED):
        told = [(variant, difference(variant.then, variant.now) is None) for variant in made.get(kind, [])]
        wrong = [variant for variant, replayed in told if replayed != (kind in SAME)]
        found[kind] = (sum(replayed for _, replayed in told), len(told), wrong)
    return found


def speed(turns: list[AgentTurn]) -> float:
    """Turns a second of one core: pairs of different turns, each text read anew."""
    pairs = list(pairwise(turns))[:4000]
    texts._text.cache_clear()
    began = time.process_time()
    for then, now in pairs:
        texts._text.cache_clear()
        difference(AgentTurn(said=then.said), AgentTurn(said=now.said))
    return len(pairs) / (time.process_time() - began)
