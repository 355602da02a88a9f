"""Tables and headings of reports in a terminal."""

from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from harness.report.render.section import Section
from harness.report.render.wording import (
    printable,
)

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
