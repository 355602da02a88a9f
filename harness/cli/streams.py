"""Handles standard streams that are closed, full, unread or not UTF-8."""

import io
import os
import sys
from collections.abc import Iterable
from typing import IO, Any

from harness.errors import UsageError
from harness.text import visible

# Removes control characters from printed text, so that agents, tools and untrusted files cannot control the terminal.
#
# All output of the process passes through this module: `CleanStream` replaces standard output and error; the rich
# console, which emits colours, cleans the text that it renders. `harness/text.py` defines the characters.


class CleanStream:
    """A text stream that writes no control characters and otherwise behaves as the wrapped stream."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def write(self, text: str | bytes) -> int:
        """Click writes the completions of a shell as bytes."""
        self.stream.write(visible(text.decode("utf-8", "replace") if isinstance(text, bytes) else text))
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


NOBODY_READS = 141
"""Exit status if the reader of the pipe has closed it (128 + SIGPIPE), as a shell reports it."""

_STREAMS = ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w"))


def open_streams() -> None:
    """Replaces standard output and error by streams that remove control characters."""
    for number, name, mode in _STREAMS:
        if getattr(sys, name) is None:
            _lead_nowhere(number)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(
                errors="backslashreplace"
            )  # characters outside the terminal's encoding are printed as escapes
        if not isinstance(stream, CleanStream):
            setattr(sys, name, CleanStream(stream))


def give_up_output() -> None:
    """Redirects standard output, so that Python does not flush it again at exit."""
    _lead_nowhere(1)


def refuse_other_encodings() -> None:
    """Raises UsageError if the file system encoding is not UTF-8: files of projects would not be found."""
    encoding = sys.getfilesystemencoding()
    if encoding != "utf-8":
        raise UsageError(
            f"the locale encodes file names as {encoding}; a project needs UTF-8",
            remedy="set LC_ALL=C.UTF-8, or PYTHONUTF8=1",
        )


def _lead_nowhere(number: int) -> None:
    opened = os.open(os.devnull, os.O_RDWR)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
