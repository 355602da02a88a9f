"""Counts the trials of a run that wait for an external answer, so that others can use the processor."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Waits = Callable[[], AbstractContextManager[None]]
"""A context that a trial enters while it waits for an answer from another machine."""


class Waiting:
    """Changed on the gateway's own thread only; `trials` can be read from any thread."""

    def __init__(self) -> None:
        self._calls: Counter[str] = Counter()

    @property
    def trials(self) -> int:
        """The number of trials that wait; each is counted once, however many calls it has made."""
        return len(self._calls)

    @contextmanager
    def answer(self, trial_id: str) -> Iterator[None]:
        """Marks one call of the trial as in progress."""
        self._calls[trial_id] += 1
        try:
            yield
        finally:
            self._calls[trial_id] -= 1
            if not self._calls[trial_id]:
                del self._calls[trial_id]
