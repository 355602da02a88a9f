"""How much of its requests' bodies the gateway holds for one trial at the same time: many large ones are its memory."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web

from harness.gateway.allocator import give_back

BODIES_MAX_BYTES = 128 * 1024 * 1024
_MUCH_BYTES = 4 * 1024 * 1024
_UNTIL_FREED_S = 0.5


class Intake:
    """One trial's. Touched by the gateway's own thread only."""

    def __init__(self) -> None:
        self.held = 0
        self.most = 0

    @contextmanager
    def of(self, request: web.BaseRequest) -> Iterator[None]:
        """What is read of the request's body counts until it is answered."""
        request[BODY] = body = Body(self)
        try:
            yield
        finally:
            self.held -= body.held

    def close(self) -> None:
        """Returns the memory of large requests to the system: the allocator would keep it for the rest of the run."""
        if self.most > _MUCH_BYTES:
            asyncio.get_running_loop().call_later(_UNTIL_FREED_S, give_back)


class Body:
    """The buffered part of one request's body."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self.held = 0

    def admits(self, size: int) -> bool:
        """Counts so many bytes more; False where the trial holds too much already."""
        if self._intake.held + size > BODIES_MAX_BYTES:
            return False
        self._intake.held += size
        self._intake.most = max(self._intake.most, self._intake.held)
        self.held += size
        return True


BODY = web.RequestKey("harness.body", Body)
