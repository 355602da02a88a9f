"""Work on large texts, done in a thread: the gateway's own thread serves the other trials meanwhile."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Final, TypeVar

T = TypeVar("T")
_LARGE_BYTES: Final = 16 * 1024
"""Of the texts, from which a thread is worth its switch."""
THREADS: Final = 16
"""Threads of one gateway; each trial occupies one at most."""


class LargeWork:
    """The large work of one trial, one piece at a time. Used on the gateway's own thread only."""

    def __init__(self, threads: Executor) -> None:
        self._threads = threads
        self._turn = asyncio.Lock()
        self._asked_for = 0
        self._finishing: set[asyncio.Task[None]] = set()
        self._closed = False

    async def done(self, size: int, work: Callable[[], T]) -> T:
        """The result of the work on texts of `size` bytes.

        Small work is done at once, or after the large work that was asked for before it: that may learn a token which
        the small work has to find.
        """
        if size < _LARGE_BYTES and not self._asked_for:
            return work()
        self._asked_for += 1
        try:
            async with self._turn:
                if size < _LARGE_BYTES:
                    return work()
                return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._asked_for -= 1

    async def settled(self) -> None:
        """Waits for the large work that was asked for before."""
        await self.done(0, lambda: None)

    async def finished(self, size: int, work: Coroutine[object, object, None]) -> None:
        """Waits for work that is done to its end, also where the trial ends first; not where it is closed."""
        if self._closed:
            work.close()
            return
        if size < _LARGE_BYTES:
            await work
            return
        task = asyncio.get_running_loop().create_task(work)
        self._finishing.add(task)
        task.add_done_callback(self._finishing.discard)
        await asyncio.shield(task)

    async def all_finished(self) -> list[BaseException]:
        """Waits for all work that `finished` was asked for, and returns the failures of this: a request that the end
        of the trial has cut short does not tell of its own.
        """
        failures: list[BaseException] = []
        while self._finishing:
            ended = await asyncio.gather(*self._finishing, return_exceptions=True)
            failures += (one for one in ended if one is not None)
        return failures

    async def close(self) -> None:
        """Gives up what is not finished: no task of it is left when the event loop ends."""
        self._closed = True
        left = tuple(self._finishing)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
