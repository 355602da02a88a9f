"""Text for people: what a terminal may print, shortened texts, and suggestions for an unknown name."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

# Text as a terminal may print it: no character of an agent, a tool or an untrusted file steers it or reverses
# its text, and no line is a command to the continuous integration that reads it.
#
# The characters are shown as `\uXXXX`, which is what JSON means by them, so that JSON stays the same document.

_KEPT: Final = frozenset("\n\t")
_BIDIRECTIONAL: Final = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_SEPARATORS: Final = "\u2028\u2029"
_CONTROLS: Final = "".join(map(chr, (*range(0x20), 0x7F, *range(0x80, 0xA0))))
_SHOWN: Final = {
    ord(char): f"\\u{ord(char):04x}" for char in _CONTROLS + _BIDIRECTIONAL + _SEPARATORS if char not in _KEPT
}
_COMMANDS: Final = (
    (re.compile(r"#(?=#[A-Za-z.]{0,40}\[)"), r"\\u0023"),
    (re.compile(r"^([ \t]*):(?=:[A-Za-z-]{1,40}(?: [^\n]*?)?::)", re.MULTILINE), r"\1\\u003a"),
)
"""`##vso[task.complete result=Succeeded]` of Azure, `##teamcity[...]`, `##[...]` and `::error::` of GitHub: a runner
obeys what it finds in the output of a job.
"""


def visible(text: str) -> str:
    """The text with each control character (C0, DEL, C1, bidirectional) but line end and tab as `\\uXXXX`, and with
    commands to runners of continuous integration broken in the same way.
    """
    shown = text.translate(_SHOWN)
    if "##" in shown or "::" in shown:
        for command, broken in _COMMANDS:
            shown = command.sub(broken, shown)
    return shown


def one_line(text: str) -> str:
    """The same without line ends, so that a name in a line cannot begin another one."""
    return visible(text).replace("\n", "\\n")


def shortened(text: str, most: int, mark: str = "...") -> str:
    """At most `most` characters of the text, with `mark` at the end if some are left out."""
    return text if len(text) <= most else text[: most - len(mark)] + mark


def tokens_of(text: str) -> int:
    """The estimated number of tokens: one for every four bytes."""
    return -(-len(text.encode()) // 4)


_MOST = 20


def alternatives(name: str, known: Iterable[str]) -> str | None:
    """`did you mean 'tour-v1'? known: tour-v1, tour-v2`; None if no names are known."""
    names = sorted(known)
    if not names:
        return None
    near = get_close_matches(name, names, n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return f"{meant}known: {', '.join(names[:_MOST])}{more}"
