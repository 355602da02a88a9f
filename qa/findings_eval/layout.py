"""How the evaluation prints: tables, shares, and the figures to reach."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Figure(NamedTuple):
    """A row of the table of figures to reach."""

    what: str
    goal: str
    measured: str
    note: str
    """Whether the rules were tuned on the data, and what else a reader must know."""


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Prints one table."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    print(f"\n{title}")
    for number, row in enumerate(cells):
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        if number == 0:
            print("  " + "  ".join("-" * width for width in widths))


def share(part: int, whole: int) -> str:
    """`31/34 (91.2 %)`."""
    return f"{part}/{whole}" + (f" ({100 * part / whole:.1f} %)" if whole else "")
