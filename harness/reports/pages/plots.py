"""Plots as SVG that the server makes: bars with intervals, histograms, lines over runs, the steps of a trial by time.

A plot has no text inside: words stand beside it as HTML, so that they keep their size on a narrow screen. Colours are
classes, because the policy of the pages forbids inline styles.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.reports.pages.markup import Child, Markup, fragment, link, tag
from harness.scoring.statistics.intervals import Interval

_BINS = 16


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One row of a chart. `share`: of the whole width; None is drawn as no bar."""

    name: Child
    share: float | None
    words: str
    interval: Interval | None = None
    href: str | None = None
    kind: str = "a"


def _svg(width: float, height: float, *parts: Markup, label: str | None = None, class_: str = "plot") -> Markup:
    """`label`: what the picture says; None where the words beside it say so."""
    return tag(
        "svg",
        *parts,
        viewBox=f"0 0 {width:g} {height:g}",
        preserveAspectRatio="none",
        class_=class_,
        role="img" if label else None,
        aria_label=label,
        aria_hidden=None if label else "true",
        focusable="false",
    )


def _rect(x: float, y: float, width: float, height: float, class_: str, title: str = "") -> Markup:
    said = tag("title", title) if title else None
    return tag("rect", said, x=f"{x:.2f}", y=f"{y:g}", width=f"{width:.2f}", height=f"{height:.2f}", class_=class_)


def _line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return tag("line", x1=f"{x1:.2f}", y1=f"{y1:.2f}", x2=f"{x2:.2f}", y2=f"{y2:.2f}", class_=class_)


def bars(rows: Iterable[Bar], *, caption: str) -> Markup:
    """Names, bars and figures below each other; the interval is a line over the bar's end."""
    shown = [fragment(tag("dt", _named(one)), tag("dd", _bar(one), tag("span", one.words))) for one in rows]
    return tag("dl", *shown, class_="chart", aria_label=caption)


def _named(one: Bar) -> Child:
    return one.name if one.href is None else link(one.href, one.name)


def _bar(one: Bar) -> Markup:
    parts = [_rect(0, 3, 100, 6, "ground")]
    if one.share is not None:
        parts.append(_rect(0, 3, 100 * min(1.0, max(0.0, one.share)), 6, f"mark-{one.kind}"))
    if one.interval is not None:
        low, high = 100 * one.interval.low, 100 * one.interval.high
        parts += [
            _line(low, 6, high, 6, "whisker"),
            _line(low, 2, low, 10, "whisker"),
            _line(high, 2, high, 10, "whisker"),
        ]
    return _svg(100, 12, *parts)


def histogram(title: str, values: Sequence[float], words: Sequence[str], href: str) -> Markup | None:
    """How a quantity is distributed over trials. `words`: its least, middle and largest value; None for no values."""
    head = tag("figcaption", link(href, title))
    if not values:
        return None
    low, high = min(values), max(values)
    if low == high:
        said = f"{words[0]} in each of {len(values)} trials"
        return tag("figure", head, tag("p", said))
    bins = [0] * _BINS
    for value in values:
        bins[min(_BINS - 1, int((value - low) / (high - low) * _BINS))] += 1
    width, top = 100 / _BINS, max(bins)
    marks = [
        _rect(at * width + 0.3, 40 - 38 * size / top, width - 0.6, 38 * size / top, "mark-a", f"{size} trials")
        for at, size in enumerate(bins)
        if size
    ]
    said = f"{title} of {len(values)} trials: from {words[0]} to {words[2]}, median {words[1]}"
    axis = tag("p", *(tag("span", one) for one in (words[0], f"median {words[1]}", words[2])), class_="axis")
    return tag(
        "figure",
        head,
        _svg(100, 41, *marks, _line(0, 40.5, 100, 40.5, "whisker"), label=said),
        axis,
    )


def middle(values: Sequence[float]) -> float:
    """The median, the lower one of two."""
    return sorted(values)[(len(values) - 1) // 2]


@dataclass(frozen=True, kw_only=True)
class Point:
    """A rate of one run, with its interval."""

    value: float | None
    interval: Interval | None
    title: str


def course(points: Sequence[Point], *, label: str) -> Markup:
    """Rates from 0 to 1 in order; each has its interval, and neighbours that are known are connected."""
    step = 100 / max(1, len(points))
    at = [(step * (place + 0.5), one) for place, one in enumerate(points)]
    parts = [_line(0, y, 100, y, "grid") for y in (5, 27.5, 50)]
    known = [(x, 50 - 45 * one.value) for x, one in at if one.value is not None]
    parts += [_line(*before, *after, "trace") for before, after in itertools.pairwise(known)]
    for x, one in at:
        if one.interval is not None:
            parts.append(_line(x, 50 - 45 * one.interval.low, x, 50 - 45 * one.interval.high, "whisker"))
        if one.value is not None:
            wide = min(1.2, step / 3)
            parts.append(_rect(x - wide / 2, 48.5 - 45 * one.value, wide, 3, "mark-a", one.title))
    return _svg(100, 55, *parts, label=label, class_="plot course")


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """A step or a call of a trial by time, in milliseconds since the trial began."""

    name: Child
    start_ms: float
    end_ms: float
    kind: str
    href: str


def waterfall(spans: Sequence[Stretch], *, caption: str) -> Markup:
    """Each span stands at its time, below the one before."""
    first = min(one.start_ms for one in spans)
    whole = max(one.end_ms for one in spans) - first or 1.0
    rows = []
    for one in spans:
        start, width = 100 * (one.start_ms - first) / whole, 100 * (one.end_ms - one.start_ms) / whole
        mark = _rect(min(start, 99.4), 2, max(0.6, width), 8, f"mark-{one.kind}")
        shown = _svg(100, 12, _rect(0, 5.5, 100, 1, "ground"), mark)
        words = tag("span", f"{duration(one.end_ms - one.start_ms)}, at {duration(one.start_ms - first)}")
        rows.append(fragment(tag("dt", link(one.href, one.name)), tag("dd", shown, words)))
    return tag("dl", *rows, class_="chart", aria_label=caption)


def duration(ms: float) -> str:
    """Milliseconds below one second, seconds above."""
    return f"{ms:.0f} ms" if ms < 1000 else f"{ms / 1000:.1f} s" if ms < 100_000 else f"{math.floor(ms / 1000)} s"
