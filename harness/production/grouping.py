"""Failures grouped into themes: by what is certain first, then by text within each group.

Deterministic, and independent of the order in which failures arrive. The themes that are known keep their texts and
come first: a failure joins the known theme that it is most like, and only what fits none begins a new one.
"""

import math
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from harness.production.failures import MOST_TEXT, Cause, HarnessFault, SessionFailure
from harness.values import Frozen, digest_of

# Shingles are the words and the pairs of neighbouring words, as hashes of 32 bits: what is stored of a theme is not
# text of a session. No corpus is involved: two texts are as alike today as tomorrow.

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
    """Words without endings and stop words, and with a word for each value that differs from session to session."""
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


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def _hash(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "replace"))


ALIKE: Final = 0.20
"""The least similarity to a theme's text with which a failure belongs to it."""
MERGED: Final = 0.30
"""Themes of one group whose texts are more alike than this are one."""
_MOST_IN_GROUP: Final = 40
"""Themes in one group: whoever sends sessions cannot make any number of them; what is beyond joins the nearest."""
_ROUNDS: Final = 4


class ThemeKey(Frozen):
    """What is certain of a theme; failures with different keys are never in one theme."""

    suite: str
    fault: HarnessFault | None
    criterion: str
    cause: Cause


class ThemeText(Frozen):
    """A theme's identity: its key, and the text that failures are compared with."""

    id: str
    key: ThemeKey
    shingles: dict[int, float]


class FailureGroup(Frozen):
    """The failures of one theme."""

    text: ThemeText
    failures: tuple[SessionFailure, ...]
    similarities: tuple[float, ...]
    """Of each failure to the theme's text."""


def grouped(
    suite: str,
    failures: Iterable[SessionFailure],
    known: Sequence[ThemeText] = (),
    *,
    of_run: bool = False,
) -> list[FailureGroup]:
    """Every failure in one theme, ordered by the theme's id. Themes of runs have other ids than those of production."""
    by_key: dict[str, list[SessionFailure]] = defaultdict(list)
    keys: dict[str, ThemeKey] = {}
    for failure in failures:
        key = ThemeKey(suite=suite, fault=failure.fault, criterion=failure.criterion, cause=failure.cause)
        name = digest_of(key)
        keys[name] = key
        by_key[name].append(failure)
    by_name = defaultdict(list)
    for one in known:
        by_name[digest_of(one.key)].append(one)
    found: list[FailureGroup] = []
    for name, own in by_key.items():
        found += _grouped(keys[name], own, by_name[name], of_run)
    return sorted(found, key=lambda group: group.text.id)


def _grouped(
    key: ThemeKey, failures: Sequence[SessionFailure], known: Sequence[ThemeText], of_run: bool
) -> list[FailureGroup]:
    words = {failure.text: tuple(words_of(failure.text)) for failure in failures}
    texts = {one: shingles(one) for one in words.values()}
    counts = Counter(words[failure.text] for failure in failures)
    ordered = sorted(counts, key=lambda one: (-counts[one], one))
    unmatched = [one for one in ordered if _best(texts[one], [theme.shingles for theme in known])[1] < ALIKE]
    fresh = _new_texts({one: (texts[one], counts[one]) for one in unmatched}, _MOST_IN_GROUP - len(known))
    themes = [*known, *(_theme(key, text, of_run) for text in fresh)]
    place = {one: _best(texts[one], [theme.shingles for theme in themes]) for one in ordered}
    members: dict[int, list[tuple[SessionFailure, float]]] = defaultdict(list)
    for failure in sorted(failures, key=lambda one: (one.received_ns, one.session)):
        number, alike = place[words[failure.text]]
        members[number].append((failure, alike))
    return [
        FailureGroup(
            text=themes[number],
            failures=tuple(failure for failure, _ in found),
            similarities=tuple(round(alike, 4) for _, alike in found),
        )
        for number, found in members.items()
    ]


def _theme(key: ThemeKey, text: Shingles, of_run: bool) -> ThemeText:
    named = digest_of([key.model_dump(), sorted(text), *(["run"] if of_run else [])])[:12]
    return ThemeText(id=named, key=key, shingles=dict(text))


def _new_texts(weighted: Mapping[tuple[str, ...], tuple[Shingles, int]], most: int) -> list[Shingles]:
    """Texts of new themes: the most frequent ones lead, each then is the mean of those that are most like it."""
    if most <= 0:
        return []
    leaders: list[Shingles] = []
    for text, _ in weighted.values():
        if len(leaders) < most and _best(text, leaders)[1] < ALIKE:
            leaders.append(text)
    for _ in range(_ROUNDS):
        leaders = _merged(_means(weighted.values(), leaders))
    return leaders


def _means(weighted: Iterable[tuple[Shingles, int]], leaders: Sequence[Shingles]) -> list[tuple[Shingles, int]]:
    parts: dict[int, list[tuple[Shingles, int]]] = defaultdict(list)
    for text, count in weighted:
        parts[_best(text, leaders)[0]].append((text, count))
    return [(mean_shingles(part), sum(count for _, count in part)) for _, part in sorted(parts.items())]


def _merged(themes: Sequence[tuple[Shingles, int]]) -> list[Shingles]:
    """The larger ones first; a smaller one that is like a larger one becomes part of it."""
    kept: list[list[tuple[Shingles, int]]] = []
    for theme in sorted(themes, key=lambda one: (-one[1], sorted(one[0].items()))):
        number, alike = _best(theme[0], [part[0][0] for part in kept])
        if alike >= MERGED:
            kept[number].append(theme)
        else:
            kept.append([theme])
    return [mean_shingles(part) for part in kept]


def _best(text: Shingles, others: Sequence[Shingles]) -> tuple[int, float]:
    """Number and similarity of the most alike; of equals the first. (-1, -1) for none."""
    best = (-1, -1.0)
    for number, other in enumerate(others):
        alike = similarity(text, other)
        if alike > best[1] + 1e-9:
            best = (number, alike)
    return best
