"""A summary for a terminal: readable in 80 columns, with more columns if the width permits."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, ParamSpec

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from harness.reports.render.sections import (
    MARK,
    NOTATION,
    Section,
    attribution_lines,
    comparison_sections,
    figure_sections,
    judged_section,
    metrics_of,
    recorded_lines,
    trend_sections,
)
from harness.reports.render.wording import (
    change_words,
    facts,
    failure_words,
    measured_words,
    miss_words,
    overlay_words,
    printable,
    printed_words,
    provenance_words,
    reason_words,
    remedy_words,
    service_words,
    share,
    success_words,
    tier_words,
    unmeasured_words,
    use_words,
)
from harness.reports.summary import FailedCase, Summary, Unmeasured
from harness.reports.summary import TrialGroup as Part
from harness.reports.trend import Trend

if TYPE_CHECKING:
    from harness.reports.compare import CaseChange, Comparison

# Tables and headings of reports in a terminal.

Given = ParamSpec("Given")
SHOWN = 10
LONGEST = 200
_STYLES = {"better": "green", "worse": "red"}
WIDEST = 24  # of a first column; what is longer is folded


def view(parts: Callable[Given, Iterable[RenderableType]]) -> Callable[Given, Group]:
    """The parts as one thing to print with a rich Console."""
    return lambda *args, **fields: Group(*parts(*args, **fields))


def heading(title: str, right: str) -> RenderableType:
    """A heading of one line: the subject and the run."""
    grid = Table.grid(expand=True)
    grid.add_column(ratio=1, no_wrap=True)
    grid.add_column(justify="right", overflow="fold")
    grid.add_row(Text(printable(title), style="bold"), Text(printable(right), style="dim"))
    return grid


def section_table(section: Section) -> Iterator[RenderableType]:
    """A table with its title above and its notes below."""
    heads = (head.replace("_", "\n", 1).replace("_", " ") for head in section.heads[1:])
    table = plain_table(section.heads[0], *heads)
    table.columns[0].min_width = min(WIDEST, max((len(row[0]) for row in section.rows), default=0))
    for row in section.rows:
        table.add_row(
            Text(printable(row[0])), *(Text(printable(cell), style=_STYLES.get(cell, "")) for cell in row[1:])
        )
    yield Text()
    yield Text(section.title, style="bold")
    yield table
    for note in section.notes:
        yield Text(f"  {printable(note, LONGEST)}", style="dim")


def case_table(rows: Sequence[tuple[str, int, str]]) -> RenderableType:
    """The first few trials with the reasons."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for case_id, attempt, why in rows[:SHOWN]:
        grid.add_row(Text(f"  {printable(case_id)}/{attempt}"), Text(printable(why, LONGEST)))
    return grid


def and_more(count: int) -> Iterator[RenderableType]:
    if count > SHOWN:
        yield Text(f"  and {count - SHOWN} more, in the report", style="dim")


def plain_table(first: str, *others: str) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim", padding=(0, 1))
    table.add_column(first, overflow="fold", vertical="bottom")
    for name in others:
        table.add_column(name, justify="right", no_wrap=True, vertical="bottom")
    return table


_FIXED = 42  # characters of a table of parts between its first column and its metrics
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
        metrics = _fitting(summary.categories, width)
        for section in figure_sections(summary, metrics):
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


def _fitting(parts: Sequence[Part], width: int) -> list[str]:
    """As many metrics as fit, the suite's own first."""
    room = width - _FIXED - max((len("category"), *(len(printable(part.name)) for part in parts)))
    room -= max((0, *(len(share(part.success)) - len("passed") for part in parts)))  # "5/18 (6 unknown)"
    names = metrics_of(parts)
    chosen: list[str] = []
    for name in names:
        room -= 3 + max(5, *(len(line) for line in name.split("_", 1)))
        if room < 0:
            break
        chosen.append(name)
    return chosen


def _failures(failed: Sequence[FailedCase]) -> Iterator[RenderableType]:
    if not failed:
        return
    yield Text()
    yield Text("did not pass", style="bold")
    unknown = {True: "", False: "", None: "could not tell: "}
    for one in failed[:SHOWN]:
        yield case_table([(one.case_id, one.attempt, unknown[one.success] + failure_words(one))])
        yield from (Text(f"    {words}", style="dim") for words in printed_words(one.printed, LONGEST))
    yield from and_more(len(failed))


def _footer(summary: Summary, where: str | None) -> Iterator[RenderableType]:
    yield Text()
    if (used := use_words(summary)) is not None:
        yield Text(used, style="dim")
    yield from _remarks(summary)
    if where is not None:
        yield Text.assemble(("report  ", "dim"), where, overflow="fold")


def _remarks(summary: Summary) -> Iterator[RenderableType]:
    lines = (tier_words(summary), provenance_words(summary))
    yield from (Text(words, style="dim") for words in lines if words is not None)
    yield from (Text(printable(line), style="dim") for line in recorded_lines(summary))
    remarks = overlay_words(summary)
    yield from (Text(printable(remark), style="yellow") for remark in remarks[:_REMARKS])
    if len(remarks) > _REMARKS:
        yield Text(f"and {len(remarks) - _REMARKS} more warnings (in the report)", style="yellow")


# A first report: what decides whether somebody reads on, in few lines.

_LINES = 25


class FirstLines:
    """Parts in at most 25 lines together: short ones as they are, the others with equal shares, the last one whole."""

    def __init__(self, *parts: Iterable[RenderableType]) -> None:
        self._parts = [Group(*part) for part in parts]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The shares are dealt from the shortest part to the longest."""
        *parts, last = (console.render_lines(part, options.update(height=None), pad=False) for part in self._parts)
        room, shown = _LINES - len(last), dict[int, list[list[Segment]]]()
        for place in sorted(range(len(parts)), key=lambda one: len(parts[one])):
            most, lines = room // (len(parts) - len(shown)), parts[place]
            shown[place] = lines if len(lines) <= most else [*lines[: most - 1], [Segment("  …")]]
            room -= len(shown[place])
        for line in (*(line for place in range(len(parts)) for line in shown[place]), *last):
            yield from line
            yield Segment.line()


def first_report(summary: Summary, where: str | None, more: str | None = None) -> FirstLines:
    """Success, what failed and why, and the cost. `more`: the command that shows all figures."""
    return FirstLines(
        [heading(f"{summary.manifest.suite} · {summary.manifest.agent}", summary.manifest.run), _verdict(summary)],
        [Text(f"{one.kind} {one.name} failed itself: {printable(one.raised)}") for one in summary.failed_code],
        _not_measured(summary),
        _first_failures(summary),
        [Text(f"{part.title}: {part.notes[0]}") for part in map(judged_section, summary.judged)],
        _remarks(summary),
        _pointers(summary, where, more or f"harness report {summary.manifest.run} --all"),
    )


def _first_failures(summary: Summary) -> Iterator[RenderableType]:
    if summary.failed:
        modes = ", ".join(f"{mode.failure.replace('_', ' ')} {mode.trials}" for mode in summary.failure_modes)
        yield Text.assemble((f"\n{len(summary.failed)} did not pass", "bold"), f": {modes}" if modes else "")
        unknown: dict[bool | None, str] = {None: "could not tell: "}
        yield case_table(
            [(one.case_id, one.attempt, unknown.get(one.success, "") + failure_words(one)) for one in summary.failed]
        )


def _pointers(summary: Summary, where: str | None, more: str) -> Iterator[RenderableType]:
    if (used := use_words(summary)) is not None:
        yield Text(used, style="dim")
    if where is not None:
        yield Text.assemble(("report  ", "dim"), where, overflow="fold")
    yield Text.assemble(("more    ", "dim"), more, overflow="fold")


# A comparison for a terminal.


@view
def comparison_view(comparison: "Comparison") -> Iterator[RenderableType]:
    """The conclusion, then the figures, then other differences."""
    before, after = comparison.before, comparison.after
    yield heading(f"{before.agent} → {after.agent}", f"{before.run} → {after.run}")
    yield Text(change_words(comparison), style="bold")
    if comparison.unpaired:
        yield Text(f"{comparison.unpaired} trials without a measured counterpart are omitted", style="yellow")
    for section in comparison_sections(comparison):
        yield from section_table(section)
    yield Text(f"\n{NOTATION}", style="dim")
    yield from _changed_cases(comparison)
    yield from _attribution(comparison)
    yield from _differences(comparison)


def first_comparison(comparison: "Comparison", name: str) -> FirstLines:
    """The conclusion, the cases and figures that changed, and what may be the cause. `name`: of the run before, or
    that of the baseline.
    """
    before, after = comparison.before, comparison.after
    changed = [
        Text(f"{row[0]}: {row[1]} → {row[2]}, {row[-1]}", style=_STYLES[row[-1]])
        for section in comparison_sections(comparison)
        for row in section.rows
        if row[-1] in _STYLES
    ]
    warnings = [Text(f"warning: {one.note}", style="yellow") for one in comparison.differences if one.note is not None]
    return FirstLines(
        [heading(f"{before.agent} → {after.agent}", f"{before.run} → {after.run}")],
        [Text(change_words(comparison), style="bold"), *warnings],
        _changed_cases(comparison),
        [Text(), *changed] if changed else [],
        _attribution(comparison),
        [Text.assemble(("more    ", "dim"), f"harness compare {name} {after.run} --all", overflow="fold")],
    )


def _attribution(comparison: "Comparison") -> Iterator[RenderableType]:
    yield Text()
    for place, line in enumerate(attribution_lines(comparison)):
        yield Text(printable(line) if not place else f"  {printable(line)}", style="dim" if place else "bold")


def _changed_cases(comparison: "Comparison") -> Iterator[RenderableType]:
    lost = [case for case in comparison.changed if not case.after]
    if lost:
        yield from _cases(f"{len(lost)} now fail", "bold red", [(one, reason_words(one.reasons)) for one in lost])
    if comparison.hidden:
        title = f"{len(comparison.hidden)} passed before and are unknown now; gates count them as lost"
        yield from _cases(title, "bold red", [(one, reason_words(one.reasons)) for one in comparison.hidden])
    won = [case for case in comparison.changed if case.after]
    if won:
        yield from _cases(f"{len(won)} now pass", "bold green", [(one, "") for one in won])


def _cases(title: str, style: str, cases: Sequence[tuple["CaseChange", str]]) -> Iterator[RenderableType]:
    yield Text()
    yield Text(title, style=style)
    yield case_table([(one.case_id, one.attempt, why) for one, why in cases])
    yield from and_more(len(cases))


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


@view
def trend_view(trend: Trend) -> Iterator[RenderableType]:
    """A row for each agent and model, then metrics and failure modes of each."""
    yield _releases(trend)
    for section in trend_sections(trend, widest=_HEAD):
        yield from section_table(section)


def first_trend(trend: Trend) -> FirstLines:
    """A row for each agent and model, and the flagged figures."""
    passed, *others = trend_sections(trend, widest=_HEAD)
    return FirstLines(
        [_releases(trend), *section_table(passed)],
        [Text(note, style="red") for section in others for note in section.notes if note.startswith(MARK)],
        [Text.assemble(("more    ", "dim"), f"harness trend {trend.suite} --all", overflow="fold")],
    )


def _releases(trend: Trend) -> RenderableType:
    return heading(trend.suite, f"{trend.releases[0]} → {trend.releases[-1]}")
