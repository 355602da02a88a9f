"""A trend as a table: one row per figure, one column per release, with jumps marked and described below."""

from collections.abc import Iterator

from harness.report.comparison.trend import Trend, TrendLine, TrendPoint
from harness.report.render.section import Section
from harness.report.render.wording import UNKNOWN
from harness.score.floors import SUCCESS

_MARK = "!"


def trend_sections(trend: Trend, widest: int = 200) -> tuple[Section, ...]:
    """Metrics, failure modes. `widest`: characters of a release's name that are shown."""
    heads = tuple(_cut(release.name, widest) for release in trend.releases)
    counts = ("trials", *(str(release.trials) for release in trend.releases))
    left_out = tuple(f"left out, because it cannot be read: {one.run} ({one.problem})" for one in trend.damaged)
    metrics = tuple(row for line in trend.lines if line.kind == "metric" for row in _rows(line))
    failures = tuple(_row(line) for line in trend.lines if line.kind == "failure")
    return (
        Section(
            title="metrics by release",
            heads=("mean", *heads),
            rows=(counts, *metrics),
            notes=(*_notes(trend, "metric"), *left_out),
        ),
        Section(
            title="failure modes by release",
            heads=("share of trials", *heads),
            rows=failures,
            notes=_notes(trend, "failure"),
        ),
    )


def _cut(name: str, most: int) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _rows(line: TrendLine) -> Iterator[tuple[str, ...]]:
    """The row of a figure; for success also the number of unknown trials."""
    yield _row(line)
    if line.name == SUCCESS and any(point.unknown for point in line.points):
        yield ("  unknown for", *(f"{p.unknown} of {p.n + p.unknown}" if p.unknown else "" for p in line.points))


def _row(line: TrendLine) -> tuple[str, ...]:
    return (
        line.name.replace("_", " ") if line.kind == "failure" else line.name,
        *(_cell(line, p) for p in line.points),
    )


def _cell(line: TrendLine, point: TrendPoint) -> str:
    if point.value is None:
        return UNKNOWN
    value = f"{100 * point.value:.0f} %" if line.kind == "failure" else f"{point.value:.3f}"
    return f"{value} {_MARK}" if point.spike else value


def _notes(trend: Trend, kind: str) -> tuple[str, ...]:
    flagged = tuple(_words(line, point) for line, point in trend.spikes if line.kind == kind)
    return (*flagged, *_power(trend, kind))


def _power(trend: Trend, kind: str) -> tuple[str, ...]:
    """The number of worse cases at which the newest release would have been flagged; success represents all metrics."""
    newest = [line.points[-1] for line in trend.lines if line.kind == kind and line.points[-1].level is not None]
    if not newest:
        return ()
    point = newest[0]
    needed = "no number of cases" if point.flags_from is None else f"{point.flags_from} of {point.cases} cases"
    return (
        f"{point.release} is flagged at p <= {point.level:.2g}, its share of 5 % over all releases and tests: "
        f"{needed} worse and none better would be flagged",
    )


def _words(line: TrendLine, point: TrendPoint) -> str:
    test = f"p = {point.p:.2g}, {point.test}, one-sided, corrected for the release's figures"
    return f"{_MARK} {line.name.replace('_', ' ')} is worse in {point.release}: {test}"
