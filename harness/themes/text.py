"""How alike two texts are: the cosine of their shingles, after values that differ from session to session are removed.

Shingles are the words and the pairs of neighbouring words, as hashes of 32 bits: what is stored of a theme is no text
of a session. No corpus is involved: two texts are as alike today as tomorrow.
"""

import math
import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from harness.themes.failure import MOST_TEXT

_VALUES: Final = (
    (re.compile(r"https?://\S+"), " url "),
    (re.compile(r"[\w.+-]{1,64}@[\w.-]{1,255}"), " mail "),
    (re.compile(r"\b[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}\b"), " id "),
    (re.compile(r"\b(?=[a-z]*\d)[a-z0-9_#-]{2,}\b"), " id "),
    (re.compile(r"\d+"), " id "),
)
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_STOP: Final = frozenset(
    {
        "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "did", "do", "does", "for", "from", "had",
        "has", "have", "he", "her", "his", "if", "in", "into", "is", "it", "its", "no", "not", "of", "on", "or",
        "our", "she", "so", "than", "that", "the", "their", "then", "there", "they", "this", "to", "too", "was",
        "were", "what", "when", "which", "while", "who", "will", "with", "would", "you", "your", "agent", "user",
        "assistant", "step",
    }
)  # fmt: skip
_ENDINGS: Final = ("ations", "ation", "ingly", "ments", "ment", "ings", "ing", "edly", "ies", "ed", "es", "s")

_MOST_SHINGLES: Final = 64
_OF_PAIRS: Final = 0.5
"""What a pair of words weighs, of what a word does."""

Shingles = Mapping[int, float]
"""Hash of a shingle -> weight; the weights' squares add up to 1."""


def words_of(text: str) -> list[str]:
    """Words without endings, stop words and values."""
    plain = text[:MOST_TEXT].casefold()
    for pattern, name in _VALUES:
        plain = pattern.sub(name, plain)
    return [_stem(word) for word in _WORD.findall(plain) if word not in _STOP]


def shingles(words: Sequence[str]) -> Shingles:
    """Of the words of a text; empty for none."""
    found: Counter[int] = Counter(map(_hash, words))
    pairs = Counter(_hash(f"{first} {second}") for first, second in pairwise(words))
    weights = {one: math.sqrt(count) for one, count in found.items()}
    return _unit(weights | {one: _OF_PAIRS * math.sqrt(count) for one, count in pairs.items()})


def mean_shingles(weighted: Sequence[tuple[Shingles, int]]) -> Shingles:
    """The direction of the mean, of which the heaviest shingles are kept."""
    if len(weighted) == 1:
        return _unit(_heaviest(weighted[0][0]))
    total: dict[int, float] = {}
    for one, count in weighted:
        for shingle, weight in one.items():
            total[shingle] = total.get(shingle, 0.0) + weight * count
    return _unit(_heaviest(total))


def _heaviest(weights: Shingles) -> Shingles:
    ranked = sorted(weights.items(), key=lambda one: (-one[1], one[0]))
    return dict(ranked[:_MOST_SHINGLES])


def _unit(weights: Shingles) -> Shingles:
    length = math.sqrt(math.fsum(weight * weight for weight in weights.values()))
    return {one: round(weight / length, 6) for one, weight in sorted(weights.items())} if length else {}


def similarity(one: Shingles, other: Shingles) -> float:
    """From 0 to 1; two texts without words are alike."""
    if not one or not other:
        return 1.0 if one == other else 0.0
    small, large = (one, other) if len(one) <= len(other) else (other, one)
    return math.fsum(weight * large.get(shingle, 0.0) for shingle, weight in small.items())


def common_words(texts: list[str], most: int = 6) -> tuple[str, ...]:
    """Words, as they stand, that the most texts have; those that only one has are left out."""
    seen: Counter[str] = Counter()
    for text in texts:
        seen.update({word for word in _WORD.findall(text[:MOST_TEXT].casefold()) if word not in _STOP})
    least = 1 if len(texts) == 1 else 2
    ranked = sorted((-count, word) for word, count in seen.items() if count >= least)
    return tuple(word[:40] for _, word in ranked[:most])


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def _hash(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "replace"))
