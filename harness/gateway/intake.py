"""Limits how many bytes of request bodies, and values in them, the gateway holds for one trial at a time."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web

from harness.gateway.allocator import give_back

BODIES_MAX_BYTES = 128 * 1024 * 1024
VALUES_MAX = 1_000_000
"""Of JSON in the requests of one trial that are not answered yet: a value of two bytes takes 120 when it is read."""
_MUCH_BYTES = 4 * 1024 * 1024
_UNTIL_FREED_S = 0.5


class IntakeLimit:
    """The limit of one trial. Used on the gateway's own thread only."""

    def __init__(self) -> None:
        self.buffered = 0
        self.values = 0
        self.most = 0

    @contextmanager
    def of(self, request: web.BaseRequest) -> Iterator[None]:
        """Counts the bytes that are read of the request's body, and its values, until the request is answered."""
        request[BODY] = body = Body(self)
        try:
            yield
        finally:
            self.buffered -= body.buffered
            self.values -= body.values

    def close(self) -> None:
        """Returns the memory of large requests to the system: the allocator would keep it for the rest of the run."""
        if self.most > _MUCH_BYTES:
            asyncio.get_running_loop().call_later(_UNTIL_FREED_S, give_back)


class Body:
    """The buffered part of one request's body."""

    def __init__(self, intake: IntakeLimit) -> None:
        self._intake = intake
        self.buffered = 0
        self.values = 0

    def admits(self, size: int) -> bool:
        """Counts `size` more bytes; False where the trial's limit would be exceeded."""
        if self._intake.buffered + size > BODIES_MAX_BYTES:
            return False
        self._intake.buffered += size
        self._intake.most = max(self._intake.most, self._intake.buffered)
        self.buffered += size
        return True

    def admits_values(self, count: int) -> bool:
        """Counts the objects, lists and commas of the body; False where the trial's limit would be exceeded."""
        if self._intake.values + count > VALUES_MAX:
            return False
        self._intake.values += count
        self.values += count
        return True


BODY = web.RequestKey("harness.body", Body)
