"""Metrics, checks and detectors whose own code raised: what they would have measured is missing from the figures."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from harness.score import Score, Scorecard, raised_by
from harness.values import Frozen

CodeKind = Literal["metric", "run metric", "check", "detector"]


class FailedCode(Frozen):
    """One metric, check or detector that raised."""

    kind: CodeKind
    name: str
    trials: int
    """The number of trials in which it raised; 0 for a run metric, which sees all of them at once."""
    raised: str
    """What it raised in most trials, and where."""


def failed_code(cards: Sequence[Scorecard], run_scores: Sequence[Score]) -> tuple[FailedCode, ...]:
    """By kind and name."""
    raised: dict[tuple[CodeKind, str], Counter[str]] = {}
    for card in cards:
        for kind, name, what in {*_of_card(card)}:
            raised.setdefault((kind, name), Counter())[what] += 1
    found = [_failed(*key, counts, counts.total()) for key, counts in raised.items()]
    found += [_failed("run metric", one.metric, Counter([what]), 0) for one, what in _raised(run_scores)]
    return tuple(sorted(found, key=lambda one: (one.kind, one.name)))


def _failed(kind: CodeKind, name: str, raised: Counter[str], trials: int) -> FailedCode:
    return FailedCode(kind=kind, name=name, trials=trials, raised=raised.most_common(1)[0][0])


def _of_card(card: Scorecard) -> Iterator[tuple[CodeKind, str, str]]:
    yield from (("metric", score.metric, what) for score, what in _raised(card.scores))
    for verdict in card.verdicts:
        if (what := raised_by(verdict)) is not None:
            yield "check", verdict.check, what
    for finding in (*card.diagnoses, *card.hints):
        if (what := raised_by(finding)) is not None:
            yield "detector", finding.kind.partition(":")[0], what


def _raised(scores: Iterable[Score]) -> Iterator[tuple[Score, str]]:
    return ((score, what) for score in scores if (what := raised_by(score)) is not None)
