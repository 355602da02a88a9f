"""A summary as Markdown, for pull requests and for reading later."""

import re
from collections.abc import Iterator, Sequence

from harness.report.figures.printed import PrintedEnd
from harness.report.figures.summary import Summary, TrialGroup
from harness.report.render.recorded import recorded_lines
from harness.report.render.section import Section
from harness.report.render.sections import sections
from harness.report.render.wording import (
    between,
    facts,
    measured_words,
    miss_words,
    number,
    overlay_words,
    own_metrics_first,
    percent,
    percent_between,
    printable,
    printed_head,
    provenance_words,
    remedy_words,
    service_words,
    share,
    success_words,
    tier_words,
    unmeasured_words,
    use_words,
)

_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_{}[]<>#|~$"} | {"&": "&amp;"})
_FOUND_BY_TRACKERS = re.compile(r"@(?=[\w`-])|[#!&](?=\d)|\bGH-(?=\d)|:(?=//)|\bwww(?=\.)", re.IGNORECASE)
"""Mentions, numbers of issues, and addresses, which are looked for in the text as it is shown: no escape hides them."""
_BREAK = "\u200b"


def summary_markdown(summary: Summary) -> str:
    """The whole summary; every failed and every unmeasured trial is named."""
    return "\n".join(_summary(summary)) + "\n"


def _summary(summary: Summary) -> Iterator[str]:
    yield f"# {plain(summary.manifest.suite)}: {plain(summary.manifest.agent)}"
    yield ""
    yield f"**{success_words(summary.success)}**; {measured_words(summary)}."
    yield ""
    yield f"Run {plain(summary.manifest.run)}; " + "; ".join(f"{k} {plain(v)}" for k, v in facts(summary.manifest))
    yield from _not_measured(summary)
    yield from _parts("category", summary.categories)
    yield from _parts("difficulty", summary.difficulties)
    yield from _metrics(summary)
    for section in sections(summary):
        yield from section_lines(section)
    if summary.failed:
        yield from ["", "## Trials without success", ""]
        for case in summary.failed:
            yield f"- {plain(case.case_id)}/{case.attempt}: {plain('; '.join(case.reasons))}"
            yield from _printed(case.printed)
    for words in (tier_words(summary), use_words(summary), provenance_words(summary)):
        if words is not None:
            yield from ["", f"{words[0].upper()}{words[1:]}."]
    lines = recorded_lines(summary)
    if lines:
        yield from ["", "## Cassettes", "", *(f"- {plain(line.strip())}" for line in lines)]
    remarks = overlay_words(summary)
    if remarks:
        yield from ["", "## Warnings", "", *(f"- {plain(remark)}" for remark in remarks)]


def _not_measured(summary: Summary) -> Iterator[str]:
    words = unmeasured_words(summary)
    if words is None:
        return
    yield from ["", f"## {words[0].upper()}{words[1:]}", "", "They are not counted in any figure.", ""]
    for one in summary.unmeasured:
        reason = f": {plain(one.reason)}" if one.reason else ""
        yield f"- {plain(one.case_id)}/{one.attempt} {plain(one.outcome)}{reason}"
        yield from (f"  - {plain(words)}" for words in service_words(one))
        yield from _printed(one.printed)
    for miss in summary.misses:
        said, nearest = miss_words(miss)
        yield f"- {plain(said)}" + ("" if nearest is None else f"; nearest: {plain(nearest)}")
    if summary.misses:
        purpose, remedy = remedy_words(summary)
        yield from ["", f"{purpose[0].upper()}{purpose[1:]}: `{remedy.replace('`', '')}`"]


def _printed(ends: Sequence[PrintedEnd]) -> Iterator[str]:
    for end in ends:
        yield f"  - {plain(printed_head(end))}:"
        yield from (f"    - {plain(line)}" for line in end.lines)


def _parts(kind: str, parts: Sequence[TrialGroup]) -> Iterator[str]:
    metrics = own_metrics_first(list(dict.fromkeys(f.metric for part in parts for f in part.figures if f.n)))
    yield from ["", f"## By {kind}", ""]
    yield from table_head([kind, "trials", "success", "%", "95 %", *metrics])
    for part in parts:
        rate = part.success
        means = [number(part.mean(name)) for name in metrics]
        interval = percent_between(rate.interval)
        yield table_row([part.name, str(part.trials), share(rate), percent(rate.rate), interval, *means])


def _metrics(summary: Summary) -> Iterator[str]:
    yield from ["", "## By metric", ""]
    yield from table_head(["metric", "mean", "95 %", "known for"])
    for name in own_metrics_first([figure.metric for figure in summary.figures]):
        figure = summary.figure(name)
        if figure is not None:
            known = f"{figure.n} of {summary.counts.measured}"
            yield table_row([name, number(figure.mean), between(figure.interval), known])
    for score in summary.run_scores:
        yield table_row([score.metric, number(score.value), "", "the run"])


def section_lines(section: Section) -> Iterator[str]:
    """A section's heading, table and notes."""
    yield from ["", f"## {section.title[0].upper()}{section.title[1:]}", ""]
    yield from table_head(section.heads)
    yield from (table_row(row) for row in section.rows)
    if section.notes:
        yield from ["", *(f"- {plain(note)}" for note in section.notes)]


def table_head(names: Sequence[str]) -> list[str]:
    """A table's first two lines; the first column is text, the others are figures."""
    return [table_row(names), "|".join(["", "---", *["---:"] * (len(names) - 1), ""])]


def table_row(cells: Sequence[str]) -> str:
    """A table's line, every cell escaped."""
    return "| " + " | ".join(plain(cell) for cell in cells) + " |"


def plain(text: str) -> str:
    """Escapes untrusted text for Markdown: no markup, mention, link or HTML remains active."""
    return _FOUND_BY_TRACKERS.sub(lambda found: found[0] + _BREAK, printable(text)).translate(_SPECIAL)
