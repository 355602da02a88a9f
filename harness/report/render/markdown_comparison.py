"""A comparison and a trend as Markdown, for pull requests and for reading later."""

from collections.abc import Iterator, Sequence

from harness.report.comparison.change import MetricChange
from harness.report.comparison.compare import Comparison
from harness.report.comparison.trend import Trend
from harness.report.render.comparison_words import change_words
from harness.report.render.differences import NOTATION, attribution_lines, chance, comparison_sections, verdict_of
from harness.report.render.markdown import plain, section_lines, table_head, table_row
from harness.report.render.trend import trend_sections
from harness.report.render.wording import (
    UNKNOWN,
    number,
    own_metrics_first,
    percent,
    signed,
    signed_points,
)


def comparison_markdown(comparison: Comparison) -> str:
    """The whole comparison; every trial whose success changed is named."""
    return "\n".join(_comparison(comparison)) + "\n"


def trend_markdown(trend: Trend) -> str:
    """All releases that the trend holds."""
    lines = [f"# {plain(trend.suite)}: {len(trend.releases)} releases"]
    return (
        "\n".join([*lines, *(line for one in trend_sections(trend) if one.rows for line in section_lines(one))]) + "\n"
    )


def _comparison(comparison: Comparison) -> Iterator[str]:
    yield f"# {plain(comparison.before.run)} → {plain(comparison.after.run)}"
    yield from ["", f"**{change_words(comparison)}.**"]
    if comparison.unpaired:
        yield from ["", f"{comparison.unpaired} trials without a measured counterpart are omitted."]
    yield from _changes("category", [(part.name, part.success) for part in comparison.categories])
    metrics = {change.metric: change for change in comparison.metrics}
    yield from _changes("metric", [(name, metrics[name]) for name in own_metrics_first(list(metrics))])
    for section in comparison_sections(comparison):
        yield from section_lines(section)
    yield from ["", f"{NOTATION}.", "", "## Attribution", ""]
    yield from (f"- {plain(line)}" for line in attribution_lines(comparison))
    yield from ["", "## Differences between the runs", ""]
    for one in comparison.differences:
        note = "" if one.note is None else f" (warning: {one.note})"
        yield f"- {plain(one.field.replace('_', ' '))}: {plain(one.before)} → {plain(one.after)}{note}"
    if not comparison.differences:
        yield "Nothing else."
    if comparison.changed or comparison.hidden:
        yield from ["", "## Changed", ""]
    for case in comparison.hidden:
        why = plain("; ".join(case.reasons))
        yield f"- {plain(case.case_id)}/{case.attempt} succeeded before, cannot be determined now: {why}"
    for case in comparison.changed:
        now = "now succeeds; was" if case.after else "now fails"
        yield f"- {plain(case.case_id)}/{case.attempt} {now}: {plain('; '.join(case.reasons))}"


def _changes(kind: str, changes: Sequence[tuple[str, MetricChange]]) -> Iterator[str]:
    show, sign = (percent, signed_points) if kind == "category" else (number, signed)
    yield from ["", f"## By {kind}", ""]
    yield from table_head([kind, "before", "after", "change", "better", "worse", "pairs", "p", "says"])
    for name, change in changes:
        counts = [str(change.better or UNKNOWN), str(change.worse or UNKNOWN), str(change.pairs)]
        figures = (show(change.before), show(change.after), sign(change.difference), *counts)
        yield table_row([name, *figures, chance(change), verdict_of(change)])
