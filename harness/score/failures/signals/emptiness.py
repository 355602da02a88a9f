"""Answers that say that nothing was found: `{"results": [], "total": 0}`, "No results found.", an empty text."""

import re
from typing import Final

from harness.score.failures.signals.told_errors import opened
from harness.trace import Observation
from harness.values import JsonValue

_NOTHING: Final = re.compile(
    r"\W*(?:(?:0|no|zero) (?:\w+ ){0,2}(?:results?|match(?:es)?|records?|rows?|hits?|entries|items?|documents?|files?)"
    r"|nothing|no(?:thing|ne|t)?(?: \w+){0,2} (?:was |were )?found|none|empty|null|n/?a)\b[^\n]{0,80}",
    re.I,
)
_LONGEST: Final = 400
_STATUS: Final = frozenset(
    {"status", "ok", "success", "query", "message", "page", "limit", "offset", "took_ms", "took"}
)
"""Keys whose values tell of the search and not of what it found."""


def found_nothing(seen: Observation | None) -> bool:
    """Whether an answer is recorded, is no error, and tells of nothing that was found."""
    if seen is None or seen.error is not None:
        return False
    content = opened(seen.content)
    if isinstance(content, str):
        text = content.strip()
        return len(text) <= _LONGEST and (not text or _NOTHING.fullmatch(text) is not None)
    return isinstance(content, dict | list) and _is_empty(content)


def _is_empty(value: JsonValue) -> bool:
    match value:
        case dict():
            rest = [part for key, part in value.items() if key.casefold() not in _STATUS]
            return any(part in ([], {}) for part in rest) and all(map(_is_empty, rest))
        case list():
            return not value
        case str():
            return not value.strip() or _NOTHING.fullmatch(value.strip()) is not None
        case None | bool():
            return not value
        case _:
            return value == 0
