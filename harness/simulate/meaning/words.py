"""The words of a text that decide what it means: without those that may differ, and with one word for several."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

_ENDINGS: Final = ("ies", "ing", "ed", "es", "s", "ly")
_WORD: Final = re.compile(r"[a-z][a-z']*")


@lru_cache(maxsize=65_536)
def deciding(word: str) -> str | None:
    """The form in which a lower-case word is compared; None for a word that may differ."""
    plain = word.removesuffix("'s").strip("'")
    if len(plain) < 2 or plain in _soft():
        return None
    same = _same()
    if plain in same:
        return same[plain]
    root = stem(plain)
    if root in _soft_roots() or plain in _soft_roots():
        return None
    return same.get(root, root)


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A word without its ending, as far as two forms of one word have to agree."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            root = word.removesuffix(ending)
            if ending == "ies":
                return f"{root}y"
            if ending in ("ing", "ed") and len(root) > 3 and root[-1] == root[-2] and root[-1] not in "sl":
                return root[:-1]
            return root.removesuffix("e")
    return word.removesuffix("e") if len(word) > 4 else word


@cache
def _soft() -> frozenset[str]:
    return frozenset(word for line in _lines("soft_words.txt") for word in line.split())


@cache
def _soft_roots() -> frozenset[str]:
    # An adverb has no weight where its adjective may have some: `largely`, `large`.
    return frozenset(stem(word) for word in _soft() if not word.endswith("ly"))


@cache
def _same() -> Mapping[str, str]:
    found: dict[str, str] = {}
    for line in _lines("same_words.txt"):
        first, _, others = line.partition(":")
        for word in (first, *others.split()):
            found.setdefault(word, first)
            found.setdefault(stem(word), first)
    return found


def _lines(name: str) -> list[str]:
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]
