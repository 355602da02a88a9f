"""A summary and a comparison as Markdown, for pull requests and for reading later."""

from collections.abc import Iterator, Sequence

from harness.report.change import MetricChange
from harness.report.compare import Comparison
from harness.report.printed import PrintedEnd
from harness.report.render.differences import NOTATION, attribution_lines, chance, comparison_sections, told
from harness.report.render.recorded import recorded_lines
from harness.report.render.section import Section
from harness.report.render.sections import sections
from harness.report.render.trend import trend_sections
from harness.report.render.wording import (
    UNKNOWN,
    between,
    change_words,
    facts,
    measured_words,
    number,
    overlay_words,
    own_metrics_first,
    percent,
    percent_between,
    printable,
    printed_head,
    provenance_words,
    record_words,
    service_words,
    share,
    signed,
    signed_points,
    success_words,
    tier_words,
    unmeasured_words,
    use_words,
)
from harness.report.summary import Group, Summary
from harness.report.trend import Trend

_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_{}[]<>#|~$"} | {"&": "&amp;", "@": "&#64;"})


def summary_markdown(summary: Summary) -> str:
    """The whole summary; every failed and every unmeasured trial is named."""
    return "\n".join(_summary(summary)) + "\n"


def comparison_markdown(comparison: Comparison) -> str:
    """The whole comparison; every trial whose success changed is named."""
    return "\n".join(_comparison(comparison)) + "\n"


def trend_markdown(trend: Trend) -> str:
    """All releases that the trend holds."""
    lines = [f"# {_plain(trend.suite)}: {len(trend.releases)} releases"]
    return "\n".join([*lines, *(line for one in trend_sections(trend) if one.rows for line in _table(one))]) + "\n"


def _summary(summary: Summary) -> Iterator[str]:
    yield f"# {_plain(summary.manifest.suite)}: {_plain(summary.manifest.agent)}"
    yield ""
    yield f"**{success_words(summary.success)}**; {measured_words(summary)}."
    yield ""
    yield f"Run {_plain(summary.manifest.run)}; " + "; ".join(f"{k} {_plain(v)}" for k, v in facts(summary.manifest))
    yield from _not_measured(summary)
    yield from _parts("category", summary.categories)
    yield from _parts("difficulty", summary.difficulties)
    yield from _metrics(summary)
    for section in sections(summary):
        yield from _table(section)
    if summary.failed:
        yield from ["", "## Did not succeed", ""]
        for case in summary.failed:
            yield f"- {_plain(case.case_id)}/{case.attempt}: {_plain('; '.join(case.reasons))}"
            yield from _printed(case.printed)
    for words in (tier_words(summary), use_words(summary), provenance_words(summary)):
        if words is not None:
            yield from ["", f"{words[0].upper()}{words[1:]}."]
    lines = recorded_lines(summary)
    if lines:
        yield from ["", "## Cassettes", "", *(f"- {_plain(line.strip())}" for line in lines)]
    remarks = overlay_words(summary)
    if remarks:
        yield from ["", "## To be careful with", "", *(f"- {_plain(remark)}" for remark in remarks)]


def _not_measured(summary: Summary) -> Iterator[str]:
    words = unmeasured_words(summary)
    if words is None:
        return
    yield from ["", f"## {words[0].upper()}{words[1:]}", "", "They stand in no figure.", ""]
    for one in summary.unmeasured:
        reason = f": {_plain(one.reason)}" if one.reason else ""
        yield f"- {_plain(one.case_id)}/{one.attempt} {_plain(one.outcome)}{reason}"
        yield from (f"  - {_plain(words)}" for words in service_words(one))
        yield from _printed(one.printed)
    for miss in summary.misses:
        nearest = miss.nearest or "the cassette has none of this tool"
        yield (
            f"- no recording answers {miss.calls} call(s) of {_plain(miss.tool)}, first {_plain(miss.example)}; "
            f"nearest: {_plain(nearest)}"
        )
    if summary.misses:
        yield from ["", f"Record what is missing: `{record_words(summary)}`"]


def _printed(ends: Sequence[PrintedEnd]) -> Iterator[str]:
    for end in ends:
        yield f"  - {_plain(printed_head(end))}:"
        yield from (f"    - {_plain(line)}" for line in end.lines)


def _parts(kind: str, parts: Sequence[Group]) -> Iterator[str]:
    metrics = own_metrics_first(list(dict.fromkeys(f.metric for part in parts for f in part.figures if f.n)))
    yield from ["", f"## By {kind}", ""]
    yield from _head([kind, "trials", "success", "%", "95 %", *metrics])
    for part in parts:
        rate = part.success
        means = [number(part.mean(name)) for name in metrics]
        interval = percent_between(rate.interval)
        yield _row([part.name, str(part.trials), share(rate), percent(rate.rate), interval, *means])


def _metrics(summary: Summary) -> Iterator[str]:
    yield from ["", "## By metric", ""]
    yield from _head(["metric", "mean", "95 %", "known for"])
    for name in own_metrics_first([figure.metric for figure in summary.figures]):
        figure = summary.figure(name)
        if figure is not None:
            known = f"{figure.n} of {summary.counts.measured}"
            yield _row([name, number(figure.mean), between(figure.interval), known])
    for score in summary.run_scores:
        yield _row([score.metric, number(score.value), "", "the run"])


def _comparison(comparison: Comparison) -> Iterator[str]:
    yield f"# {_plain(comparison.before.run)} → {_plain(comparison.after.run)}"
    yield from ["", f"**{change_words(comparison)}.**"]
    if comparison.unpaired:
        yield from ["", f"{comparison.unpaired} trials have no measured counterpart and are left out."]
    yield from _changes("category", [(part.name, part.success) for part in comparison.categories])
    metrics = {change.metric: change for change in comparison.metrics}
    yield from _changes("metric", [(name, metrics[name]) for name in own_metrics_first(list(metrics))])
    for section in comparison_sections(comparison):
        yield from _table(section)
    yield from ["", f"{NOTATION}.", "", "## What it can be put down to", ""]
    yield from (f"- {_plain(line)}" for line in attribution_lines(comparison))
    yield from ["", "## What differs between the runs", ""]
    for one in comparison.differences:
        note = "" if one.note is None else f" (careful: {one.note})"
        yield f"- {_plain(one.field.replace('_', ' '))}: {_plain(one.before)} → {_plain(one.after)}{note}"
    if not comparison.differences:
        yield "Nothing else."
    if comparison.changed or comparison.hidden:
        yield from ["", "## Changed", ""]
    for case in comparison.hidden:
        why = _plain("; ".join(case.reasons))
        yield f"- {_plain(case.case_id)}/{case.attempt} succeeded before, cannot be told now: {why}"
    for case in comparison.changed:
        now = "now succeeds; was" if case.after else "now fails"
        yield f"- {_plain(case.case_id)}/{case.attempt} {now}: {_plain('; '.join(case.reasons))}"


def _changes(kind: str, changes: Sequence[tuple[str, MetricChange]]) -> Iterator[str]:
    show, sign = (percent, signed_points) if kind == "category" else (number, signed)
    yield from ["", f"## By {kind}", ""]
    yield from _head([kind, "before", "after", "change", "better", "worse", "pairs", "p", "says"])
    for name, change in changes:
        counts = [str(change.better or UNKNOWN), str(change.worse or UNKNOWN), str(change.pairs)]
        figures = (show(change.before), show(change.after), sign(change.difference), *counts)
        yield _row([name, *figures, chance(change), told(change)])


def _table(section: Section) -> Iterator[str]:
    yield from ["", f"## {section.title[0].upper()}{section.title[1:]}", ""]
    yield from _head(section.heads)
    yield from (_row(row) for row in section.rows)
    if section.notes:
        yield from ["", *(f"- {_plain(note)}" for note in section.notes)]


def _head(names: Sequence[str]) -> list[str]:
    return [_row(names), "|".join(["", "---", *["---:"] * (len(names) - 1), ""])]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_plain(cell) for cell in cells) + " |"


def _plain(text: str) -> str:
    return printable(text).translate(_SPECIAL)
