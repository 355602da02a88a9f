"""The pieces of an answer, and its pauses while something of it waits to be passed on."""

import asyncio
from collections.abc import AsyncIterator, Callable

import aiohttp

from harness.cassette import LONGEST_WAIT_S


async def with_pauses(content: aiohttp.StreamReader, waits: Callable[[], bool]) -> AsyncIterator[bytes | None]:
    """Each piece as it comes; None where nothing came for `LONGEST_WAIT_S` while `waits()`."""
    while True:
        limit = asyncio.timeout(LONGEST_WAIT_S if waits() else None)
        try:
            async with limit:
                piece = await content.readany()
        except TimeoutError:
            if not limit.expired():
                raise
            yield None
            continue
        if not piece:
            return
        yield piece
