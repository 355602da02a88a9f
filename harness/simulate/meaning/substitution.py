"""Words of one text alone that stand in place of a manner of speaking in the other: another wording, and no change.

Where a text names all that the other one names, and has unknown words besides, each of these has to stand where the
other text has words, all of them without any thing, state or deed, and may not bring a sentence of its own.
"Unfortunately, it left" and "Bummer, but it left" are one; "it left" and "it left with a kettle" are two, and so are
"it is ready" and "it is haunted".
"""

import re
from collections.abc import Set
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from harness.simulate.meaning.idioms import without_idioms
from harness.simulate.meaning.sentences import without_markup
from harness.simulate.meaning.words import deciding, is_of_domain, is_weighty

_UNIT: Final = re.compile(r"[a-z]+(?:'[a-z]+)?|[^\W_a-z]\S*|[.!?;\n]")
_STOPS: Final = frozenset(".!?;\n")
_LONGEST: Final = 2_000
"""Words of a text that are aligned; the alignment of longer ones takes longer than it is worth."""


def only_reworded(plain: str, other: str, unknown: Set[str]) -> bool:
    """Whether each of the `unknown` words, which `other` alone has, stands in place of words of manner in `plain`."""
    if any(is_of_domain(word) for word in unknown):
        return False
    was, is_ = _units(plain), _units(other)
    if max(len(was), len(is_)) > _LONGEST:
        return False
    for kind, start, end, from_, to in SequenceMatcher(None, was, is_, autojunk=False).get_opcodes():
        if kind in ("equal", "delete") or unknown.isdisjoint(_forms(is_[from_:to])):
            continue
        if kind == "insert" or not _is_manner(was[start:end]) or _stops(is_[from_:to]) > _stops(was[start:end]):
            return False
    return True


def only_in_idioms(plain: str, other: str, words: Set[str]) -> bool:
    """Whether `words`, such as `within`, stand in `other` only inside of unknown turns of phrase that replace words of
    manner: `I can` is `it lies within my remit to`, and `I will` is not `I will within 3 days`.
    """
    was, is_ = _units(plain), _units(other)
    if max(len(was), len(is_)) > _LONGEST:
        return False
    for kind, start, end, from_, to in SequenceMatcher(None, was, is_, autojunk=False).get_opcodes():
        if kind in ("equal", "delete") or words.isdisjoint(_forms(is_[from_:to])):
            continue
        unknown = {form for form in _forms(is_[from_:to]) if not is_of_domain(form)}
        values = any(unit[0].isdigit() or unit[0] in "$#" for unit in is_[from_ : to + 1])
        if kind == "insert" or values or not unknown or not _is_manner(was[start:end]):
            return False
    return True


@lru_cache(maxsize=4_096)
def _units(text: str) -> list[str]:
    return _UNIT.findall(without_idioms(without_markup(text).lower().replace("\n", " ; ")))


def _forms(units: list[str]) -> Set[str]:
    return {form for form in map(deciding, units) if form is not None}


def _is_manner(units: list[str]) -> bool:
    words = [unit for unit in units if unit not in _STOPS]
    return bool(words) and not any(deciding(word) is not None or is_weighty(word) for word in words)


def _stops(units: list[str]) -> int:
    return sum(unit in _STOPS for unit in units)
