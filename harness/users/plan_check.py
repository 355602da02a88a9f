"""A plan compared with the fixtures of its case: identifiers of the plan that no fixture holds.

The plan names an identifier of the same form as one of the fixtures (`o-999` beside `o-200`), and none of them holds
it. What a plan says in words, with quantities, days and prices, is for people to compare.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from harness.suite.cases import Case
from harness.suite.fixtures import FixturePack

_IDENTIFIER: Final = re.compile(r"(?<![\w-])#?[^\W\d_][\w-]{0,38}\d[\w-]*")
"""Letters first, a digit behind them: `o-200`, `#W12`. What begins with a digit may be an amount with its unit."""
_SENTENCE_ENDS: Final = re.compile(r"(?<=[.!?])\s+|\n")


@dataclass(frozen=True, kw_only=True)
class Contradiction:
    """One identifier of a plan that a fixture pack contradicts."""

    pack: str
    said: str
    """The plan's sentence."""
    value: str
    """The plan's identifier, in lower case."""
    fact: str
    """What the fixture holds, in the fixture's own spelling."""


def contradictions(case: Case, packs: Mapping[str, FixturePack]) -> list[Contradiction]:
    """What the opening and the plan of a case say, and its fixture packs contradict; empty without a plan."""
    plan = None if case.conversation is None else case.conversation.plan
    if plan is None:
        return []
    known = {_plain(text) for text in _texts(case.user_profile)}
    found: list[Contradiction] = []
    for name in case.fixtures:
        answers = [fixture.answer for fixture in packs[name].fixtures] if name in packs else []
        held = {_plain(text): text for answer in answers for text in _texts(answer) if _IDENTIFIER.fullmatch(text)}
        for sentence in (part for text in (case.task, plan) for part in _SENTENCE_ENDS.split(text)):
            for value in map(_plain, _IDENTIFIER.findall(sentence)):
                alike = sorted(spelt for own, spelt in held.items() if _form(own) == _form(value))
                if alike and value not in held and value not in known:
                    fact = ", ".join(alike[:3])
                    found.append(Contradiction(pack=name, said=sentence.strip(), value=value, fact=fact))
    return found


def _plain(identifier: str) -> str:
    return identifier.casefold().strip("#-_")


def _form(identifier: str) -> str:
    """An identifier with `9` for digits and its letters as they are: `o-200` and `o-999` have one form."""
    return re.sub(r"\d", "9", identifier)


def _texts(value: JsonValue) -> Iterator[str]:
    match value:
        case dict():
            for item in value.values():
                yield from _texts(item)
        case list():
            for item in value:
                yield from _texts(item)
        case str():
            yield value
        case _:
            return
