"""Handing over to a person: known by the tool's name, since no tool declares it.

It changes nothing but who goes on, and its words are free, so that two hand-overs are alike whatever they say.
"""

from functools import lru_cache
from typing import Final

from harness.case import bare_name, words_of

_ALWAYS: Final = frozenset({"escalate", "handoff", "handover"})
_WITH_A_PERSON: Final = frozenset({"transfer", "hand", "forward", "route", "connect", "redirect"})
_PERSONS: Final = frozenset(
    {"human", "humans", "agent", "agents", "person", "operator", "representative", "specialist", "staff", "supervisor"}
    | {"support", "colleague", "team"}
)


@lru_cache(maxsize=4096)
def is_hand_over(tool: str) -> bool:
    """`transfer_to_human_agents`, `escalate`, `mcp__desk__handoffToSupport`, `human_transfer`; not `transfer_funds`."""
    words = words_of(bare_name(tool))
    if "hand" in words and words[words.index("hand") + 1 :][:1] in (("off",), ("over",)):
        return True
    return not _ALWAYS.isdisjoint(words) or not (_WITH_A_PERSON.isdisjoint(words) or _PERSONS.isdisjoint(words))


@lru_cache(maxsize=4096)
def hands_in(tool: str) -> bool:
    """`submit`, `finalAnswer`, `functions.finish`: the run's answer, which is rightly computed and changes nothing."""
    words = "".join(words_of(bare_name(tool)))
    return words in ("submit", "submitanswer", "finalanswer", "submitfinalanswer", "finish", "answer")
