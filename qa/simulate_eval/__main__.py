"""`python -m qa.simulate_eval`: the tables about simulated users, on recorded conversations of others.

`HARNESS_REAL_DATA` names their folder.
"""

import asyncio
import sys
import time
from collections import Counter
from itertools import pairwise

from harness.users.asking import ModelText
from harness.users.checks import problem_with
from harness.users.comparison import AgentTurn, difference
from harness.users.role import Role, read_signal
from qa.simulate_eval.changes import CHANGED, UNCHANGED, changes
from qa.simulate_eval.faults import FAULTS, as_heard
from qa.simulate_eval.logs import FORMATS, Conversation, conversations
from qa.simulate_eval.replaying import replayed_against_itself

_A_CLASS = 150
"""Changed turns of a class at most."""


def main() -> int:
    """Prints every table; exit status 1 if a target is missed."""
    missed = 0
    for source in FORMATS:
        found = list(conversations((source,)))
        print(f"\n== {source}: {len(found)} conversations")
        missed += _same_agent(found)
        missed += _changed_turns(found)
        missed += _messages(found)
    print(f"\ntargets missed: {missed}")
    return 1 if missed else 0


def _same_agent(found: list[Conversation]) -> bool:
    whole, turns, all_turns = asyncio.run(replayed_against_itself(found))
    print(f"same agent against its own log: {turns} of {all_turns} turns, {whole} of {len(found)} conversations")
    return turns != all_turns


def _changed_turns(found: list[Conversation]) -> int:
    turns = [AgentTurn(calls=turn.calls, said=turn.agent) for one in found for turn in one.log.turns if turn.agent]
    missed = 0
    for classes, is_same in ((CHANGED, False), (UNCHANGED, True)):
        every, replayed = Counter[str](), Counter[str]()
        for kind, then, now in changes(turns, classes, _A_CLASS):
            every[kind] += 1
            replayed[kind] += difference(then, now) is None
        share = f"{replayed.total()} of {every.total()} turns in {len(every)} classes"
        print(f"{'written otherwise' if is_same else 'telling another thing'}: played back {share}")
        wrong = {kind: f"{replayed[kind]}/{every[kind]}" for kind in every if replayed[kind] != is_same * every[kind]}
        print(f"  against the target: {wrong or 'none'}")
        missed += len(wrong)
    began, pairs = time.process_time(), list(pairwise(turns))
    for then, now in pairs:
        difference(AgentTurn(said=then.said), AgentTurn(said=now.said))
    print(f"{len(pairs) / (time.process_time() - began):,.0f} pairs of turns a second of one core")
    return missed


def _messages(found: list[Conversation]) -> int:
    """Planted faults that code refuses, and refusals of the messages as they were."""
    caught, every, alarms, messages = Counter[str](), Counter[str](), list[str](), 0
    for one in found:
        role = Role(opening=one.log.turns[0].user, plan=one.task)
        for number in range(1, len(one.log.turns)):
            text, heard = one.log.turns[number].user, as_heard(one.log, number)
            if "###" in text:
                break
            messages += 1
            problem = problem_with(role, heard, ModelText(text=text), read_signal(text))
            if problem is not None:
                alarms.append(f"{one.name} turn {number + 1} {problem.fault}: {problem.reason[:120]}")
            for kind, spoil in FAULTS.items():
                if every[kind] < _A_CLASS and (spoilt := spoil(text, heard, role)) is not None:
                    every[kind] += 1
                    found_in = problem_with(role, heard, ModelText(text=spoilt), read_signal(spoilt))
                    caught[kind] += found_in is not None and found_in.fault == kind
    print("planted faults refused:", ", ".join(f"{kind} {caught[kind]}/{every[kind]}" for kind in every))
    print(f"messages as they were: {len(alarms)} of {messages} refused (target: at most 1 %)")
    for alarm in alarms[:20]:
        print(f"  {alarm}")
    return sum(caught[kind] < every[kind] for kind in every) + (100 * len(alarms) > messages)


if __name__ == "__main__":
    sys.exit(main())
