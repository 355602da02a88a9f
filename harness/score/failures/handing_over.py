"""Handing over to a person: known by the tool's name, since no tool declares it.

It changes nothing but who goes on, and its words are free, so that two hand-overs are alike whatever they say.
"""

import re
from functools import lru_cache
from typing import Final

_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_ALWAYS: Final = frozenset({"escalate", "handoff", "handover"})
_WITH_A_PERSON: Final = frozenset({"transfer", "hand", "forward", "route", "connect", "redirect"})
_PERSONS: Final = frozenset(
    {"human", "humans", "agent", "agents", "person", "operator", "representative", "specialist", "staff", "supervisor"}
    | {"support", "colleague", "team"}
)


@lru_cache(maxsize=4096)
def is_hand_over(tool: str) -> bool:
    """`transfer_to_human_agents`, `escalate`, `handoff_to_support`; not `transfer_funds`."""
    words = [word.casefold() for word in _WORD.findall(tool)]
    if not words:
        return False
    if words[0] == "hand" and words[1:2] in (["off"], ["over"]):
        return True
    return words[0] in _ALWAYS or (words[0] in _WITH_A_PERSON and not _PERSONS.isdisjoint(words[1:]))


@lru_cache(maxsize=4096)
def hands_in(tool: str) -> bool:
    """`submit`, `final_answer`, `finish`: the run's answer, which is rightly computed and changes nothing."""
    words = "".join(word.casefold() for word in _WORD.findall(tool))
    return words in ("submit", "submitanswer", "finalanswer", "submitfinalanswer", "finish", "answer")
