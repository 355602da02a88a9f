"""One reader, what it is given, and what may come of it."""

import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.errors import HarnessError, InvalidDocument

Syntax = Literal["json", "yaml", "lines", "text", "bytes"]
"""How an input is taken apart to be changed; `lines`: JSON values, one a line."""

PROCESSOR_S = 10
"""Processor time that one input may take: no wall time, which a busy machine stretches."""

MEMORY_BYTES = 1 << 30
"""What one input may need beyond what the process has when it begins."""


@dataclass(frozen=True, kw_only=True)
class Reader:
    """What reads one kind of input."""

    name: str
    syntax: Syntax
    seeds: Callable[[], list[bytes]]
    """Valid inputs, real ones where the repository has them."""
    read: Callable[[bytes, Path], None]
    """Reads an input; the folder is its own, and is used again. Asserts what has to hold of what was read."""
    cost: int = 1
    """By how much fewer tries it gets: one takes that many times as long as the others'."""
    refuses: tuple[type[Exception], ...] = ()
    """Errors of its own that say that the input is refused; their caller turns them into an answer."""


class Broken(Exception):
    """An input was neither read nor refused as it has to be."""


class _TooLong(BaseException):
    """No reader catches it."""


def tried(reader: Reader, content: bytes, folder: Path) -> bool:
    """Whether the input was read; False: refused. Raises Broken for anything else."""
    try:
        with _bounded_time():
            reader.read(content, folder)
    except HarnessError as error:
        _check_words(error)
        return False
    except reader.refuses as error:
        if not str(error).strip():
            raise Broken(f"{type(error).__name__} without a word") from error
        return False
    except _TooLong as error:
        raise Broken(f"took more than {PROCESSOR_S} s of processor time") from error
    except Exception as error:
        raise Broken(f"{type(error).__name__}: {error}"[:500]) from error
    return True


def bound_memory() -> None:
    """From now on this process has a gibibyte more than it has: an allocation beyond it is a MemoryError."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _check_words(error: HarnessError) -> None:
    """A refusal says what is wrong in words that fit a screen, and a document's names its file."""
    text = str(error)
    if not error.message.strip() or len(text) > 20_000:
        raise Broken(f"a refusal of {len(text)} characters: {text[:200]}") from error
    # Not always one of the folder: what was made of a tool file may name `/etc/passwd`, which is no list of tools.
    if isinstance(error, InvalidDocument) and not (error.path.is_absolute() and str(error.path) in text):
        raise Broken(f"a refusal that names no file: {text[:200]}") from error


@contextmanager
def _bounded_time() -> Iterator[None]:
    before = signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, PROCESSOR_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _stop(number: int, frame: object) -> None:
    del number, frame
    raise _TooLong
