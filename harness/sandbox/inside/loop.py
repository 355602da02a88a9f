"""One thread that waits for many descriptors."""

from __future__ import annotations

import select

TYPE_CHECKING = False  # this starts many times, and does without `typing`


if TYPE_CHECKING:
    from collections.abc import Callable


READ = select.EPOLLIN
WRITE = select.EPOLLOUT


class Loop:
    """File descriptors and the handlers of their events."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._waiting: dict[int, tuple[int, Callable[[], None]]] = {}

    def watch(self, fd: int, events: int, handler: Callable[[], None]) -> None:
        """Replaces the watched events; without events the descriptor is removed, since a hang-up would be reported
        repeatedly.
        """
        before = self._waiting.pop(fd, None)
        if events:
            self._waiting[fd] = (events, handler)
        if before is None:
            if events:
                self._epoll.register(fd, events)
        elif not events:
            self._epoll.unregister(fd)
        elif before[0] != events:
            self._epoll.modify(fd, events)

    def forget(self, fd: int) -> None:
        """Must be called before `fd` is closed."""
        self.watch(fd, 0, _do_nothing)

    def turn(self, timeout_s: float) -> None:
        """Waits for at most `timeout_s`, then handles the descriptors that are ready."""
        for fd, _ in self._epoll.poll(max(timeout_s, 0), 256):
            waiting = self._waiting.get(fd)
            if waiting is not None:
                waiting[1]()


def _do_nothing() -> None:
    pass
