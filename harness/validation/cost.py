"""Estimates whether an expression is certainly fast on a text, from its structure and the length of the text.

A search backtracks to every choice that it has made: where no repeat contains another, there are at most (length + 1)
choices for every repeat, two for every alternative, and (length + 1) start positions. False means only that the cost is
not known.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_QUICK: Final = 2**16
"""Steps: some milliseconds."""
_QUICK_A_CHARACTER: Final = 256
_MOST_CHOICES: Final = 16
_ONE: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]", re.DOTALL)
"""Matches a construct for one character, or for a position between two."""
_REFERENCE: Final = re.compile(r"\\[1-9]")
_OPENING: Final = re.compile(r"\(\?(?:P<\w+>|<?[=!]|[:>]|[aimsu]+\))")
_NOT_COUNTED: Final = re.compile(r"\\|\(\?|\)[*+{]")
"""References back, whatever else a group begins with (`(?x)` among it), repeats of groups."""
_FIXED: Final = re.compile(r"\{(\d{1,3})\}")


@dataclass(frozen=True, kw_only=True)
class _Cost:
    size: int
    repeats: int
    choices: int


def is_quick(expression: str, length: int) -> bool:
    """Whether the expression needs no limit on a text of so many characters."""
    cost = _cost(expression)
    if cost is None or cost.choices > _MOST_CHOICES:
        return False
    once = cost.size << cost.choices
    if cost.repeats == 0 and once <= _QUICK_A_CHARACTER:
        return True
    steps: int = once * (length + 1) ** (cost.repeats + 1)
    return steps <= _QUICK


@lru_cache(maxsize=1024)
def _cost(expression: str) -> _Cost | None:
    plain = _OPENING.sub("(", _ONE.sub(lambda one: one[0] if _REFERENCE.fullmatch(one[0]) else "x", expression))
    if _NOT_COUNTED.search(plain):
        return None
    fixed = sum(int(times) for times in _FIXED.findall(plain))
    plain = _FIXED.sub("", plain)
    return _Cost(
        size=len(expression) + 1 + fixed,
        repeats=sum(plain.count(sign) for sign in "*+{"),
        choices=plain.count("?") + plain.count("|"),
    )
