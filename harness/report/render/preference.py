"""Two runs compared by a judge, and the position bias of the judge, as tables."""

from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, RenderResult

from harness.judge import ComparisonScore
from harness.report.render.section import Section
from harness.report.render.terminal_tables import section_table
from harness.report.render.wording import percent, percent_between
from harness.stats import AgreementRate

_HEADS = ("criterion", "n", "A", "B", "tie", "turned", "B of winners", "consistent")
_NOTES = (
    "A, B: better in both orders; turned: the verdict changes with the order, which is no preference",
    "consistent: the same answer in both orders; intervals of 95 % count cases",
)


class PreferenceView:
    """Print it with a rich Console."""

    def __init__(self, title: str, scores: Sequence[ComparisonScore], notes: Sequence[str] = ()) -> None:
        rows = tuple(_row(one) for one in scores)
        self._section = Section(title=title, heads=_HEADS, rows=rows, notes=(*_failed(scores), *notes, *_NOTES))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """One table."""
        del console, options
        yield from section_table(self._section)


def _row(one: ComparisonScore) -> tuple[str, ...]:
    counts = (one.compared, one.a_better, one.b_better, one.ties, one.by_position)
    return (one.criterion, *map(str, counts), _share(one.b_preferred), _share(one.position_consistency))


def _share(rate: AgreementRate) -> str:
    interval = percent_between(rate.interval)
    return percent(rate.value) + (f" ({interval})" if interval else "")


def _failed(scores: Sequence[ComparisonScore]) -> list[str]:
    count = sum(one.failed for one in scores)
    return [f"the judge failed at {count}, which count only in n"] if count else []
