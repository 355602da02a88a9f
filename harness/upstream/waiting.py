"""The trials of a run that wait for an external answer, so that others can use the processor."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Waits = Callable[[], AbstractContextManager[None]]
"""Entered by one trial for as long as it waits for an answer from outside of this machine."""


class Waiting:
    """Changed on the gateway's own thread only; `trials` can be read from any."""

    def __init__(self) -> None:
        self._calls: Counter[str] = Counter()

    @property
    def trials(self) -> int:
        """How many trials wait, each counted once however many calls it has made."""
        return len(self._calls)

    @contextmanager
    def answer(self, trial_id: str) -> Iterator[None]:
        """One call of the trial is under way."""
        self._calls[trial_id] += 1
        try:
            yield
        finally:
            self._calls[trial_id] -= 1
            if not self._calls[trial_id]:
                del self._calls[trial_id]
