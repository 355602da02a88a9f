"""Tables, lists of facts, forms and the links between the pages of a long list."""

import re
from collections.abc import Iterable, Mapping, Sequence, Set

from harness.view.markup import Child, Markup, fragment, link, path_of, tag

PER_PAGE = 100
_CELL = re.compile(r"<td(?: [^>]*)?>")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def table(heads: Sequence[str], rows: Iterable[Markup], *, caption: str, class_: str = "plain") -> Markup:
    """A table in a region that scrolls by itself on a narrow screen; the caption names it for who cannot see it.

    A head that begins with `#` stands over numbers.
    """
    cells = [
        tag("th", head.removeprefix("#"), scope="col", class_="num" if head.startswith("#") else None) for head in heads
    ]
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


def facts(pairs: Iterable[tuple[str, Child]]) -> Markup:
    """Names and values beside each other."""
    items = [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs]
    return tag("dl", *items, class_="facts")


def fold(summary: Child, *children: Child, opened: bool = False, id: str | None = None) -> Markup:
    """Something that is shown when it is asked for."""
    return tag("details", tag("summary", summary), *children, open=opened, id=id, class_="fold")


def block(text: str, most: int = 20_000) -> Markup:
    """A text of several lines as it is, cut with a note where it is long."""
    shown = tag("pre", text[:most], tabindex="0")
    if len(text) <= most:
        return shown
    return fragment(shown, tag("p", f"cut: {most} of {len(text)} characters are shown", class_="cut"))


def pager(number: int, pages: int, path: str, query: Mapping[str, str]) -> Markup:
    """Links to the pages before and after."""
    if pages <= 1:
        return Markup()
    kept = {key: value for key, value in query.items() if key != "page"}

    def to(page: int, name: str, rel: str) -> Markup:
        if not 1 <= page <= pages:
            return tag("span", name, class_="dim")
        parts = [part for part in path.split("/") if part]
        return link(path_of(*parts, **kept, page=page), name, rel=rel)

    middle = tag("span", f"page {number} of {pages}", class_="count")
    return tag(
        "nav",
        to(number - 1, "← Earlier", "prev"),
        middle,
        to(number + 1, "Later →", "next"),
        class_="pager",
        aria_label="Pages of the list",
    )


def choice(name: str, label: str, options: Sequence[str], chosen: str, *, otherwise: str = "any") -> Markup:
    """A select; before its options stands what it means that none is chosen."""
    shown = [tag("option", otherwise, value="", selected=not chosen)]
    shown += [tag("option", one.replace("_", " "), value=one, selected=one == chosen) for one in options]
    return tag("label", tag("span", label), tag("select", *shown, name=name))


def search(name: str, label: str, value: str) -> Markup:
    field = tag("input", type="search", name=name, value=value, maxlength="200", data_filter=True)
    return tag("label", tag("span", label), field)


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


def action(path: str, name: str, fields: Mapping[str, str] | None = None, *extra: Markup) -> Markup:
    """A button that changes something."""
    hidden = [tag("input", type="hidden", name=key, value=value) for key, value in (fields or {}).items()]
    return tag("form", *hidden, *extra, tag("button", name, class_="quiet"), method="post", action=path, class_="act")


def pages_of(count: int, per_page: int = PER_PAGE) -> int:
    return max(1, -(-count // per_page))
