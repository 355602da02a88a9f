"""Removes control characters from printed text, so that agents, tools and untrusted files cannot control the terminal.

All output of the process passes through this module: `CleanStream` replaces standard output and error; the rich
console, which emits colours, cleans the text that it renders. `harness/visible_text.py` defines the characters.
"""

from collections.abc import Iterable
from typing import IO, Any

from harness.visible_text import visible


class CleanStream:
    """A text stream that writes no control characters and otherwise behaves as the wrapped stream."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        self.stream.writelines(map(visible, lines))

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # writes to `buffer` would bypass the cleaning
            raise AttributeError(name)
        return getattr(self.stream, name)


def drawn_to(stream: Any) -> IO[str]:
    """The wrapped stream, for a console that cleans text itself."""
    found: IO[str] = stream.stream if isinstance(stream, CleanStream) else stream
    return found
