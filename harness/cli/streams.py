"""Standard input, output and error as whoever starts the harness leaves them: closed, full, unread, not UTF-8."""

import io
import os
import sys

from harness.cli.cleaning import CleanStream
from harness.errors import UsageError

NOBODY_READS = 141
"""What a shell shows of a program whose reader left (128 + SIGPIPE): no verdict, and nothing that failed."""

_STREAMS = ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w"))


def open_streams() -> None:
    """Replaces the streams by ones that let no control character pass."""
    for number, name, mode in _STREAMS:
        if getattr(sys, name) is None:
            _lead_nowhere(number)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that has not the letter is shown its number
        if not isinstance(stream, CleanStream):
            setattr(sys, name, CleanStream(stream))


def give_up_output() -> None:
    """What could not be printed is not tried again while Python ends."""
    _lead_nowhere(1)


def refuse_other_encodings() -> None:
    """Raises UsageError where names of files are not UTF-8, as those in projects are: they would not be found."""
    encoding = sys.getfilesystemencoding()
    if encoding != "utf-8":
        raise UsageError(
            f"file names are {encoding} here, by the locale; those of a project are UTF-8",
            remedy="set LC_ALL=C.UTF-8, or PYTHONUTF8=1",
        )


def _lead_nowhere(number: int) -> None:
    opened = os.open(os.devnull, os.O_RDWR)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
