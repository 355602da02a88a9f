"""How a program ended and what it printed, from what the launcher says of it."""

import codecs
import os
import signal
from typing import Any

from harness.trace import ProgramExit


def program_exit(answer: dict[str, Any]) -> ProgramExit:
    """The launcher's answer about a program that has ended."""
    status = -signal.SIGKILL if answer["timed_out"] else os.waitstatus_to_exitcode(answer["status"])
    return ProgramExit(
        code=status if status >= 0 else None,
        signal=-status if status < 0 else None,
        timed_out=bool(answer["timed_out"]),
        stdout=_text(answer["out"], answer["out_bytes"]),
        stderr=_text(answer["err"], answer["err_bytes"]),
        stdout_end=_end(answer["out_end"]),
        stderr_end=_end(answer["err_end"]),
        stdout_bytes=answer["out_bytes"],
        stderr_bytes=answer["err_bytes"],
        duration_s=answer["duration_ns"] / 1e9,
    )


def _text(kept: bytes, total: int) -> str:
    """Omits a character that the limit has cut in two, because it was not invalid."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return decoder.decode(kept, final=total == len(kept))


def _end(last: bytes) -> str:
    """Starts at the first complete line: half a line could contain half of a secret, which would not be recognised."""
    line_ends = [place for place in (last.find(b"\n"), last.find(b"\r")) if place >= 0]
    return last[min(line_ends) + 1 :].decode("utf-8", "replace") if line_ends else ""
