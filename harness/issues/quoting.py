"""Makes a tool's answer safe to show in an issue: it mentions nobody, links nothing, and starts no markup.

An answer of a tool is untrusted text. It is shown in code spans and fences only, where Markdown does nothing with it;
mentions and links that trackers detect there nevertheless, or in a notification's plain text, are broken by an
invisible space.
"""

import difflib
import json
import re
import unicodedata
from collections.abc import Iterator

from harness.values import JsonValue

_BREAK = "\u200b"
_BROKEN = (
    (re.compile(r"@(?=[\w`-])"), "@" + _BREAK),
    (re.compile(r"#(?=\d)"), "#" + _BREAK),
    (re.compile(r"\b(GH-)(?=\d)", re.IGNORECASE), r"\1" + _BREAK),
    (re.compile(r"<(?=!--)"), "<" + _BREAK),
    (re.compile(r"--(?=>)"), "--" + _BREAK),
    (re.compile(r"`(?=``)"), "`" + _BREAK),
    (re.compile(r"~(?=~~)"), "~" + _BREAK),
)
_CONTROL = ("Cc", "Cf", "Cs", "Zl", "Zp")
_MOST_LINES = 40
_WIDEST = 200


def harmless(text: str) -> str:
    """The text with mentions, issue numbers, HTML comments and fences broken, and control characters spelled out.

    Line ends and tabs stay; characters that change the writing direction are removed.
    """
    plain = "".join(_visible(char) for char in text)
    for pattern, broken in _BROKEN:
        plain = pattern.sub(broken, plain)
    return plain


def line_of(text: str, limit: int = _WIDEST) -> str:
    """The text as one line of at most `limit` characters."""
    joined = " ".join(text.split())
    return harmless(joined if len(joined) <= limit else joined[: limit - 1] + "…")


def span(text: str, limit: int = _WIDEST) -> str:
    """The text as a code span that is also valid in a table."""
    plain = line_of(text, limit).replace("`", "'").replace("|", "\\|")
    return f"`{plain}`" if plain else ""


def fenced(text: str, language: str = "") -> str:
    """The text as a fenced block; the fence is longer than any inside."""
    plain = harmless(text)
    longest = max((len(run) for run in re.findall("`+", plain)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{plain}\n{fence}"


def before_and_after(before: JsonValue, after: JsonValue) -> str:
    """Two excerpts as a fenced diff; None represents an absent value."""
    old, new = _lines(before), _lines(after)
    changed = [line for line in difflib.unified_diff(old, new, lineterm="", n=3) if not line.startswith(("---", "+++"))]
    lines = [line for line in changed if not line.startswith("@@")] or [f"  {line}" for line in new]
    return fenced("\n".join(_capped(lines)), "diff")


def _lines(value: JsonValue) -> list[str]:
    return [] if value is None else json.dumps(value, indent=2, ensure_ascii=False).splitlines()


def _capped(lines: list[str]) -> Iterator[str]:
    for line in lines[:_MOST_LINES]:
        yield line if len(line) <= _WIDEST else line[: _WIDEST - 1] + "…"
    if len(lines) > _MOST_LINES:
        yield f"  … {len(lines) - _MOST_LINES} more lines"


def _visible(char: str) -> str:
    if char in "\n\t" or unicodedata.category(char) not in _CONTROL:
        return char
    return f"\\u{ord(char):04x}"
