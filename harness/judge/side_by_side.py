"""Runs panels of several threads concurrently: they share the event loop, connection and rate limit of one judge."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, Thread

from harness.errors import HarnessError
from harness.judge.judge import Judge
from harness.judge.panel import Panel, PanelTask, first_harness_error


class ConcurrentPanels:
    """Runs panels of one judge; no panel waits for another."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._running = 0

    def run(self, panel: Panel, tasks: Iterator[PanelTask]) -> None:
        """Judges all tasks and then returns; safe to call from several threads. Raises HarnessError."""
        with self._opened() as loop:
            try:
                asyncio.run_coroutine_threadsafe(panel.sit(tasks), loop).result()
            except* HarnessError as group:
                raise first_harness_error(group) from None

    @contextmanager
    def _opened(self) -> Iterator[asyncio.AbstractEventLoop]:
        """The event loop, which is open while at least one panel runs."""
        with self._lock:
            loop = self._loop or self._open()
            self._running += 1
        try:
            yield loop
        finally:
            with self._lock:
                self._running -= 1
                if not self._running:
                    self._close(loop)

    def _open(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        self._thread = Thread(target=loop.run_forever, name="judge", daemon=True)
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._judge.asker.__aenter__(), loop).result()
        except BaseException:
            self._end(loop)
            raise
        self._loop = loop
        return loop

    def _close(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = None
        try:
            asyncio.run_coroutine_threadsafe(self._judge.asker.__aexit__(None, None, None), loop).result()
        finally:
            self._end(loop)

    def _end(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.run_coroutine_threadsafe(loop.shutdown_default_executor(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        if self._thread is not None:
            self._thread.join()
        loop.close()
