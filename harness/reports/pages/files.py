"""The pages of a run in files: one self-contained file, or a folder of linked pages.

The pages are those of the app: their functions are asked for each address that a link of the run's page leads to. A
file needs no server and runs no program, so forms and buttons are taken out, and a link to something that is not
written becomes plain text. Pages are markup by construction: a quotation mark in a text is escaped, so that `href="`
is always an attribute.
"""

import base64
import hashlib
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from importlib.resources import files
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote

from harness.disk import write_output
from harness.errors import NotMeasured, ResultsError, UsageError
from harness.reports.compare import compare_with_baseline
from harness.reports.pages import compare, run, trial
from harness.reports.pages.markup import Markup, document, fragment, link, path_of, plain, tag
from harness.reports.pages.request import Ask, Page, Project, Raw, Shows, matching, pattern
from harness.reports.pages.run import LISTED
from harness.reports.palette import palette
from harness.runs.store.baseline import read_baseline
from harness.runs.store.folder import RunFolder, gc_paused
from harness.values import canonical_json

_BUDGET = 24_000_000
"""Characters of the single file without pictures; what no longer fits is left out."""
_PICTURES = 12_000_000
_SITE_TEXT = 200_000
_FILE_TEXTS = ((10, 40_000), (100, 6000), (1000, 1500), (1_000_000_000, 400))
"""Trials of the run, and characters of one text in the single file."""
_SITE_STYLE = "style.css"
_MARK = "/* Style of a site of `harness report`. */\n"
_LINK = re.compile(r' (href|src)="([^"]*)"')
_IDENTIFIED = re.compile(r' (id|for|aria-labelledby)="([^"]*)"')
_PROGRAMS = re.compile(r"<form[ >].*?</form>|<button[ >].*?</button>|<progress[ >].*?</progress>", re.DOTALL)
_DATA = re.compile(r' data-[a-z-]+="[^"]*"')


@dataclass(frozen=True, kw_only=True)
class _Written:
    address: str
    title: str
    body: str


class _RunPages:
    """The pages of one run, and of its comparison with another run or with the baseline of its suite."""

    def __init__(self, project: Path, folder: RunFolder, against: RunFolder | None, texts: int) -> None:
        known = [one for one in (folder, against) if one is not None]
        self.name = folder.manifest.run
        self._before = None if against is None else against.manifest.run
        if self._before == self.name:
            raise UsageError(f"run {self.name!r} is not compared with itself", remedy="name another run: --against RUN")
        self._project = Project.stored(project, *known)
        self._trials = {(one.case_id, str(one.attempt)) for one in self._project.index.lines(self.name)}
        self._texts = texts
        self._shows: list[tuple[re.Pattern[str], Shows]] = [
            (pattern(path), shows) for one in (run, trial, compare) for path, shows in one.PAGES.shows.items()
        ]
        self.first = path_of("runs", self.name)
        self.comparison: str | None = None
        if against is not None or _has_baseline(project, folder):
            self.comparison = path_of("compare", before=self._before, after=self.name)

    def pages(self, goes_on: Callable[[int], bool]) -> Iterator[_Written]:
        """Each page once, the run's own first; `goes_on` is asked with the characters so far."""
        waiting = deque(one for one in (self.first, self.comparison) if one is not None)
        seen, size = set(waiting), 0
        while waiting and goes_on(size):
            address = waiting.popleft()
            page = self._page(address)
            size += len(page.body)
            yield _Written(address=address, title=page.title, body=str(page.body))
            for found in _LINK.finditer(page.body):
                target = _address(found[2])
                if target not in seen and self.is_page(target):
                    seen.add(target)
                    waiting.append(target)

    def raw(self, address: str) -> Raw | None:
        """A file that belongs to a trial of the run; None for any other address."""
        parts = _parts(address)
        if parts[:3] != ["runs", self.name, "trials"] or parts[5:6] not in (["pictures"], ["end_state.tar"]):
            return None
        shown = self._shown(address)
        return shown if isinstance(shown, Raw) else None

    def is_page(self, address: str) -> bool:
        """Whether the address is one of the pages that are written."""
        asked = set(_asked(address)) - {"page"}
        match _parts(address):
            case ["runs", self.name]:
                return len(asked) <= 1 and asked <= set(LISTED)
            case ["runs", self.name, "trials", case_id, attempt]:
                return not asked and (case_id, attempt) in self._trials
            case ["compare"]:
                sides = _asked(address).get("before"), _asked(address).get("after")
                more = asked - {"before", "after"}
                return sides == (self._before, self.name) and len(more) <= 1 and "rule" not in more
            case ["compare", before, self.name, case_id, attempt]:
                return before == self._before and not asked and (case_id, attempt) in self._trials
            case _:
                return False

    def _page(self, address: str) -> Page:
        shown = self._shown(address)
        assert isinstance(shown, Page)
        return shown

    def _shown(self, address: str) -> Page | Raw:
        found, place = matching(self._shows, address.partition("?")[0])
        assert found is not None
        return found(Ask(project=self._project, place=place, query=_asked(address), texts=self._texts))


def _has_baseline(project: Path, folder: RunFolder) -> bool:
    try:
        compare_with_baseline(read_baseline(project, folder.manifest.suite), folder)
    except (NotMeasured, UsageError):
        return False
    return True


def _address(value: str) -> str:
    """The address of a link without its fragment; empty for a place on the same page."""
    return unescape(value).partition("#")[0]


def _parts(address: str) -> list[str]:
    return [unquote(part) for part in address.partition("?")[0].strip("/").split("/")]


def _asked(address: str) -> dict[str, str]:
    return dict(parse_qsl(address.partition("?")[2]))


# One file: the pages are sections, of which the one is shown that the address names.

_ONE_AT_A_TIME = """
.page { display: none; }
.page:target, .page:has(:target) { display: block; }
main:not(:has(:target)) > .page:first-child { display: block; }
"""


@gc_paused()
def html_report(project: Path, folder: RunFolder, against: RunFolder | None = None) -> str:
    """The pages of a run as one document, compared with `against`, or else with the baseline of the suite.

    Raises ResultsError naming a damaged file of either run.
    """
    texts = next(length for trials, length in _FILE_TEXTS if len(folder.manifest.planned) <= trials)
    pages = _RunPages(project, folder, against, texts)
    written = list(pages.pages(lambda size: size < _BUDGET))
    places = {one.address: f"p{number}" for number, one in enumerate(written)}
    left = _PICTURES

    def picture(address: str) -> str:
        nonlocal left
        raw = pages.raw(address)
        if raw is None or not raw.kind.startswith("image/"):
            return ""
        data = f"data:{raw.kind};base64,{base64.b64encode(raw.content).decode('ascii')}"
        left -= len(data)
        return data if left >= 0 else ""

    sections = []
    for one in written:
        own = places[one.address]

        def to(address: str, place: str, own: str = own) -> str:
            page = places.get(address) if address else own
            if page is None:
                return picture(address)
            return f"#{page}-{place}" if place else f"#{page}"

        body = _IDENTIFIED.sub(rf' \1="{own}-\2"', _linked(one.body, to))
        sections.append(tag("section", Markup(body), id=own, class_="page", aria_label=one.title or None))
    style = _style() + _ONE_AT_A_TIME
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode("ascii")
    allowed = f"style-src 'sha256-{digest}'" + (
        "; img-src data:" if any("data:image" in one for one in sections) else ""
    )
    return _document(
        pages.name,
        Markup(f"<style>{style}</style>"),
        allowed,
        _navigation(pages, lambda address: f"#{places[address]}"),
        fragment(*sections),
    )


def write_html(project: Path, folder: RunFolder, target: Path, against: RunFolder | None = None) -> Path:
    """Writes the report to `target`; an existing file is replaced."""
    try:
        write_output(target, html_report(project, folder, against).encode("utf-8"))
    except OSError as error:
        raise ResultsError(f"{target} cannot be written: {error.strerror or error}") from error
    return target


# A folder of linked pages.


@gc_paused()
def write_site(project: Path, folder: RunFolder, target: Path, against: RunFolder | None = None) -> Path:
    """Writes every page of a run into `target`, and gives the page to begin with.

    Raises UsageError for a folder that holds something else than an earlier site.
    """
    _refuse_foreign(target)
    pages = _RunPages(project, folder, against, _SITE_TEXT)
    start = target / "index.html"
    try:
        _put(target / _SITE_STYLE, (_MARK + _style()).encode())
        for one in pages.pages(lambda _: True):
            _put(target / _file(one.address), _site_page(pages, one, target).encode("utf-8"))
    except OSError as error:
        raise ResultsError(f"{error.filename or target} cannot be written: {error.strerror or error}") from error
    return start


def _refuse_foreign(target: Path) -> None:
    style = target / _SITE_STYLE
    if target.is_dir() and not any(target.iterdir()):
        return
    if target.exists() and not (style.is_file() and style.read_bytes().startswith(_MARK.encode())):
        raise UsageError(
            f"{target} is not empty and holds no site of an earlier report", remedy="name a new folder: --site DIR"
        )


def _site_page(pages: _RunPages, one: _Written, target: Path) -> str:
    own = _file(one.address)
    up = "../" * own.count("/")

    def to(address: str, place: str) -> str:
        if not address:
            return f"#{place}"
        if pages.is_page(address):
            return quote(up + _file(address)) + (f"#{place}" if place else "")
        raw = pages.raw(address)
        if raw is None:
            return ""
        name = "files/" + "-".join(_parts(address)[3:])
        _put(target / name, raw.content)
        return quote(up + name)

    return _document(
        one.title,
        tag("link", rel="stylesheet", href=up + _SITE_STYLE),
        "style-src 'self' file:; img-src 'self' file:",
        _navigation(pages, lambda address: quote(up + _file(address))),
        Markup(_linked(one.body, to)),
    )


def trial_page(case_id: str, attempt: int) -> str:
    """The path of a trial's page within a site."""
    return f"trials/{case_id}-{attempt}.html"


def _file(address: str) -> str:
    """The path of a page within a site. A page with a filter is named by the digest of the filter."""
    asked = {name: value for name, value in _asked(address).items() if name not in ("before", "after")}
    more = "" if not asked else "-" + hashlib.sha256(canonical_json(asked).encode()).hexdigest()[:12]
    match _parts(address):
        case ["runs", _, "trials", case_id, attempt]:
            return trial_page(case_id, int(attempt)).removesuffix(".html") + f"{more}.html"
        case ["compare", _, _, case_id, attempt]:
            return f"compare/{case_id}-{attempt}{more}.html"
        case ["compare"]:
            return f"compare{more}.html"
        case _:
            return f"index{more}.html"


def _put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_output(path, content)


# What stands around each page, and what is changed in it.


def _linked(body: str, to: Callable[[str, str], str]) -> str:
    """`to` gives the target for an address and a place there; an empty one takes the link away."""

    def changed(found: re.Match[str]) -> str:
        address, _, place = unescape(found[2]).partition("#")
        target = to(address, place)
        return f' {found[1]}="{plain(target)}"' if target else ""

    return _LINK.sub(changed, _DATA.sub("", _PROGRAMS.sub("", body)))


def _navigation(pages: _RunPages, to: Callable[[str], str]) -> Markup:
    entries: Mapping[str, str | None] = {"Run": pages.first, "Comparison": pages.comparison}
    items = [tag("li", link(to(address), name)) for name, address in entries.items() if address is not None]
    return tag(
        "header",
        tag("span", pages.name, class_="brand"),
        tag("nav", tag("ul", *items), aria_label="Pages"),
        class_="bar-top",
    )


def _document(title: str, style: Markup, allowed: str, navigation: Markup, body: Markup) -> str:
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    head = fragment(tag("meta", http_equiv="Content-Security-Policy", content=policy), style)
    return document(title, head, fragment(navigation, tag("main", body)))


def _style() -> str:
    return palette() + (files("harness.reports.pages") / "assets" / "style.css").read_text(encoding="utf-8")
