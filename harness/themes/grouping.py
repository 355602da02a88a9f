"""Failures grouped into themes: by what is certain first, then by text within each group.

Deterministic, and independent of the order in which failures arrive. The themes that are known keep their texts and
come first: a failure joins the known theme that it is most like, and only what fits none begins a new one.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from harness.themes.embedding import Embed
from harness.themes.failure import Cause, HarnessFault, SessionFailure
from harness.themes.text import TextForm, likeness, mean_form, shingles, without_values, words_of
from harness.values import Frozen, digest_of

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
    """The vector of the text, where it was made with the extra `embeddings`."""

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
