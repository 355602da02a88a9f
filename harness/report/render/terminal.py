"""A summary for a terminal: readable in 80 columns, with more columns if the width permits."""

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from harness.report.figures.summary import FailedCase, Summary, Unmeasured
from harness.report.figures.summary import TrialGroup as Part
from harness.report.render.recorded import recorded_lines
from harness.report.render.sections import sections
from harness.report.render.terminal_tables import (
    LONGEST,
    SHOWN,
    and_more,
    case_table,
    heading,
    plain_table,
    section_table,
    words_of,
)
from harness.report.render.wording import (
    UNKNOWN,
    between,
    facts,
    measured_words,
    miss_words,
    number,
    overlay_words,
    own_metrics_first,
    printable,
    printed_words,
    provenance_words,
    remedy_words,
    service_words,
    share,
    success_words,
    tier_words,
    unmeasured_words,
    use_words,
)
from harness.score import METRICS

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
