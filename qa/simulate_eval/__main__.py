"""`python -m qa.simulate_eval`: the tables about simulated users, on recorded conversations of others.

`HARNESS_REAL_DATA` names their folder. The part `held out` is of an agent whose texts were not looked at until the
alarms on its conversations were read; its paraphrases are made by a word list that was written last.
"""

import asyncio
import sys
from collections import Counter
from pathlib import Path
from typing import Final

import yaml

from harness.users.fidelity.check import checked
from qa.simulate_eval.faults import Played, planted, played
from qa.simulate_eval.logs import HELD_OUT, Conversation, conversations
from qa.simulate_eval.meaning import judged, speed, turns_of
from qa.simulate_eval.meaning import planted as planted_variants
from qa.simulate_eval.replaying import replayed_against_itself
from qa.simulate_eval.variants import SAME

_READ: Final = Path(__file__).parent / "read_alarms.yaml"
PARTS = {"built on": ("tau2",), "second look": ("taubench",), "held out": (HELD_OUT,)}


def main() -> int:
    """Prints every table; exit status 1 where a target is missed."""
    missed = 0
    for number, (part, sources) in enumerate(PARTS.items()):
        found = list(conversations(sources))
        print(f"\n== {part}: {len(found)} conversations of {', '.join(sources)}")
        missed += _same_agent(found)
        missed += _variants(found, number)
        missed += _faults(found, held_out=part != "built on")
    print(f"\ntargets missed: {missed}")
    return 1 if missed else 0


def _same_agent(found: list[Conversation]) -> int:
    whole, turns, all_turns = asyncio.run(replayed_against_itself(found))
    print(
        f"same agent against its own log: {turns} of {all_turns} turns, {whole} of {len(found)} conversations "
        f"(target: all)"
    )
    return turns != all_turns


def _variants(found: list[Conversation], part: int) -> int:
    turns, missed = turns_of(found), 0
    print(f"{'variant':14}{'replayed':>10}{'with a model':>14}{'of':>6}   target")
    for kind, one in judged(planted_variants(turns, part=part)).items():
        share = one.replayed / one.every if one.every else None
        with_model = (one.replayed + one.left_to_a_model) / one.every if one.every else None
        met = share is None or (share >= 0.8 if kind in SAME else share <= 0.01)
        missed += not met
        target = "at least 80 %" if kind in SAME else "at most 1 %"
        figures = f"{kind:14}{_percent(share):>10}{_percent(with_model):>14}{one.every:>6}"
        print(f"{figures}   {target}{'' if met else '   MISSED'}")
    print("with a model: if the model of `entailment:` answered `same` to every question, its best and its worst case")
    both, one_side = speed(turns, log_is_read=False), speed(turns, log_is_read=True)
    print(f"check of meaning: {both:,.0f} turns a second of one core; {one_side:,.0f} where the log was read (2,000)")
    return missed + (both < 2000)


def _faults(found: list[Conversation], *, held_out: bool) -> int:
    """Left out: users of telecom read their own device, which no role holds; `as-checked` marks a task that is not
    known.
    """
    usable = [one for one in found if "telecom" not in one.name and "as-checked" not in one.name]
    missed, caught, every = 0, Counter[str](), Counter[str]()
    for one in planted(usable, a_class=60, held_out=held_out):
        every[str(one.planted)] += 1
        caught[str(one.planted)] += _is_caught(one)
    print(f"{'planted fault':16}{'recall':>8}{'of':>6}   target")
    for kind, number in every.items():
        met = caught[kind] / number >= 0.9
        missed += not met
        print(f"{kind:16}{_percent(caught[kind] / number):>8}{number:>6}   at least 90 %{'' if met else '   MISSED'}")
    alarms = []
    for one in usable:
        role = played(one)
        faults, steered = checked(role.role, role.heard, ended=role.ended)
        alarms += [(one.name, faults[0].turn, faults[0].fault, faults[0].reason)] if faults else []
        missed += bool(steered)
        for attempt in steered:
            print(f"  FALSE steering: {one.name} {attempt}")
    read = yaml.safe_load(_READ.read_text(encoding="utf-8"))
    false = [one for one in alarms if read.get(one[0], {}).get("read") != "fault"]
    print(
        f"alarms on untouched conversations: {len(alarms)} of {len(usable)}, {_percent(len(alarms) / len(usable))}; "
        f"false by reading: {len(false)}, {_percent(len(false) / len(usable))} (target 3 %)"
    )
    for name, turn, fault, reason in alarms:
        known = read.get(name, {"read": "not read", "because": "-"})
        print(f"  {name} turn {turn} {fault}: {reason[:100]}; on reading {known['read']}: {known['because']}")
    return missed + (len(false) > 0.03 * len(usable))


def _is_caught(one: Played) -> bool:
    faults, _ = checked(one.role, one.heard, ended=one.ended)
    kinds = {fault.fault for fault in faults}
    return bool(kinds & {"ends_too_early", "never_ends"}) if one.planted == "ends" else one.planted in kinds


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


if __name__ == "__main__":
    sys.exit(main())
