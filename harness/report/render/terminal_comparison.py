"""A comparison for a terminal."""

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from harness.report.comparison.change import MetricChange
from harness.report.comparison.compare import Comparison
from harness.report.render.comparison_words import change_words
from harness.report.render.differences import NOTATION, attribution_lines, chance, comparison_sections, verdict_of
from harness.report.render.terminal_tables import (
    and_more,
    case_table,
    coloured,
    heading,
    plain_table,
    section_table,
    words_of,
)
from harness.report.render.wording import (
    UNKNOWN,
    number,
    own_metrics_first,
    percent,
    printable,
    signed,
    signed_points,
)


class ComparisonView:
    """Print it with a rich Console."""

    def __init__(self, comparison: Comparison) -> None:
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


def _changed_cases(comparison: Comparison) -> Iterator[RenderableType]:
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


def _differences(comparison: Comparison) -> Iterator[RenderableType]:
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
