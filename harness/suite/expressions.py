"""Regular expressions that people and services write, evaluated within a limit of time."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TypeVar

import regex

from harness.errors import OutOfTime
from harness.text import shortened

_Answer = TypeVar("_Answer")
SECONDS = 0.5
"""Of processor time, for one expression and one text, one schema and one value, or one path and one document."""
_SHOWN = 200
_ends: ContextVar[float] = ContextVar("ends")
"""When the evaluation under way is given up, by the clock of its thread: what other threads do costs it nothing."""


@contextmanager
def time_limit(what: str, seconds: float = SECONDS) -> Iterator[None]:
    """Limits the expressions that are evaluated inside, all together; `what` names the field and its purpose.

    Raises OutOfTime.
    """
    before = _ends.set(time.thread_time() + seconds)
    try:
        yield
    except TimeoutError:
        raise OutOfTime(
            f"{what} was not answered within {seconds:g} s of processor time",
            remedy="write the expression without repeats inside of repeats, such as `(a+)+`, "
            "and without several that can take the same characters, such as `.*.*`",
        ) from None
    finally:
        _ends.reset(before)


def check_time() -> None:
    """Raises TimeoutError if the evaluation under way has no time left."""
    if time.thread_time() > _ends.get():
        raise TimeoutError


def limited(ask: Callable[[float], _Answer]) -> _Answer:
    """Calls `ask` with the seconds that the evaluation under way has left. Raises TimeoutError if none are left.

    The package `regex` measures the processor time of all threads together: if it gives up while this thread has time
    left, the question is asked again.
    """
    while (left := _ends.get() - time.thread_time()) > 0:
        try:
            return ask(left)
        except TimeoutError:
            continue
    raise TimeoutError


@lru_cache(maxsize=1024)
def compiled(expression: str, flags: int = 0) -> regex.Pattern:
    """Raises regex.error, or RecursionError if it is nested too deeply."""
    return regex.compile(expression, flags)


def check_expression(expression: str) -> None:
    """Raises ValueError in words for what cannot be compiled: malformed, or nested or repeated too far."""
    try:
        compiled(expression)
    except (regex.error, OverflowError) as error:
        raise ValueError(f"invalid regular expression: {error}") from None
    except RecursionError:
        raise ValueError("invalid regular expression: it is nested too deeply") from None


def finds(expression: str, text: str, *, field: str, flags: int = 0) -> bool:
    """Whether it is found anywhere in the text. Raises OutOfTime, which names the field."""
    with time_limit(_question(expression, text, field)):
        return limited(lambda left: compiled(expression, flags).search(text, timeout=left)) is not None


def fits(expression: str, text: str, *, field: str, flags: int = 0) -> bool:
    """Whether the whole text is such. Raises OutOfTime, which names the field."""
    with time_limit(_question(expression, text, field)):
        return limited(lambda left: compiled(expression, flags).fullmatch(text, timeout=left)) is not None


def cut(expression: str, text: str, *, field: str) -> str:
    """The text without everything that it finds. Raises OutOfTime, which names the field."""
    with time_limit(_question(expression, text, field)):
        return limited(lambda left: str(compiled(expression).sub("", text, timeout=left)))


def _question(expression: str, text: str, field: str) -> str:
    shown = shortened(expression, _SHOWN)
    return f"{field}: {shown!r}, asked of a text of {len(text)} characters,"
