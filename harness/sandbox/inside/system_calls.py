"""The system calls that Python has no function for, by `ctypes`, which the supervisor imports once."""

from __future__ import annotations

import ctypes
import posix

libc = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """The system call `mount`; raises OSError that names the target."""
    texts = [None if text is None else text.encode("utf-8", "surrogateescape") for text in (source, target, kind, data)]
    if libc.mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3]) != 0:
        raise system_error("mount of " + target)


def prctl(option: int, value: int) -> None:
    """The system call `prctl`; raises OSError."""
    if libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise system_error(f"prctl {option}")


def system_error(what: str) -> OSError:
    """The error of the last call, whose text names what failed."""
    number = ctypes.get_errno()
    return OSError(number, what + ": " + posix.strerror(number))
