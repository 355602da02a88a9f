"""Sandboxes that are prepared in advance, while others run."""

import threading
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

from harness.errors import HarnessError

Prepared = TypeVar("Prepared")


class Reserve(Generic[Prepared]):
    """At most `depth` sandboxes of one kind wait at a time; kinds that are no longer requested are not
    prepared again.
    """

    def __init__(self, depth: int, throw_away: Callable[[Prepared], None]) -> None:
        self._depth = depth
        self._throw_away = throw_away
        self._lock = threading.Lock()
        self._waiting: dict[Hashable, deque[Future[Prepared]]] = {}
        self._makers = ThreadPoolExecutor(max_workers=depth, thread_name_prefix="reserve") if depth else None

    def take(self, kind: Hashable) -> Prepared | None:
        """Returns a prepared sandbox, or one that will be ready before a new one; None where there is none, or where
        its preparation failed.
        """
        with self._lock:
            waiting = self._waiting.get(kind)
            future = waiting.popleft() if waiting else None
        try:
            return None if future is None else future.result()
        except HarnessError:
            return None  # the caller then creates one, and reports the reason of a failure

    def refill(self, kind: Hashable, make: Callable[[], Prepared]) -> None:
        """Prepares more sandboxes, up to the depth; waiting ones of another kind are discarded first."""
        if self._makers is None:
            return
        with self._lock:
            others = [future for other, held in self._waiting.items() if other != kind for future in held]
            self._waiting = {kind: self._waiting.get(kind, deque())}
            while len(self._waiting[kind]) < self._depth:
                try:
                    self._waiting[kind].append(self._makers.submit(make))
                except RuntimeError:  # closed meanwhile
                    break
        for future in others:
            self._discard(future)

    def close(self) -> None:
        """Discards the unused sandboxes and stops preparing further ones."""
        if self._makers is None:
            return
        self._makers.shutdown(wait=True, cancel_futures=True)
        with self._lock:
            left = [future for held in self._waiting.values() for future in held]
            self._waiting = {}
        for future in left:
            self._discard(future)

    def _discard(self, future: Future[Prepared]) -> None:
        def when_done(done: Future[Prepared]) -> None:
            if not done.cancelled() and done.exception() is None:
                self._throw_away(done.result())

        future.cancel()
        future.add_done_callback(when_done)
