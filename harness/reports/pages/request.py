"""What a page is asked, and what it answers: the only interface between the pages and the server."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import UsageError
from harness.reports.pages.annotations import Annotations
from harness.reports.pages.drafts import RunningTries
from harness.reports.pages.markup import Markup
from harness.reports.pages.run_index import RunIndex
from harness.runs.store.folder import RunFolder


@dataclass(frozen=True, kw_only=True)
class Project:
    """The evaluation project that the app shows."""

    path: Path
    index: RunIndex
    annotations: Annotations
    tries: RunningTries

    def run(self, name: str) -> RunFolder:
        """A run by its name. Raises UsageError where there is none, ResultsError where it is damaged."""
        return RunFolder.open(self.index.place(name))


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One request. Actions get the fields of their form in `form`."""

    project: Project
    place: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)

    def number(self, name: str, default: int = 1, most: int = 1_000_000) -> int:
        """A number of the query, at least 1; the default where it is not a number."""
        text = self.query.get(name, "")
        found = int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else default
        return max(1, min(most, found))

    def attempt(self) -> int:
        """The number of the attempt in the address. Raises UsageError."""
        text = self.place.get("attempt", "")
        if not (text.isascii() and text.isdecimal() and len(text) < 9):
            raise UsageError(f"{text[:40]!r} is not an attempt")
        return int(text)


@dataclass(frozen=True, kw_only=True)
class Page:
    """A whole page, or with `part` a part that another page loads."""

    title: str
    body: Markup
    section: str = ""
    """The entry of the navigation that it belongs to."""
    modules: tuple[str, ...] = ()
    """Programs of `assets/` that it needs besides those of every page."""
    keys: tuple[tuple[str, str], ...] = ()
    """Its own keys, and what each does; `data-key` says which button or link a key stands for."""
    again_after_s: int | None = None
    """Set where the page is not complete yet, and is to be loaded again."""
    part: bool = False


@dataclass(frozen=True, kw_only=True)
class Raw:
    """A file that a page shows or offers."""

    content: bytes
    kind: str
    name: str | None = None
    """Set where it is saved, and not shown."""


Shows = Callable[[Ask], Page | Raw]
Acts = Callable[[Ask], str]
"""Carries out what a form asks for, and gives the address of the page that shows it."""


@dataclass(frozen=True, kw_only=True)
class PageSet:
    """What one module of `harness/view/pages/` adds to the app: address pattern -> what answers it."""

    shows: Mapping[str, Shows] = field(default_factory=dict)
    acts: Mapping[str, Acts] = field(default_factory=dict)
    entry: tuple[str, str] | None = None
    """Its name and address in the navigation."""
