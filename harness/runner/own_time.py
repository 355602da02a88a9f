"""The time limit of an agent, which excludes the time that its user takes to answer."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from harness.errors import SandboxError
from harness.sandbox import Sandbox

_LOOK_EVERY_S: Final = 0.05
"""The minimum interval between checks, for a waiting agent with hardly any time left."""


@contextmanager
def own_time_limit(sandbox: Sandbox, limit_s: float, user_waited_s: Callable[[], float]) -> Iterator[None]:
    """Ends the program of the sandbox once it has run for `limit_s`, excluding its waits for the user."""
    began, ended = time.monotonic(), threading.Event()

    def watch() -> None:
        while (left_s := limit_s - (time.monotonic() - began - user_waited_s())) > 0:
            if ended.wait(max(left_s, _LOOK_EVERY_S)):
                return
        with suppress(SandboxError):  # the thread that runs the program gets the same error
            sandbox.expire()

    watching = threading.Thread(target=watch, name="own-time", daemon=True)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        watching.join()
