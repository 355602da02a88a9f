"""What a plan announces to look up: the items of it that cannot be done from what the agent was given.

An item is a numbered or dashed line of the plan. It needs a look-up where it names a tool that the agent was offered
(declared, or introduced in a prompt as `- name: what it does`), or where it tells to get something ("search",
"retrieve", "consult" and the like, where the item or one of its clauses begins) and names a source: an article, a
database, a web page. A survey that lists sources tells to do nothing and has no such item; nor has the plan of a
riddle.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from harness.score.failures.signals.handing_over import hands_in
from harness.score.failures.signals.reading import Reading

_ITEM: Final = re.compile(r"(?:^|(?<=\s))(?:\d{1,2}[.)]|[-*\u2022\u2013])\s+")
_GETS: Final = re.compile(
    r"(?:^|[,;:]\s{1,2}(?:and |then )?|\b(?:and|then|by|or) )(?:\*\*)?"
    r"(?:(?:web )?search\w*|research\w*|retriev\w+|look(?:ing)?[ -]?up|locat\w+|find|finding|consult\w*|obtain\w*|"
    r"gather\w*|collect\w*|access\w*|brows\w+|download\w*|query\w*|use|using|visit\w*|fetch\w*|review\w*|check\w*|"
    r"verif\w+|identify\w*|determin\w+|extract\w*|cross-?(?:check|referenc|verif)\w*)\b",
    re.I,
)
_OUTSIDE: Final = re.compile(
    r"\b(?:wikipedia|web ?sites?|web ?pages?|articles?|papers?|databases?|records|internet|online|datasets?|literature|"
    r"publications?|archives?|web|(?<!to )reports?|documents?|videos?|transcripts?|sources?|resources|references?|"
    r"census|releases?|release notes|commits?|repositor\w+|search|data)\b",
    re.I,
)
_CHECKS: Final = re.compile(
    r"\b(?:verif\w+|confirm\w*|cross-?(?:check|referenc|verif)\w*|validat\w+|double-?check\w*)\b", re.I
)
_OFFERED: Final = re.compile(
    r"(?m)^\s{0,4}(?:[-*]\s+)?`?([A-Za-z][A-Za-z0-9]{0,40}(?:[_.][A-Za-z0-9]{1,40}){1,6})`?\s?:"
)
_LONGEST: Final = 20_000
"""Characters of a prompt that are examined."""


@dataclass(frozen=True, kw_only=True)
class PlanNeeds:
    """What a plan needs from outside."""

    items: tuple[str, ...]
    """Its items that need a look-up."""
    tools: tuple[str, ...]
    """The offered tools that they name."""
    checks: bool
    """Whether the plan announces to verify or confirm something."""


def announced(plan: str, offered: frozenset[str]) -> PlanNeeds:
    """Items in the order of the plan; tools by name."""
    tools: dict[str, None] = {}
    items = []
    for text in _items(plan):
        named = [name for name in sorted(offered) if re.search(rf"\b{re.escape(name)}\b", text)]
        tools.update(dict.fromkeys(named))
        if named or (_GETS.search(text) is not None and _OUTSIDE.search(text) is not None):
            items.append(text)
    return PlanNeeds(items=tuple(items), tools=tuple(tools), checks=_CHECKS.search(plan) is not None)


def _items(plan: str) -> Iterator[str]:
    parts = _ITEM.split(plan)
    for part in parts[1:]:
        text = part.split("\n\n", 1)[0].strip()
        if text:
            yield text


def offered_tools(reading: Reading) -> frozenset[str]:
    """Names of what the agent could have called: declared, or introduced by a prompt; but for what hands in."""
    names = {tool.name for tool in reading.evidence.tools}
    for step in reading.steps:
        if step.source != "agent" and step.message:
            names.update(_OFFERED.findall(step.message[:_LONGEST]))
    return frozenset(name for name in names if not hands_in(name))
