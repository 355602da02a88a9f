"""HTML that is escaped by construction.

A `Markup` is made by `tag` and `fragment` only, which escape every text that is not markup yet. What an agent or a tool
wrote therefore stays text, wherever it is put.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from itertools import zip_longest
from typing import Any, Generic, TypeVar
from urllib.parse import quote, unquote, urlencode

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, to_json

from harness.reports.render.sections import Section
from harness.reports.render.wording import meanings
from harness.reports.units import percent
from harness.text import visible

_HARMLESS = re.compile(r"[\w .,:;/#?%()=+\[\]{}!|*@$^~\n-]*", re.ASCII)
"""Most texts: they need no escape, and there are tens of thousands in a long page."""
_VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Child = str | int | float | None
Attribute = str | int | bool | None

NOTHING = Markup()


def plain(text: str) -> Markup:
    """Any text as HTML: no character of it steers the page, and half a surrogate pair is shown as an escape."""
    if _HARMLESS.fullmatch(text):
        return Markup(text)
    sendable = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return Markup(escape(visible(sendable)))


def fragment(*children: Child) -> Markup:
    """The children one after another; None is left out."""
    return Markup("".join([child if child.__class__ is Markup else _child(child) for child in children]))


def tag(element: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """An element. `class_` and `for_` stand for `class` and `for`, `data_run` for `data-run`; an attribute that is
    False or None is left out.
    """
    named = "".join([_attribute(key, value) for key, value in attributes.items()]) if attributes else ""
    if element in _VOID:
        return Markup(f"<{element}{named}>")
    inner = "".join([child if child.__class__ is Markup else _child(child) for child in children])
    return Markup(f"<{element}{named}>{inner}</{element}>")


def document(title: str, head: Markup, body: Markup) -> str:
    """A whole document; `head` stands before its title, so that a policy holds for all of it."""
    facts_of = fragment(
        tag("meta", charset="utf-8"),
        head,
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
    )
    return f"<!doctype html>\n{tag('html', tag('head', facts_of), tag('body', body), lang='en')}\n"


def link(path: str, *children: Child, **attributes: Attribute) -> Markup:
    """A link inside of the app; there are no others."""
    return tag("a", *children, href=path, **attributes)


def path_of(*parts: str | int, **query: str | int | None) -> str:
    """An address of the app: each part is quoted, and a part of the query that is None is left out."""
    path = "/" + "/".join(quote(str(part), safe="") for part in parts)
    asked = urlencode({key: value for key, value in query.items() if value not in (None, "")})
    return f"{path}?{asked}" if asked else path


def _child(child: Child) -> str:
    if child is None:
        return ""
    return child if isinstance(child, Markup) else plain(str(child))


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    return f" {_named(key)}" if value is True else f' {_named(key)}="{plain(str(value))}"'


@lru_cache(maxsize=256)
def _named(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


# Tables, lists of facts, forms and the links between the pages of a long list.

PER_PAGE = 100
_CELL = re.compile(r"<td(?: [^>]*)?>")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class Order(Generic[_T]):
    """What a list is sorted by: the part `sort` of its address names a head, with `-` for the largest first."""

    path: str
    query: Mapping[str, str]
    keys: Mapping[str, Callable[[_T], Any]]
    """By head; None stands last."""

    def of(self, items: Sequence[_T]) -> Sequence[_T]:
        asked = self.query.get("sort", "")
        key = self.keys.get(asked.removeprefix("-"))
        if key is None:
            return items
        known = [one for one in items if key(one) is not None]
        return [*sorted(known, key=key, reverse=asked[0] == "-"), *(one for one in items if key(one) is None)]

    def head(self, name: str, class_: str | None) -> Markup:
        if name not in self.keys:
            return tag("th", name, scope="col", class_=class_)
        asked = self.query.get("sort", "")
        turned = {name: f"-{name}", f"-{name}": name}.get(asked, f"-{name}" if class_ else name)
        way = {name: "ascending", f"-{name}": "descending"}.get(asked)
        return tag(
            "th", link(asked_path(self.path, self.query, sort=turned), name), scope="col", class_=class_, aria_sort=way
        )


def asked_path(path: str, query: Mapping[str, str], **changed: str | int) -> str:
    """The address of a list with other parts of its query, from its first page."""
    asked = {key: value for key, value in query.items() if key != "page"} | changed
    return path_of(*map(unquote, path.strip("/").split("/")), **asked)


def table(
    heads: Sequence[str],
    rows: Iterable[Markup],
    *,
    caption: str,
    class_: str = "plain",
    order: Order[Any] | None = None,
) -> Markup:
    """A table in a region that scrolls by itself on a narrow screen; the caption names it for who cannot see it.

    A head that begins with `#` stands over numbers.
    """
    heading = order or Order(path="/", query={}, keys={})
    cells = [heading.head(head.removeprefix("#"), "num" if head.startswith("#") else None) for head in heads]
    numbers = {place for place, head in enumerate(heads) if head.startswith("#")}
    whole = tag(
        "table",
        tag("caption", caption, class_="sr"),
        tag("thead", tag("tr", *cells)),
        tag("tbody", *(_numbered(one, numbers) for one in rows)),
        class_=class_,
    )
    return tag("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _numbered(row: Markup, columns: Set[int]) -> Markup:
    """The cells of these columns, from 0 for the row's head, stand as numbers do. No text of a cell holds a tag."""
    if not columns:
        return row
    place = 0

    def cell(found: re.Match[str]) -> str:
        nonlocal place
        place += 1
        return '<td class="num">' if place in columns and found[0] == "<td>" else found[0]

    return Markup(_CELL.sub(cell, row))


def row(first: Child, *cells: Child, href: str | None = None) -> Markup:
    """A row whose first cell names it; `href` is what Enter opens."""
    head = tag("th", first, scope="row")
    return tag("tr", head, *(tag("td", cell, class_=_when(cell)) for cell in cells), data_href=href)


def _when(cell: Child) -> str | None:
    """Dates are not broken at their hyphens."""
    return "when" if isinstance(cell, str) and _DATE.match(cell) else None


def section_tables(sections: Iterable[Section], to: Callable[[str, str, str], str | None]) -> Iterator[Markup]:
    """Tables that the other reports have, too. `to`: the address of a cell's trials, by the section's key, the name of
    the row and the head of the column, or None.
    """
    for one in sections:
        title = one.title[:1].upper() + one.title[1:]
        heads = (one.heads[0], *(f"#{head}" for head in one.heads[1:]))
        notes = (tag("p", note, class_="dim") for note in one.notes)
        rows = [row(*_led(one, cells, to)) for cells in one.rows]
        yield fragment(tag("h2", title), table(heads, rows, caption=title), *notes)


def _led(section: Section, cells: Sequence[str], to: Callable[[str, str, str], str | None]) -> list[Child]:
    found: list[Child] = []
    for head, text in zip(section.heads, cells, strict=True):
        path = to(section.key, cells[0].strip(), head) if section.key and text not in ("", UNKNOWN) else None
        shown = term(text) if section.key and head == section.heads[0] else text
        found.append(shown if path is None else link(path, shown))
    return found


def facts(pairs: Iterable[tuple[str, Child]]) -> Markup:
    """Names and values beside each other."""
    items = [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs]
    return tag("dl", *items, class_="facts")


def fold(summary: Child, *children: Child, opened: bool = False, id: str | None = None) -> Markup:
    """Something that is shown when it is asked for."""
    return tag("details", tag("summary", summary), *children, open=opened, id=id, class_="fold")


def whole_number(text: str) -> int | None:
    """A number of an address or a form; None for any other text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else None


def empty(why: str, command: str, does: str) -> Markup:
    """What stands in place of a list without entries: why, and the command that changes it."""
    return tag("p", f"{why} ", tag("code", command), f" {does}", class_="empty")


NO_RUNS = empty("There are no runs yet.", "harness run SUITE", "makes the first one.")


def block(text: str, most: int = 20_000) -> Markup:
    """A text of several lines as it is, cut with a note where it is long."""
    shown = tag("pre", text[:most], tabindex="0")
    if len(text) <= most:
        return shown
    return fragment(shown, tag("p", f"cut: {most} of {len(text)} characters are shown", class_="cut"))


def pager(number: int, pages: int, path: str, query: Mapping[str, str]) -> Markup:
    """Links to the pages before and after."""
    if pages <= 1:
        return NOTHING

    def to(page: int, name: str, rel: str) -> Markup:
        if not 1 <= page <= pages:
            return tag("span", name, class_="dim")
        return link(asked_path(path, query, page=page), name, rel=rel)

    middle = tag("span", f"page {number} of {pages}", class_="count")
    return tag(
        "nav",
        to(number - 1, "← Earlier", "prev"),
        middle,
        to(number + 1, "Later →", "next"),
        class_="pager",
        aria_label="Pages of the list",
    )


def around(keys: Sequence[_T | None], to: Callable[[_T], str]) -> Markup:
    """Links to the trials before and after one in the list that led to it."""
    links = [
        link(to(key), name, rel=rel)
        for key, name, rel in zip(keys, ("← Previous trial", "Next trial →"), ("prev", "next"), strict=True)
        if key is not None
    ]
    return tag("span", *(fragment(one, " ") for one in links))


def choice(name: str, label: str, options: Sequence[str], chosen: str, *, otherwise: str = "any") -> Markup:
    """A select; before its options stands what it means that none is chosen."""
    shown = [tag("option", otherwise, value="", selected=not chosen)]
    shown += [tag("option", one.replace("_", " "), value=one, selected=one == chosen) for one in options]
    return tag("label", tag("span", label), tag("select", *shown, name=name))


def search(name: str, label: str, value: str) -> Markup:
    field = tag("input", type="search", name=name, value=value, maxlength="200", data_filter=True)
    return tag("label", tag("span", label), field)


def hidden(name: str, value: str) -> Markup:
    """A field of a form that carries a value on."""
    return tag("input", type="hidden", name=name, value=value)


def filters(*fields: Markup, action: str) -> Markup:
    """A form whose answer is the same page with its query: every state of a list has an address."""
    return tag(
        "form",
        *fields,
        tag("button", "Show", class_="quiet"),
        method="get",
        action=action,
        class_="filters",
        role="search",
    )


def chosen_of(label: str, links: Iterable[tuple[str, Child, bool]]) -> Markup | None:
    """Links to the variants of a page, each with whether it is the one that is shown; None if there are none."""
    items = [tag("li", link(path, shown, aria_current="true" if here else None)) for path, shown, here in links]
    return tag("nav", tag("ul", *items), class_="versions", aria_label=label) if items else None


def section(title: str, *content: Child, id: str, class_: str | None = None) -> Markup:
    """A part of a page that its heading names."""
    return tag("section", tag("h2", title, id=id), *content, class_=class_, aria_labelledby=id)


def tiles(
    label: str, shown: Iterable[tuple[str, Child, Child]], *more: Child, live: Sequence[str] = (), **of: Attribute
) -> Markup:
    """Figures: a head, the value, and what stands below it. `live`: by which names the page's program follows them."""
    boxes = []
    for (head, value, under), key in zip_longest(shown, live):
        figure = tag("p", value, class_="value", data_live=key)
        below = tag("p", under, class_="under", data_live=key and f"{key}-under") if under else None
        boxes.append(tag("div", tag("h2", head), figure, below, class_="tile"))
    return tag("section", *boxes, *more, class_="tiles", aria_label=label, **of)


def loads(name: str, path: str, **attributes: Attribute) -> Markup:
    """A button below which the part at this address is shown."""
    return tag("button", name, type="button", class_="quiet small", data_load=path, data_into="after", **attributes)


def action(path: str, name: str, fields: Mapping[str, str] | None = None, *extra: Markup) -> Markup:
    """A button that changes something."""
    kept = [hidden(key, value) for key, value in (fields or {}).items()]
    return tag("form", *kept, *extra, tag("button", name, class_="quiet"), method="post", action=path, class_="act")


def pages_of(count: int, per_page: int = PER_PAGE) -> int:
    return max(1, -(-count // per_page))


# Figures and marks as the pages word them.

UNKNOWN = "-"


def rate_words(rate: float | None, unknown: int, trials: int) -> str:
    """A rate of success with the share of trials that it leaves out."""
    return percent(rate) + (f" (unknown for {unknown} of {trials})" if unknown else "")


def words(name: str) -> str:
    """A name of a closed vocabulary as words."""
    return name.replace("_", " ")


def term(name: str) -> Child:
    """A name as words, with the glossary's sentence on hover."""
    said = meanings().get(shown := words(name))
    return shown if said is None else tag("abbr", shown, title=said)


def when(created: str) -> str:
    """A time of ISO 8601 to the minute."""
    return created[:16].replace("T", " ")


def success_mark(success: bool | None, outcome: str = "finished") -> Markup:
    """By word and colour, never by colour alone."""
    if success is True:
        return tag("span", "✓ passed", class_="mark good")
    if success is False:
        return tag("span", "✗ failed", class_="mark bad")
    return tag("span", f"? {words(outcome) if outcome != 'finished' else 'unknown'}", class_="mark open")


def chip(text: Child, kind: str = "") -> Markup:
    return tag("span", text, class_=f"chip {kind}".strip())


def run_link(name: str, *, shown: str | None = None) -> Markup:
    return link(path_of("runs", name), shown or name)


def trial_path(run: str, case_id: str, attempt: int) -> str:
    return path_of("runs", run, "trials", case_id, attempt)


def bounded(text: str, most: int = 400) -> str:
    """At most this many characters of a text that anybody may have written."""
    return text if len(text) <= most else text[: most - 1] + "…"


# Texts and values of agents and tools: bounded, and never more than text.

_BRIEF = 140


def value_text(value: JsonValue) -> str:
    """A text as it is, everything else as indented JSON."""
    if isinstance(value, str):
        return value
    try:
        return to_json(value, indent=1).decode()
    except (PydanticSerializationError, ValueError):  # half a surrogate pair, which has no UTF-8
        return json.dumps(value, indent=1, ensure_ascii=False)


def shown_text(
    text: str,
    limit: int,
    whole: str | None = None,
    *,
    class_: str = "prose",
    marked: Callable[[str], Child] = str,
) -> Markup:
    """The beginning of a text; `whole` is the address of the part that holds all of it. `marked` adds links to it."""
    if len(text) <= limit:
        return tag("div", marked(text), class_=class_)
    note = f"{limit} of {len(text)} characters are shown. "
    more = tag("button", "Show all", type="button", class_="quiet", data_load=whole) if whole is not None else None
    return tag(
        "div", tag("div", marked(text[:limit]), class_=class_), tag("p", note, more, class_="cut"), data_part=True
    )


def folded_value(
    name: str, value: JsonValue, limit: int, whole: str | None = None, *, marked: Callable[[str], Child] = str
) -> Markup:
    """A value of a call: one line that opens."""
    text = value_text(value)
    brief = " ".join(text[: _BRIEF * 2].split())[:_BRIEF]
    head = fragment(tag("span", name, class_="fold-name"), tag("span", brief, class_="brief"))
    return fold(head, shown_text(text, limit, whole, class_="pre", marked=marked))
