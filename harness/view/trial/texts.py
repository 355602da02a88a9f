"""Texts and values of agents and tools: bounded, and never more than text."""

import json

from pydantic_core import PydanticSerializationError, to_json

from harness.values import JsonValue
from harness.view.markup import Markup, fragment, tag
from harness.view.tables import fold

_BRIEF = 140


def value_text(value: JsonValue) -> str:
    """A text as it is, everything else as indented JSON."""
    if isinstance(value, str):
        return value
    try:
        return to_json(value, indent=1).decode()
    except (PydanticSerializationError, ValueError):  # half a surrogate pair, which has no UTF-8
        return json.dumps(value, indent=1, ensure_ascii=False)


def shown_text(text: str, limit: int, whole: str | None = None, *, class_: str = "prose") -> Markup:
    """The beginning of a text; `whole` is the address of the part that holds all of it."""
    if len(text) <= limit:
        return tag("div", text, class_=class_)
    note = f"{limit} of {len(text)} characters are shown. "
    more = tag("button", "Show all", type="button", class_="quiet", data_load=whole) if whole is not None else None
    return tag("div", tag("div", text[:limit], class_=class_), tag("p", note, more, class_="cut"), data_part=True)


def folded_value(name: str, value: JsonValue, limit: int, whole: str | None = None) -> Markup:
    """A value of a call: one line that opens."""
    text = value_text(value)
    brief = " ".join(text[: _BRIEF * 2].split())[:_BRIEF]
    head = fragment(tag("span", name, class_="fold-name"), tag("span", brief, class_="brief"))
    return fold(head, shown_text(text, limit, whole, class_="pre"))
