"""The words of a text that decide what it means: without those that may differ, and with one word for several."""

from collections.abc import Mapping, Set
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

_DOMAIN: Final = "same_words.txt"
_SCOPE: Final = "scope_words.txt"
_ENDINGS: Final = ("ies", "ing", "ed", "es", "s", "ly")


def listed(words: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(words.split())


_NO_ADVERB: Final = listed(
    "daily weekly monthly yearly hourly nightly quarterly early family supply reply assembly jelly july "
    "italy elderly friendly belly bully butterfly fly rally tally lily only solely exclusively merely partially partly "
    "fully permanently temporarily"
)
"""Words in -ly that say what something is, not how something is done."""


_DENYING: Final = listed("un in im il ir dis non mis")


@lru_cache(maxsize=65_536)
def deciding(word: str) -> str | None:
    """The form in which a lower-case word is compared; None for a word that may differ."""
    plain = word.removesuffix("'s").strip("'")
    if len(plain) < 2 or plain in _soft() or (plain.endswith("ly") and plain not in _NO_ADVERB):
        return None
    same = _same()
    if plain in same:
        return same[plain]
    root = stem(plain)
    if root in _soft_roots() or plain in _soft_roots():
        return None
    return same.get(root, root)


def is_of_domain(form: str) -> bool:
    """Whether a form of `deciding` is a known thing or action, which counts wherever it stands."""
    return form in _forms()


def is_weighty(word: str) -> bool:
    """Whether a lower-case word without weight of its own may still not be replaced by one that is not known."""
    return word.removesuffix("'s") in _weighty()


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
    return frozenset(word for line in lines_of("soft_words.txt") for word in line.split())


@cache
def _weighty() -> frozenset[str]:
    return frozenset(word for line in lines_of("weighty_words.txt") for word in line.split())


@cache
def _soft_roots() -> frozenset[str]:
    # An adverb has no weight where its adjective may have some: `largely`, `large`.
    return frozenset(stem(word) for word in _soft() if not word.endswith("ly"))


@cache
def _same() -> Mapping[str, str]:
    found: dict[str, str] = {}
    for line in (*lines_of(_DOMAIN), *lines_of(_SCOPE), *lines_of("synonyms.txt")):
        first, _, others = line.partition(":")
        for word in (first, *others.split()):
            found.setdefault(word, first)
            found.setdefault(stem(word), first)
    return found


def opposed(gone: Set[str], new: Set[str]) -> tuple[str, str] | None:
    """A stem that a text has lost and the opposite that it has instead; None where there is none."""
    sides = _opposite_sides()
    said_now = {side: word for word in sorted(new) for side in sides.get(word, ())}
    for word in sorted(gone):
        for pair, side in sides.get(word, ()):
            if (pair, not side) in said_now:
                return word, said_now[pair, not side]
    return next(((one, other) for one in sorted(gone) for other in sorted(new) if _is_negated(one, other)), None)


def _is_negated(one: str, other: str) -> bool:
    """Whether one of two words is the other one with a prefix that denies it: `valid`, `invalid`."""
    short, long = sorted((one, other), key=len)
    return len(short) > 3 and long.endswith(short) and long.removesuffix(short) in _DENYING


@cache
def _opposite_sides() -> Mapping[str, frozenset[tuple[int, bool]]]:
    """Stem -> the pairs of opposites that it belongs to, and on which side."""
    found: dict[str, set[tuple[int, bool]]] = {}
    for pair, line in enumerate(lines_of("opposite_words.txt")):
        for side, words in enumerate(line.split(":")):
            for word in words.split():
                found.setdefault(stem(word), set()).add((pair, bool(side)))
    return {word: frozenset(sides) for word, sides in found.items()}


@cache
def _forms() -> frozenset[str]:
    return frozenset(line.partition(":")[0] for line in (*lines_of(_DOMAIN), *lines_of(_SCOPE)))


@cache
def scope_words() -> frozenset[str]:
    """The forms of words that say how much, how sure, when or which."""
    return frozenset(line.partition(":")[0] for line in lines_of(_SCOPE))


def lines_of(name: str) -> list[str]:
    """The lines of a word list, comments apart."""
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]
