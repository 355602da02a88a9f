"""The last output of an agent's program: the first evidence to inspect where its trial failed."""

from collections.abc import Iterator
from typing import Literal

from harness.trace import ProgramExit
from harness.values import Frozen

Stream = Literal["stderr", "stdout"]
_LINES = 5
_LINE_CHARACTERS = 500


class PrintedEnd(Frozen):
    """The stored end of one stream of the agent's program. The text comes from the agent and is untrusted."""

    stream: Stream
    lines: tuple[str, ...]
    """The last ones that are not blank, each cut at 500 characters."""
    kept_bytes: int
    printed_bytes: int
    """The total number of bytes, which may exceed the stored ones: the rest was discarded."""
    complete: bool = True
    """Whether `lines` are the last that were printed; otherwise they are the last of the first that were stored."""


def printed_ends(exit_: ProgramExit | None) -> tuple[PrintedEnd, ...]:
    """Standard error, then standard output; a stream on which nothing was printed is left out."""
    return () if exit_ is None else tuple(_ends(exit_))


def _ends(exit_: ProgramExit) -> Iterator[PrintedEnd]:
    streams: tuple[tuple[Stream, str, str, int], ...] = (
        ("stderr", exit_.stderr, exit_.stderr_end, exit_.stderr_bytes),
        ("stdout", exit_.stdout, exit_.stdout_end, exit_.stdout_bytes),
    )
    for stream, text, end, printed in streams:
        kept = _size(text) + _size(end)
        if text.strip() or printed:
            lines = [line.rstrip() for line in (end or text).splitlines() if line.strip()][-_LINES:]
            cut = tuple(line if len(line) <= _LINE_CHARACTERS else f"{line[: _LINE_CHARACTERS - 1]}…" for line in lines)
            yield PrintedEnd(
                stream=stream,
                lines=cut,
                kept_bytes=min(kept, printed) if end else kept,
                printed_bytes=max(printed, _size(text)),
                complete=bool(end) or printed <= _size(text),
            )


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
