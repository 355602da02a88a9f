"""Trials in parallel: how many this machine can run, and the threads that run them."""

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from harness.suite.cases import Limits

# Runs trials in parallel: the only place where the harness creates worker threads.

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
        """The interval in seconds until the next check; None if nothing changes before a task has ended."""
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


# A trial that works needs a processor; one that waits for a live model, tool or host needs its memory only. Memory is
# counted by the cases' limits, not by the agents' actual use, so that no trial is ended because of another.

MOST: Final = 64
"""The default never exceeds this number of parallel trials: each has a container, a thread and connections of its own.
"""
_LEFT: Final = 0.8
"""Share of the free memory that trials may have."""
_CGROUP: Final = Path("/sys/fs/cgroup")


def jobs_held(limits: Iterable[Limits]) -> int:
    """The number of trials that work at a time: one for each processor, if memory allows."""
    return min(processors(), trials_held(limits))


def trials_held(limits: Iterable[Limits]) -> int:
    """The number of trials that run at a time, including waiting ones."""
    largest_mb = max((one.memory_mb for one in limits), default=1)
    return max(1, min(MOST, int(free_memory_mb() * _LEFT) // largest_mb))


def processors() -> int:
    """The number of processors that this process may use."""
    allowed = len(os.sched_getaffinity(0))
    quota = _processor_quota()
    return allowed if quota is None else max(1, min(allowed, round(quota)))


def free_memory_mb() -> int:
    """The free memory of the machine, limited by the control group if it has a limit."""
    fields = (line.split() for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
    free_kb = next(int(field[1]) for field in fields if field[0] == "MemAvailable:")
    found = [free_kb // 1024]
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        most, taken = _number_in(_CGROUP / limit), _number_in(_CGROUP / used)
        if most is not None and taken is not None:
            found.append(max(0, most - taken) // 1_048_576)
    return min(found)


def _processor_quota() -> float | None:
    """The processor quota of the control group, in processors; None if it has no limit."""
    try:
        quota, period = (_CGROUP / "cpu.max").read_text(encoding="ascii").split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        old, per = _number_in(_CGROUP / "cpu/cpu.cfs_quota_us"), _number_in(_CGROUP / "cpu/cpu.cfs_period_us")
        return None if old is None or old <= 0 or not per else old / per


def _number_in(path: Path) -> int | None:
    """The number in the file; None if the file is missing or contains a word."""
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
