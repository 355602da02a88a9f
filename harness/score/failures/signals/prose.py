"""What a message says in its own words: without code, quotations and the braces of JSON; and whether it is a page."""

import json
import re
from typing import Final

from harness.score.failures.signals.grounding import texts
from harness.values import JsonValue

_CODE: Final = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]{1,300}`|~~~.*?(?:~~~|\Z)|<(code|pre)\b[^>\n]{0,80}>.*?(?:</\1>|\Z)"
    r"|(?:\A|\n)[ \t]*(?:\n(?: {4}|\t)(?![ \t]*(?:[-*+]|\d{1,2}[.)]) )[^\n]+)+",
    re.S,
)
"""Fenced, between backticks, between tags, or a paragraph that is indented by four and no list."""
_MARKS_CODE: Final = ("`", "~~~", "<code", "<pre", "\n    ", "\n\t")
_PAIRS: Final = (
    ('"', "", '"'),
    ("\N{LEFT DOUBLE QUOTATION MARK}", "", "\N{RIGHT DOUBLE QUOTATION MARK}"),
    ("\N{DOUBLE LOW-9 QUOTATION MARK}", "", "[\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}]"),
    ("\N{LEFT-POINTING DOUBLE ANGLE QUOTATION MARK}", "", "\N{RIGHT-POINTING DOUBLE ANGLE QUOTATION MARK}"),
    ("\N{LEFT SINGLE QUOTATION MARK}", r"(?<!\w.)", r"\N{RIGHT SINGLE QUOTATION MARK}(?!\w)"),
    ("'", r"(?<!\w.)", r"'(?!\w)"),
)
"""The mark that begins a quotation, what must not stand before it (the mark itself is the point), and what ends it."""
_MARKS: Final = frozenset(mark for mark, _, _ in _PAIRS)
_QUOTED: Final = re.compile(
    f"[{''.join(mark for mark, _, _ in _PAIRS)}](?:"  # a set, so that other characters are passed over quickly
    + "|".join(rf"(?<={mark}){before}[^\n]{{1,300}}?{end}" for mark, before, end in _PAIRS)
    + ")"
)
_PAGE: Final = re.compile(
    r"Address: \S.{0,500}?Viewport position: |(?:I|Web\w{1,12}) \w{1,12} .{0,2000}?Here is a screenshot of ", re.S
)
_QUOTE_LINE: Final = re.compile(r"(?m)^\s{0,8}>[^\n]*$")


def plain_words(message: str) -> str:
    """A message that is JSON as its texts, one a line; else without what it quotes or writes as code."""
    opened = _from_json(message)
    if opened is not None:
        return "\n".join(texts(opened))
    if any(mark in message for mark in _MARKS_CODE):
        message = _CODE.sub(" ", message)
    if ">" in message:
        message = _QUOTE_LINE.sub(" ", message)
    return message if _MARKS.isdisjoint(message) else _QUOTED.sub(" ", message)


def is_page(message: str) -> bool:
    """Whether it is what a text browser shows, which agents of some frameworks send as their message: no word of it is
    the agent's own.
    """
    return _PAGE.match(message) is not None


def _from_json(message: str) -> JsonValue:
    if message[:1] not in "{[" or message.rstrip()[-1:] not in ("}", "]"):
        return None
    try:
        found: JsonValue = json.loads(message)
    except (ValueError, RecursionError):
        return None
    return found
