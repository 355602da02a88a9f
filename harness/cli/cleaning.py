"""Cleans printed text: no character of an agent, a tool or an untrusted file can control the terminal or reverse its
text.

All output of the process passes this module: `CleanStream` replaces standard output and error; the console of rich,
which has colours of its own, cleans what it draws. The characters are shown as `\\uXXXX`, which is what JSON means by
them, so that JSON on standard output stays the same document.
"""

from collections.abc import Iterable
from typing import IO, Any, Final

_KEPT: Final = frozenset("\n\t")
_BIDIRECTIONAL: Final = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_SEPARATORS: Final = "\u2028\u2029"
_CONTROLS: Final = "".join(map(chr, (*range(0x20), 0x7F, *range(0x80, 0xA0))))
_SHOWN: Final = {
    ord(char): f"\\u{ord(char):04x}" for char in _CONTROLS + _BIDIRECTIONAL + _SEPARATORS if char not in _KEPT
}


def visible(text: str) -> str:
    """The text with each control character (C0, DEL, C1, bidirectional) but line end and tab as `\\uXXXX`."""
    return text.translate(_SHOWN)


class CleanStream:
    """A text stream that prints no control character; everything else is the stream's own."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        self.stream.writelines(map(visible, lines))

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # what is written there would pass us by
            raise AttributeError(name)
        return getattr(self.stream, name)


def drawn_to(stream: Any) -> IO[str]:
    """The stream itself, for who cleans what is drawn."""
    found: IO[str] = stream.stream if isinstance(stream, CleanStream) else stream
    return found
