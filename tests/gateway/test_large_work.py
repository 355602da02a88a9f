"""The large work of one trial: its order, its end, and what becomes of a failure."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.gateway.exchange import LargeWork

_LARGE = 1024 * 1024


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def test_work_that_fails_or_is_cancelled_lets_the_next_begin(threads: ThreadPoolExecutor) -> None:
    free = threading.Event()

    async def ask() -> tuple[int, int]:
        large = LargeWork(threads)
        with pytest.raises(ZeroDivisionError):
            await large.done(_LARGE, lambda: 1 // 0)
        cut_short = asyncio.create_task(large.done(_LARGE, lambda: free.wait(10)))
        waiting = asyncio.create_task(large.done(_LARGE, lambda: free.wait(10)))
        await asyncio.sleep(0.05)
        for task in (cut_short, waiting):
            task.cancel()
        await asyncio.gather(cut_short, waiting, return_exceptions=True)
        try:
            return await large.done(_LARGE, lambda: 2), await large.done(1, lambda: 3)
        finally:
            free.set()

    assert (2, 3) == asyncio.run(ask())


def test_the_failure_of_work_whose_request_was_cut_short_is_told(threads: ThreadPoolExecutor) -> None:
    free = threading.Event()

    async def ask() -> list[BaseException]:
        large = LargeWork(threads)

        async def failing() -> None:
            await large.done(_LARGE, lambda: free.wait(10))
            raise ValueError("no span")

        request = asyncio.create_task(large.finished(_LARGE, failing()))
        await asyncio.sleep(0.05)
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)
        free.set()
        return await large.all_finished()

    (failure,) = asyncio.run(ask())

    assert isinstance(failure, ValueError)
