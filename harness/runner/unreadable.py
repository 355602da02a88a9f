"""Trials whose agent sent or left data that cannot be read; only the affected trial fails."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from harness.trace import Trajectory, Trial

UNREADABLE: Final = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Errors that hostile data can cause where a limit is missing; failures of the engine and the disk raise other
errors.
"""
_LONGEST = 300


class UnreadableTrial(Exception):
    """Data that the agent sent or left could not be read; the message describes the error."""


@contextmanager
def reading_what_the_agent_left() -> Iterator[None]:
    """Converts errors of reading agent-written data into UnreadableTrial."""
    try:
        yield
    except UNREADABLE as error:
        raise UnreadableTrial(described(error)) from error


def described(error: BaseException) -> str:
    """The error's type and the beginning of its message."""
    return f"{type(error).__name__}: {str(error)[:_LONGEST]}"


def unreadable_trial(case_id: str, attempt: int, agent: str, version: str, problem: str) -> Trial:
    """A trial whose agent failed and whose checks all fail: unreadable data must not score above readable data."""
    return Trial(
        case_id=case_id,
        attempt=attempt,
        outcome="agent_failed",
        reason=f"what the agent sent or left could not be read: {problem.encode('ascii', 'backslashreplace').decode()}",
        trajectory=Trajectory(trace_id="", agent=agent, version=version, steps=()),
        unreadable=True,
    )
