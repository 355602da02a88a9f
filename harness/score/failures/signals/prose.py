"""What a message says in its own words: without code, quotations and the braces of JSON; and whether it is a page."""

import json
import re
from typing import Final

from harness.score.failures.signals.grounding import texts
from harness.values import JsonValue

_CODE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]{1,300}`", re.S)
_OPEN: Final = "\N{LEFT DOUBLE QUOTATION MARK}"
_CLOSE: Final = "\N{RIGHT DOUBLE QUOTATION MARK}"
_QUOTED: Final = re.compile(rf"\"[^\"\n]{{1,300}}\"|{_OPEN}[^\n]{{1,300}}?{_CLOSE}")
_PAGE: Final = re.compile(
    r"Address: \S.{0,500}?Viewport position: |(?:I|Web\w{1,12}) \w{1,12} .{0,2000}?Here is a screenshot of ", re.S
)
_QUOTE_LINE: Final = re.compile(r"(?m)^\s{0,8}>[^\n]*$")


def plain_words(message: str) -> str:
    """A message that is JSON as its texts, one a line; else without what it quotes or writes as code."""
    opened = _from_json(message)
    if opened is not None:
        return "\n".join(texts(opened))
    if "`" in message:
        message = _CODE.sub(" ", message)
    if ">" in message:
        message = _QUOTE_LINE.sub(" ", message)
    return _QUOTED.sub(" ", message) if '"' in message or _OPEN in message else message


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
