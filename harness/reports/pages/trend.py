"""A suite by release."""

from collections.abc import Iterator

from harness.reports.pages.annotations import stamp_of
from harness.reports.pages.markup import (
    NO_RUNS,
    Markup,
    bounded,
    chip,
    choice,
    filters,
    fragment,
    row,
    table,
    tag,
    term,
    words,
)
from harness.reports.pages.plots import Point, course
from harness.reports.pages.request import Ask, Page, PageSet
from harness.reports.pages.run_index import state_of
from harness.reports.render.sections import judged_point_words, trend_sections
from harness.reports.trend import AgentTrend, Trend, TrendLine, TrendPoint, suite_of, trend
from harness.reports.units import figure, p_words, percent
from harness.runs.store.baseline import opened_in


def trends(ask: Ask) -> Page:
    """`/trend?suite=`: figures by release; flagged ones first."""
    entries = [one.manifest for one in ask.project.index.entries() if one.manifest is not None]
    suites = list(dict.fromkeys(one.suite for one in entries))
    if not suites:
        return Page.of("Trend", NO_RUNS, section="Trend")
    chosen = ask.query.get("suite") or suites[0]
    folder = ask.project.path / "runs"
    readable, damaged = opened_in(folder)
    runs = [run for run in readable if run.manifest.suite == chosen]
    labels = stamp_of(ask.project.path / "suites" / chosen / "labels") if runs else None
    states = tuple((run.path.name, state_of(run.path)) for run in runs)
    found = ask.project.made.got(
        (chosen, labels, states, tuple(damaged)), lambda: trend(suite_of(runs, chosen), runs, unreadable=damaged)
    )
    chooser = filters(choice("suite", "suite", suites, chosen, otherwise="the newest"), action="/trend")
    return Page.of("Trend", chooser, *_trend(found), section="Trend")


def _trend(found: Trend) -> list[Markup]:
    flagged = [tag("p", f"{one.name}: {_spike(line, point)}", class_="alert") for one, line, point in found.spikes[:20]]
    flagged += [tag("p", note) for note in trend_sections(found)[0].notes]
    return [*flagged, *(part for one in found.agents for part in _agent(one))]


def _agent(one: AgentTrend) -> list[Markup]:
    heads = ("figure", *(f"#{bounded(release.name, 40)}" for release in one.releases))
    lines = sorted(one.lines, key=lambda line: not any(point.spike for point in line.points))
    under = row("trials", *(str(release.trials) for release in one.releases))
    shown = [*_chart(one), table(heads, [under, *map(_line, lines)], caption=f"Figures of {one.name} by release")]
    if one.judged:
        rows = [row(bounded(line.name, 120), *map(judged_point_words, line.points)) for line in one.judged]
        caption = f"Judged criteria of {one.name} by release: share of passes [corrected for the judge's errors]"
        shown.append(table(heads, rows, caption=caption))
    return shown


def _chart(one: AgentTrend) -> Iterator[Markup]:
    """The rate of success over the releases, from 0 to 100 %, with intervals."""
    line = one.line("task_success")
    yield tag("h2", one.name)
    if line is None or len(line.points) < 2:
        return
    said = [f"{bounded(point.release, 40)}: {percent(point.value)}" for point in line.points]
    points = [Point(value=one.value, interval=one.interval, title=said[at]) for at, one in enumerate(line.points)]
    yield tag(
        "figure",
        tag("figcaption", "Success by release, from 0 to 100 %, with 95 % intervals"),
        course(points, label="; ".join(said)),
        tag("p", tag("span", said[0]), tag("span", said[-1]), class_="axis"),
        class_="boxed",
    )


def _line(line: TrendLine) -> Markup:
    cells = [
        fragment(
            percent(point.value) if line.kind == "failure" else figure(line.name, point.value),
            " ",
            chip("worse", "bad") if point.spike else None,
        )
        for point in line.points
    ]
    return row(term(line.name), *cells)


def _spike(line: TrendLine, point: TrendPoint) -> str:
    p = "" if point.p is None else f" ({p_words(point.p)})"
    return f"{words(line.name)} is worse in release {bounded(point.release, 60)}{p}"


PAGES = PageSet(shows={"/trend": trends}, entry=("Compare", "Trend", "/trend"))
