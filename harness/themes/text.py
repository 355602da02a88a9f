"""How alike two texts are: the cosine of their shingles, after values that differ from session to session are removed.

Shingles are the words and the pairs of neighbouring words, as hashes of 32 bits: what is stored of a theme is not text
of a session. No corpus is involved: two texts are as alike today as tomorrow. With the extra `embeddings`, texts that
both have a vector are compared by it too (`harness.themes.embedding`).
"""

import math
import operator
import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

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
_SCALE: Final = ((0.0, 0.0), (0.45, 0.20), (0.60, 0.30), (1.0, 1.0))
"""Cosine of two vectors -> the cosine of shingles that is as good, so that the thresholds of grouping hold for both;
tuned on the source and the wordings that the thresholds were tuned on."""


class TextForm(NamedTuple):
    """A text as it is compared."""

    shingles: Shingles
    embedding: tuple[float, ...] = ()
    """Its vector, of the length 1; empty where there is none."""


def words_of(text: str) -> list[str]:
    """Words without endings, stop words and values."""
    return [_stem(word) for word in _WORD.findall(without_values(text)) if word not in _STOP]


def without_values(text: str) -> str:
    """The text in small letters, with a word for each value that differs from session to session."""
    plain = text[:MOST_TEXT].casefold()
    for pattern, name in _VALUES:
        plain = pattern.sub(name, plain)
    return plain


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


def mean_form(weighted: Sequence[tuple[TextForm, int]]) -> TextForm:
    """The direction of the mean; without a vector where one of them has none."""
    vectors = [form.embedding for form, _ in weighted]
    mean = mean_shingles([(form.shingles, count) for form, count in weighted])
    if not all(vectors):
        return TextForm(mean)
    if len(vectors) == 1:
        return TextForm(mean, vectors[0])
    counts = [float(count) for _, count in weighted]
    total = [
        math.fsum(number * count for number, count in zip(column, counts, strict=True))
        for column in zip(*vectors, strict=True)
    ]
    length = math.sqrt(math.fsum(number * number for number in total))
    return TextForm(mean, tuple(round(number / length, 4) for number in total) if length else ())


def likeness(one: TextForm, other: TextForm) -> float:
    """From 0 to 1: by shingles, and where both have a vector the mean of that and of their vectors."""
    by_words = similarity(one.shingles, other.shingles)
    if not one.embedding or not other.embedding:
        return by_words
    cosine = min(1.0, max(0.0, math.fsum(map(operator.mul, one.embedding, other.embedding))))
    low, high = next((low, high) for low, high in pairwise(_SCALE) if cosine <= high[0])
    by_vector = low[1] + (high[1] - low[1]) * (cosine - low[0]) / (high[0] - low[0])
    return (by_words + by_vector) / 2


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
