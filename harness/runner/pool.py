"""Runs trials in parallel: the only place where the harness creates worker threads."""

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


_LOOK_S = 0.05
"""The interval in seconds at which the pool checks for waiting tasks."""


@dataclass(frozen=True, kw_only=True)
class TaskSlots:
    """How many tasks may run at the same time."""

    jobs: int
    """The number of tasks that may use a processor."""
    most: int = 0
    """The number of all tasks, including those that wait for an external answer; a value below `jobs` counts as
    `jobs`.
    """
    waiting: Callable[[], int] = lambda: 0
    """Returns how many of the running tasks are waiting. The number may change at any time."""

    def admits(self, at_work: int) -> bool:
        """Whether another task may begin."""
        return at_work < self.jobs or at_work < min(self.jobs + self.waiting(), self.most)

    @property
    def look_s(self) -> float | None:
        """The interval in seconds until the next check; None where nothing changes before a task has ended."""
        return _LOOK_S if self.most > self.jobs else None


def run_all(
    tasks: Iterable[Task], work: Callable[[Task], Result], room: TaskSlots, abort: Callable[[], None]
) -> Generator[tuple[Task, Result], None, None]:
    """Runs `work` over the tasks, as many at a time as `room` admits, and yields (task, result) as each ends.

    No task is submitted before a slot is free, so that a stopped run leaves no queued task. The first exception
    (including Ctrl-C) ends the loop: no further task starts, `abort` is called so that running tasks end early, and the
    exception is raised again.
    """
    remaining = iter(tasks)
    pending: dict[Future[Result], Task] = {}
    with ThreadPoolExecutor(max_workers=max(room.jobs, room.most), thread_name_prefix="trial") as executor:
        try:
            _fill(executor, pending, remaining, work, room)
            while pending:
                done, _ = wait(pending, timeout=room.look_s, return_when=FIRST_COMPLETED)
                finished = [(pending.pop(future), future.result()) for future in done]
                _fill(executor, pending, remaining, work, room)
                yield from finished
        except BaseException:
            abort()
            raise


def _fill(
    executor: ThreadPoolExecutor,
    pending: dict[Future[Result], Task],
    remaining: Iterator[Task],
    work: Callable[[Task], Result],
    room: TaskSlots,
) -> None:
    while room.admits(len(pending)):
        task = next(remaining, None)
        if task is None:
            return
        pending[executor.submit(work, task)] = task
