"""A summary for a terminal: readable in 80 columns, with more columns if the width permits."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from harness.reports.change import MetricChange
from harness.reports.render.sections import (
    NOTATION,
    Section,
    attribution_lines,
    chance,
    comparison_sections,
    recorded_lines,
    sections,
    trend_sections,
    verdict_of,
)
from harness.reports.render.wording import (
    UNKNOWN,
    between,
    change_words,
    facts,
    measured_words,
    miss_words,
    number,
    overlay_words,
    own_metrics_first,
    percent,
    printable,
    printed_words,
    provenance_words,
    remedy_words,
    service_words,
    share,
    signed,
    signed_points,
    success_words,
    tier_words,
    unmeasured_words,
    use_words,
)
from harness.reports.summary import FailedCase, Summary, Unmeasured
from harness.reports.summary import TrialGroup as Part
from harness.reports.trend import Trend
from harness.scoring.registry import METRICS

if TYPE_CHECKING:
    from harness.reports.compare import Comparison

# Tables and headings of reports in a terminal.

SHOWN = 10
LONGEST = 200
WIDEST = 24  # of a first column; what is longer is folded


def heading(title: str, right: str) -> RenderableType:
    """A heading of one line: the subject and the run."""
    grid = Table.grid(expand=True)
    grid.add_column(ratio=1, no_wrap=True)
    grid.add_column(justify="right", overflow="fold")
    grid.add_row(Text(printable(title), style="bold"), Text(printable(right), style="dim"))
    return grid


def section_table(section: Section) -> Iterator[RenderableType]:
    """A table with its title above and its notes below."""
    table = plain_table(section.heads[0], *section.heads[1:])
    table.columns[0].min_width = min(WIDEST, max(len(row[0]) for row in section.rows))
    for row in section.rows:
        table.add_row(words_of(row[0]), *(printable(cell) for cell in row[1:]))
    yield Text()
    yield Text(section.title, style="bold")
    yield table
    for note in section.notes:
        yield Text(f"  {printable(note, LONGEST)}", style="dim")


def coloured(words: str, lower_is_better: bool) -> Text:
    good, bad = ("-", "+") if lower_is_better else ("+", "-")
    return Text(words, style={good: "green", bad: "red"}.get(words[0], "") if len(words) > 1 else "dim")


def case_table(rows: Sequence[tuple[str, int, str]]) -> RenderableType:
    """The first few trials with the reasons."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for case_id, attempt, why in rows[:SHOWN]:
        grid.add_row(Text(f"  {printable(case_id)}/{attempt}"), Text(printable(why, LONGEST)))
    return grid


def words_of(text: str) -> Text:
    return Text(printable(text))


def and_more(count: int) -> Iterator[RenderableType]:
    if count > SHOWN:
        yield Text(f"  and {count - SHOWN} more, in the report", style="dim")


def plain_table(first: str, *others: str) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim", padding=(0, 1))
    table.add_column(first, overflow="fold", vertical="bottom")
    for name in others:
        table.add_column(name, justify="right", no_wrap=True, vertical="bottom")
    return table


_FIXED = 30  # characters of a table of parts between its first column and its metrics
_REMARKS = 10


class SummaryView:
    """Print it with a rich Console; `where` is the folder of the written report."""

    def __init__(self, summary: Summary, where: str | None = None) -> None:
        self._summary = summary
        self._where = where

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The sections in the order of importance."""
        del console
        summary, width = self._summary, options.max_width
        yield heading(f"{summary.manifest.suite} · {summary.manifest.agent}", summary.manifest.run)
        yield _facts(summary)
        yield Text()
        yield _verdict(summary)
        yield from _not_measured(summary)
        metrics = _fitting([*summary.categories, *summary.difficulties], width)
        yield from _parts("category", summary.categories, metrics)
        yield from _parts("difficulty", summary.difficulties, metrics)
        yield from _metrics(summary)
        for section in sections(summary):
            yield from section_table(section)
        yield from _failures(summary.failed)
        yield from _footer(summary, self._where)


def _facts(summary: Summary) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    for name, value in facts(summary.manifest):
        isolated = summary.manifest.isolates or name != "sandbox"
        grid.add_row(Text(name, style="dim"), Text(printable(value), style="" if isolated else "bold yellow"))
    return grid


def _verdict(summary: Summary) -> RenderableType:
    return Group(Text(success_words(summary.success), style="bold"), Text(measured_words(summary), style="dim"))


def _not_measured(summary: Summary) -> Iterator[RenderableType]:
    words = unmeasured_words(summary)
    if words is None:
        return
    yield Text()
    yield Text(f"{words}; they are in no figure", style="bold yellow")
    yield case_table([(one.case_id, one.attempt, _why(one)) for one in summary.unmeasured])
    yield from and_more(len(summary.unmeasured))
    for one in summary.unmeasured[:SHOWN]:
        for said in service_words(one):
            yield Text(f"  {printable(f'{one.case_id}/{one.attempt}')}  {printable(said, LONGEST)}", style="dim")
        if one.printed:
            yield Text(f"  {printable(f'{one.case_id}/{one.attempt}')}", style="dim")
            yield from (Text(f"    {words}", style="dim") for words in printed_words(one.printed, LONGEST))
    for miss in summary.misses:
        said, nearest = miss_words(miss)
        yield Text(printable(said))
        if nearest is not None:
            yield Text(f"  nearest  {printable(nearest)}")
    if summary.misses:
        purpose, remedy = remedy_words(summary)
        yield Text.assemble((f"{purpose}:  ", "dim"), remedy)


def _why(one: Unmeasured) -> str:
    outcome = one.outcome.replace("_", " ")
    return f"{outcome}: {one.reason}" if one.reason else outcome


def _parts(kind: str, parts: Sequence[Part], metrics: Sequence[str]) -> Iterator[RenderableType]:
    heads = [name.replace("_", "\n", 1).replace("_", " ") for name in metrics]
    table = plain_table(kind, "n", "success", "%", "95 %", *heads)
    for part in parts:
        rate = part.success
        interval = "" if rate.interval is None else f"{100 * rate.interval.low:.0f}-{100 * rate.interval.high:.0f}"
        shown = UNKNOWN if rate.rate is None else f"{100 * rate.rate:.0f}"
        means = [number(part.mean(name)) for name in metrics]
        table.add_row(words_of(part.name.replace("_", " ")), str(part.trials), share(rate), shown, interval, *means)
    yield Text()
    yield table


def _fitting(parts: Sequence[Part], width: int) -> list[str]:
    """As many metrics as fit, the suite's own first."""
    room = width - _FIXED - max((len("difficulty"), *(len(printable(part.name)) for part in parts)))
    room -= max((0, *(len(share(part.success)) - len("success") for part in parts)))  # "5/18 (6 unknown)"
    names = own_metrics_first(list(dict.fromkeys(one.metric for part in parts for one in part.figures if one.n)))
    chosen: list[str] = []
    for name in names:
        room -= 3 + max(5, *(len(line) for line in name.split("_", 1)))
        if room < 0:
            break
        chosen.append(name)
    return chosen


def _metrics(summary: Summary) -> Iterator[RenderableType]:
    table = plain_table("mean by metric", "mean", "95 %", "known for")
    for name in own_metrics_first([figure.metric for figure in summary.figures]):
        figure = summary.figure(name)
        if figure is not None and (figure.n or name not in METRICS):
            known = f"{figure.n} of {summary.counts.measured}"
            table.add_row(printable(name), number(figure.mean), between(figure.interval), known)
    for score in summary.run_scores:
        table.add_row(printable(score.metric), number(score.value), "", "the run")
    yield Text()
    yield table
    unknown = [figure.metric for figure in summary.figures if not figure.n and figure.metric in METRICS]
    if unknown and summary.counts.measured:
        names = ", ".join(name.replace("_", " ") for name in unknown)
        yield Text(f"  known for no trial: {names}", style="dim")


def _failures(failed: Sequence[FailedCase]) -> Iterator[RenderableType]:
    if not failed:
        return
    yield Text()
    yield Text("without success", style="bold")
    unknown = {True: "", False: "", None: "could not tell: "}
    for one in failed[:SHOWN]:
        yield case_table([(one.case_id, one.attempt, unknown[one.success] + "; ".join(one.reasons))])
        yield from (Text(f"    {words}", style="dim") for words in printed_words(one.printed, LONGEST))
    yield from and_more(len(failed))


def _footer(summary: Summary, where: str | None) -> Iterator[RenderableType]:
    yield Text()
    lines = (tier_words(summary), use_words(summary), provenance_words(summary))
    yield from (Text(words, style="dim") for words in lines if words is not None)
    yield from (Text(printable(line), style="dim") for line in recorded_lines(summary))
    remarks = overlay_words(summary)
    yield from (Text(printable(remark), style="yellow") for remark in remarks[:_REMARKS])
    if len(remarks) > _REMARKS:
        yield Text(f"and {len(remarks) - _REMARKS} more warnings (in the report)", style="yellow")
    if where is not None:
        yield Text.assemble(("report  ", "dim"), where, overflow="fold")


# A comparison for a terminal.


class ComparisonView:
    """Print it with a rich Console."""

    def __init__(self, comparison: "Comparison") -> None:
        self._comparison = comparison

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The conclusion, then the figures, then other differences."""
        del console, options
        comparison = self._comparison
        before, after = comparison.before, comparison.after
        yield heading(f"{before.agent} → {after.agent}", f"{before.run} → {after.run}")
        yield Text(change_words(comparison), style="bold")
        if comparison.unpaired:
            yield Text(f"{comparison.unpaired} trials without a measured counterpart are omitted", style="yellow")
        yield from _changes("category", [(part.name, part.success) for part in comparison.categories])
        metrics = {change.metric: change for change in comparison.metrics}
        known = [name for name in own_metrics_first(list(metrics)) if metrics[name].pairs]
        yield from _changes("metric", [(name, metrics[name]) for name in known])
        for section in comparison_sections(comparison):
            yield from section_table(section)
        yield Text(f"\n{NOTATION}", style="dim")
        yield from _changed_cases(comparison)
        yield Text()
        for place, line in enumerate(attribution_lines(comparison)):
            yield Text(printable(line) if not place else f"  {printable(line)}", style="dim" if place else "bold")
        yield from _differences(comparison)


def _changes(kind: str, changes: Sequence[tuple[str, MetricChange]]) -> Iterator[RenderableType]:
    of_success = kind == "category"
    show = percent if of_success else number
    sign = signed_points if of_success else signed
    title = "success by category" if of_success else "mean by metric"
    table = plain_table(title, "before", "after", "change", "better", "worse", "pairs", "p", "says")
    for name, change in changes:
        counts = [str(count or UNKNOWN) for count in (change.better, change.worse)]
        words = words_of(name.replace("_", " ") if of_success else name)
        difference = coloured(sign(change.difference), change.lower_is_better)
        rest = [*counts, str(change.pairs), chance(change), verdict_of(change)]
        table.add_row(words, show(change.before), show(change.after), difference, *rest)
    yield Text()
    yield table


def _changed_cases(comparison: "Comparison") -> Iterator[RenderableType]:
    for title, after in (("now succeed", True), ("now fail", False)):
        found = [case for case in comparison.changed if case.after is after]
        if found:
            was = "failed on " if after else "fails on "
            yield Text()
            yield Text(f"{len(found)} {title}", style="bold green" if after else "bold red")
            yield case_table([(case.case_id, case.attempt, was + "; ".join(case.reasons)) for case in found])
            yield from and_more(len(found))
    if comparison.hidden:
        yield Text()
        yield Text(
            f"{len(comparison.hidden)} succeeded before and are unknown now; gates count them as lost",
            style="bold red",
        )
        yield case_table([(case.case_id, case.attempt, "; ".join(case.reasons)) for case in comparison.hidden])
        yield from and_more(len(comparison.hidden))


def _differences(comparison: "Comparison") -> Iterator[RenderableType]:
    yield Text()
    if not comparison.differences:
        yield Text("the two runs have no other differences", style="dim")
        return
    yield Text("differences between the runs", style="bold")
    for one in comparison.differences:
        words = printable(f"{one.field.replace('_', ' ')}: {one.before} → {one.after}")
        yield Text(f"  {words}", style="dim" if one.note is None else "")
        if one.note is not None:
            yield Text(f"    warning: {one.note}", style="yellow")


# A trend for a terminal.

_HEAD = 9
"""Characters of a release's name, so that a dozen fit side by side."""


class TrendView:
    """Print it with a rich Console."""

    def __init__(self, trend: Trend) -> None:
        self._trend = trend

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Metrics, then failure modes."""
        del console, options
        first, last = self._trend.releases[0], self._trend.releases[-1]
        yield heading(self._trend.suite, f"{first.name} → {last.name}")
        for section in trend_sections(self._trend, widest=_HEAD):
            if section.rows:
                yield from section_table(section)
