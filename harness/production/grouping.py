"""Failures grouped into themes: by what is certain first, then by text within each group.

Deterministic, and independent of the order in which failures arrive. The themes that are known keep their texts and
come first: a failure joins the known theme that it is most like, and only what fits none begins a new one.
"""

import math
import operator
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from harness.errors import UsageError
from harness.plugins import extra_remedy
from harness.production.failures import MOST_TEXT, Cause, HarnessFault, SessionFailure
from harness.values import Frozen, digest_of

# Shingles are the words and the pairs of neighbouring words, as hashes of 32 bits: what is stored of a theme is not
# text of a session. No corpus is involved: two texts are as alike today as tomorrow. With the extra `embeddings`, texts
# that both have a vector are compared by it too.

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
    """Its vector, of the length 1; empty if there is none."""


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
    """The direction of the mean; without a vector if one of them has none."""
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
    """From 0 to 1: by shingles, and if both have a vector the mean of that and of their vectors."""
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


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def _hash(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "replace"))


# Texts as vectors of a small model that comes with the extra `embeddings`: nothing is loaded from a network.
#
# The model is WordLlama's table of 32,000 tokens, 256 numbers each, inside of its package; a text's vector is the mean
# of its tokens'. Table and tokenizer are read from the package's folder without running its code, which would set up
# logging and bring a client for downloads.

Embed = Callable[[Sequence[str]], list[tuple[float, ...]]]
"""Vectors of texts, of the length 1 each; an empty one for a text without words."""

_PACKAGE: Final = "wordllama"
_TABLE: Final = "weights/l2_supercat_256.safetensors"
_TOKENIZER: Final = "tokenizers/l2_supercat_tokenizer_config.json"
_DIGITS: Final = 4
"""Of a vector's numbers: so few that machines agree on them."""


def load_embedding() -> Embed:
    """Reads the model. Raises UsageError that names the extra if it is not installed."""
    try:
        import numpy
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer
    except ImportError:
        raise _missing_extra() from None
    folder = _folder()
    (table,) = load_file(folder / _TABLE).values()
    tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def embed(texts: Sequence[str]) -> list[tuple[float, ...]]:
        found: list[tuple[float, ...]] = []
        for encoded in tokenizer.encode_batch(list(texts), add_special_tokens=False):
            total = table[encoded.ids].astype(numpy.float64).sum(axis=0) if encoded.ids else numpy.zeros(0)
            length = float(numpy.sqrt((total * total).sum()))
            found.append(tuple(round(float(one) / length, _DIGITS) for one in total) if length else ())
        return found

    return embed


def _folder() -> Path:
    spec = find_spec(_PACKAGE)
    folder = None if spec is None or spec.origin is None else Path(spec.origin).parent
    if folder is None or not (folder / _TABLE).is_file() or not (folder / _TOKENIZER).is_file():
        raise _missing_extra()
    return folder


def _missing_extra() -> UsageError:
    return UsageError(
        "`themes: {text: embeddings}` in online.yaml needs the extra `embeddings`",
        remedy=f"{extra_remedy('embeddings')}, or `text: shingles`",
    )


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
    embedding: tuple[float, ...] = ()
    """The vector of the text, if it was made with the extra `embeddings`."""

    @property
    def form(self) -> TextForm:
        """What failures are compared with."""
        return TextForm(self.shingles, self.embedding)


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
    embed: Embed | None = None,
) -> list[FailureGroup]:
    """Every failure in one theme, ordered by the theme's id. Themes of runs have other ids than those of production.

    `embed`: texts are compared by these vectors, but by shingles with known themes that have none; None: by shingles.
    """
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
        prefix = _Prefix(keys[name], of_run)
        found += _grouped(prefix, own, by_name[name], _forms(own, embed))
    return sorted(found, key=lambda group: group.text.id)


class _Prefix(NamedTuple):
    """What all themes of one group share."""

    key: ThemeKey
    of_run: bool

    def theme(self, form: TextForm) -> ThemeText:
        named = digest_of([self.key.model_dump(), sorted(form.shingles), *(["run"] if self.of_run else [])])[:12]
        return ThemeText(id=named, key=self.key, shingles=dict(form.shingles), embedding=form.embedding)


Words = tuple[str, ...]


def _forms(failures: Sequence[SessionFailure], embed: Embed | None) -> dict[Words, TextForm]:
    """By words the form of a text; of texts with the same words the first by its letters."""
    texts: dict[Words, str] = {}
    for text in sorted({failure.text for failure in failures}):
        texts.setdefault(tuple(words_of(text)), without_values(text))
    if embed is None:
        return {words: TextForm(shingles(words)) for words in texts}
    vectors = embed([*texts.values()])
    return {words: TextForm(shingles(words), vector) for words, vector in zip(texts, vectors, strict=True)}


def _grouped(
    prefix: _Prefix, failures: Sequence[SessionFailure], known: Sequence[ThemeText], texts: Mapping[Words, TextForm]
) -> list[FailureGroup]:
    words = {failure.text: tuple(words_of(failure.text)) for failure in failures}
    counts = Counter(words[failure.text] for failure in failures)
    ordered = sorted(counts, key=lambda one: (-counts[one], one))
    unmatched = [one for one in ordered if _best(texts[one], [theme.form for theme in known])[1] < ALIKE]
    fresh = _new_texts({one: (texts[one], counts[one]) for one in unmatched}, _MOST_IN_GROUP - len(known))
    themes = [*known, *map(prefix.theme, fresh)]
    place = {one: _best(texts[one], [theme.form for theme in themes]) for one in ordered}
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


def _new_texts(weighted: Mapping[tuple[str, ...], tuple[TextForm, int]], most: int) -> list[TextForm]:
    """Texts of new themes: the most frequent ones lead, each then is the mean of those that are most like it."""
    if most <= 0:
        return []
    leaders: list[TextForm] = []
    for text, _ in weighted.values():
        if len(leaders) < most and _best(text, leaders)[1] < ALIKE:
            leaders.append(text)
    for _ in range(_ROUNDS):
        leaders = _merged(_means(weighted.values(), leaders))
    return leaders


def _means(weighted: Iterable[tuple[TextForm, int]], leaders: Sequence[TextForm]) -> list[tuple[TextForm, int]]:
    parts: dict[int, list[tuple[TextForm, int]]] = defaultdict(list)
    for text, count in weighted:
        parts[_best(text, leaders)[0]].append((text, count))
    return [(mean_form(part), sum(count for _, count in part)) for _, part in sorted(parts.items())]


def _merged(themes: Sequence[tuple[TextForm, int]]) -> list[TextForm]:
    """The larger ones first; a smaller one that is like a larger one becomes part of it."""
    kept: list[list[tuple[TextForm, int]]] = []
    for theme in sorted(themes, key=lambda one: (-one[1], sorted(one[0].shingles.items()))):
        number, alike = _best(theme[0], [part[0][0] for part in kept])
        if alike >= MERGED:
            kept[number].append(theme)
        else:
            kept.append([theme])
    return [mean_form(part) for part in kept]


def _best(text: TextForm, others: Sequence[TextForm]) -> tuple[int, float]:
    """Number and similarity of the most alike; of equals the first. (-1, -1) for none."""
    best = (-1, -1.0)
    for number, other in enumerate(others):
        alike = likeness(text, other)
        if alike > best[1] + 1e-9:
            best = (number, alike)
    return best
