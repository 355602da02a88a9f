"""A table, independent of the rendering."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Section:
    """A table of texts: the first column names the row, the others are figures; `notes` are printed below."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
