"""HTML that is escaped by construction.

A `Markup` is made by `tag` and `fragment` only, which escape every text that is not markup yet. What an agent or a tool
wrote therefore stays text, wherever it is put.
"""

import re
from functools import lru_cache
from html import escape
from urllib.parse import quote, urlencode

from harness.visible_text import visible

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
