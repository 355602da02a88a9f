"""What stands around every page: head, navigation and the list of keys."""

from collections.abc import Iterable, Sequence

from harness.view.asking import Page
from harness.view.markup import Markup, fragment, link, tag

_PROGRAMS = ("keys.js", "lazy.js")
"""Of every page."""
_KEYS = (
    ("?", "show or hide this list"),
    ("/", "filter"),
    ("j, k", "next, previous row or step"),
    ("Enter", "open the row"),
    ("n, p", "next, previous page, trial or question"),
    ("e", "open or close everything folded"),
    ("g r", "runs"),
    ("g t", "trend"),
    ("g d", "drift"),
    ("g i", "issues"),
    ("g c", "cassettes"),
    ("g a", "annotate"),
    ("g w", "workbench"),
    ("g h", "themes"),
    ("g p", "production"),
    ("u", "up: from a trial to its run, from a run to all runs"),
)


def whole(page: Page, entries: Sequence[tuple[str, str]], project: str) -> str:
    """The document of a page."""
    head = fragment(
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{page.title} · {project}"),
        tag("meta", http_equiv="refresh", content=page.again_after_s) if page.again_after_s is not None else None,
        *(tag("link", rel="stylesheet", href=f"/assets/{name}.css") for name in ("palette", "style")),
        tag("link", rel="icon", href="/assets/icon.svg"),
        *(tag("script", src=f"/assets/{name}", type="module") for name in (*_PROGRAMS, *page.modules)),
    )
    body = fragment(
        link("#main", "Skip to the content", class_="skip"),
        _navigation(page.section, entries, project),
        tag("main", page.body, id="main", tabindex="-1"),
        _help(page.keys),
    )
    return f"<!doctype html>\n{tag('html', tag('head', head), tag('body', body), lang='en')}\n"


def problem(title: str, message: str, remedy: str | None = None) -> Page:
    """A page that says what is wrong instead of what was asked for."""
    parts = [tag("h1", title), tag("p", message, class_="alert")]
    if remedy is not None:
        parts.append(tag("p", remedy, class_="prose"))
    return Page(title=title, body=fragment(*parts, tag("p", link("/", "All runs"))))


def _navigation(section: str, entries: Iterable[tuple[str, str]], project: str) -> Markup:
    items = [tag("li", link(path, name, aria_current="page" if name == section else None)) for name, path in entries]
    return tag(
        "header",
        link("/", project, class_="brand"),
        tag("nav", tag("ul", *items), aria_label="Pages"),
        tag("button", "Keys ", tag("kbd", "?"), type="button", class_="quiet", id="keys", aria_haspopup="dialog"),
        class_="bar-top",
    )


def _help(own: Sequence[tuple[str, str]]) -> Markup:
    """A page's own keys go before those of every page."""
    taken = {key for keys, _ in own for key in keys.split(", ")}
    rest = [(keys, does) for keys, does in _KEYS if not taken & set(keys.split(", "))]
    rows = [fragment(tag("dt", tag("kbd", keys)), tag("dd", does)) for keys, does in (*own, *rest)]
    return tag(
        "dialog",
        tag("h2", "Keys", id="help-title"),
        tag("dl", *rows, class_="keys"),
        tag("form", tag("button", "Close", class_="quiet"), method="dialog"),
        id="help",
        aria_labelledby="help-title",
    )
