"""What a page is asked, and what it answers: the only interface between the pages and what serves or writes them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self, TypeVar
from urllib.parse import unquote

from harness.errors import UsageError
from harness.reports.pages.annotations import Annotations, Recent
from harness.reports.pages.markup import PER_PAGE, Child, Markup, fragment, link, pager, pages_of, tag, whole_number
from harness.reports.pages.run_index import RunIndex
from harness.runs.store.folder import RunFolder

_Item = TypeVar("_Item")
_KEPT: Final = 12


@dataclass(frozen=True, kw_only=True)
class Project:
    """The evaluation project that the app shows."""

    path: Path
    index: RunIndex
    annotations: Annotations
    made: Recent[Any] = field(default_factory=lambda: Recent(_KEPT))
    """What takes seconds of long runs, by the states of the runs."""
    opened: Mapping[str, RunFolder] = field(default_factory=dict)
    """Runs that are opened once, as their pages are written to files; the app looks anew for each page."""

    @classmethod
    def stored(cls, path: Path, *opened: RunFolder) -> Self:
        """A project whose pages are shown. `opened`: runs that may lie outside of the project."""
        runs = {one.manifest.run: one for one in opened}
        index = RunIndex(path / "runs", {name: one.path for name, one in runs.items()})
        return cls(path=path, index=index, annotations=Annotations(path), opened=runs)

    def run(self, name: str) -> RunFolder:
        """A run by its name. Raises UsageError where there is none, ResultsError where it is damaged."""
        return self.opened.get(name) or RunFolder.open(self.index.place(name))


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One request. Actions get the fields of their form in `form`."""

    project: Project
    place: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)
    ticked: Sequence[str] = ()
    """The runs that were ticked in a list: every `run` of the query."""
    texts: int | None = None
    """Characters of one text on a page that is written to a file; None: the app, which loads the rest when asked."""

    def number(self, name: str, default: int = 1, most: int = 1_000_000) -> int:
        """A number of the query, at least 1; the default where it is not a number."""
        found = whole_number(self.query.get(name, ""))
        return max(1, min(most, default if found is None else found))

    def part(
        self, items: Sequence[_Item], path: str, per_page: int = PER_PAGE, **query: str
    ) -> tuple[Sequence[_Item], Markup]:
        """The items of the page of a list that is asked for, and links to the pages before and after."""
        pages = pages_of(len(items), per_page)
        number = self.number("page", most=pages)
        return items[(number - 1) * per_page : number * per_page], pager(number, pages, path, {**self.query, **query})

    def attempt(self) -> int:
        """The number of the attempt in the address. Raises UsageError."""
        found = whole_number(text := self.place.get("attempt", ""))
        if found is None:
            raise UsageError(f"{text[:40]!r} is not an attempt")
        return found


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

    @classmethod
    def of(
        cls,
        title: str,
        *content: Child,
        section: str,
        up: tuple[str, str] | None = None,
        beside: Child = None,
        modules: tuple[str, ...] = (),
    ) -> Self:
        """A page with its title. `up`: the page above it, by address and name. `beside`: stands beside the title."""
        head = tag("h1", title)
        return cls(
            title=title,
            body=fragment(
                tag("p", link(*up, data_up=True), class_="crumbs") if up is not None else None,
                head if beside is None else tag("div", head, beside, class_="title"),
                *content,
            ),
            section=section,
            modules=modules,
        )


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
    """What one module of `pages/` adds to the app: address pattern -> what answers it."""

    shows: Mapping[str, Shows] = field(default_factory=dict)
    acts: Mapping[str, Acts] = field(default_factory=dict)
    entry: tuple[str, str, str] | None = None
    """Its place in the navigation, its name in the row below the places, and its address."""


_Answers = TypeVar("_Answers")


def pattern(path: str) -> re.Pattern[str]:
    """`/runs/{run}` as a pattern over the quoted path: a quoted slash in a name divides nothing."""
    return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(path)))


def matching(known: Sequence[tuple[re.Pattern[str], _Answers]], path: str) -> tuple[_Answers | None, Mapping[str, str]]:
    """What answers a quoted path, and the parts of the path by name."""
    for own, found in known:
        if (match := own.fullmatch(path)) is not None:
            return found, {name: unquoted(text) for name, text in match.groupdict().items()}
    return None, {}


def unquoted(text: str) -> str:
    """A part of an address as text."""
    return unquote(text, errors="replace")
