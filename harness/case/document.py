"""One file that a person wrote, with the data that error messages need to locate a problem."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from harness.documents import Location, read_plain, shaped
from harness.errors import InvalidDocument

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Document:
    """A read file: its plain data and the line of each location."""

    path: Path
    data: Any
    lines: dict[Location, int]

    def shaped(self, shape: type[T], data: Any = None, *at: int | str) -> T:
        """Validates the whole document, or `data` at a location of it, as `shape`."""
        return shaped(self.path, self.data if data is None else data, shape, self.lines, at)

    def refuse(self, *at: int | str, problem: str, remedy: str | None = None) -> NoReturn:
        """Raises InvalidDocument for the value at a location."""
        field = ".".join(str(part) for part in at) or None
        raise InvalidDocument(self.path, problem, line=self.line(*at), field=field, remedy=remedy)

    def line(self, *at: int | str) -> int | None:
        """The line of a location, or of the nearest one around it; None where the format keeps no lines."""
        return next((self.lines[at[:n]] for n in range(len(at), -1, -1) if at[:n] in self.lines), None)


def open_document(path: Path) -> Document:
    """Reads a file; raises InvalidDocument where it is missing or malformed."""
    data, lines = read_plain(path)
    return Document(path=path, data=data, lines=lines)
