"""The gateway's own thread, and the event loop that runs on it."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent import futures
from contextlib import ExitStack
from typing import Any, TypeVar

from harness.errors import GatewayError

T = TypeVar("T")

_LOOK_EVERY_S = 1.0


class LoopThread:
    """One event loop on one thread; `wait_for` can be called from any other."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def is_running(self) -> bool:
        return self._loop is not None

    def start(self, stack: ExitStack) -> None:
        """Runs the loop until the stack is closed."""
        loop = asyncio.new_event_loop()
        stack.callback(loop.close)
        thread = threading.Thread(target=loop.run_forever, name="harness-gateway", daemon=True)
        thread.start()
        stack.callback(thread.join)
        stack.callback(loop.call_soon_threadsafe, loop.stop)
        self._loop = loop
        stack.callback(self._forget)

    def soon(self, call: Callable[[], object]) -> None:
        """Schedules the call on the thread before all later ones, without waiting. Raises GatewayError."""
        if self._loop is None:
            raise GatewayError("the gateway is not running")
        self._loop.call_soon_threadsafe(call)

    def wait_for(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine on the loop; raises GatewayError where the loop does not run, or is closed during it."""
        if self._loop is None:
            coroutine.close()
            raise GatewayError("the gateway is not running")
        waiting = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        while True:
            try:
                return waiting.result(timeout=_LOOK_EVERY_S)
            except futures.TimeoutError:
                if waiting.done():  # the coroutine's own error
                    raise
            if self._loop is None:
                raise GatewayError("the gateway was closed while a session still needed it")

    def _forget(self) -> None:
        self._loop = None
