"""Trials side by side: the only place where the harness makes threads of its own for its work."""

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_all(
    tasks: Iterable[Task], work: Callable[[Task], Result], jobs: int, abort: Callable[[], None]
) -> Generator[tuple[Task, Result], None, None]:
    """Runs `work` over the tasks, at most `jobs` at a time, and yields (task, result) as each ends.

    No task is begun before its turn, so that a stopped run leaves nothing half-begun in a queue. The first exception
    (Ctrl-C too) ends it: no further task begins, `abort` is called to hurry those at work, then it is raised.
    """
    remaining = iter(tasks)
    pending: dict[Future[Result], Task] = {}
    with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="trial") as executor:
        try:
            _fill(executor, pending, remaining, work, jobs)
            while pending:
                done, _ = wait(pending, return_when=FIRST_COMPLETED)
                finished = [(pending.pop(future), future.result()) for future in done]
                _fill(executor, pending, remaining, work, jobs)
                yield from finished
        except BaseException:
            abort()
            raise


def _fill(
    executor: ThreadPoolExecutor,
    pending: dict[Future[Result], Task],
    remaining: Iterator[Task],
    work: Callable[[Task], Result],
    jobs: int,
) -> None:
    while len(pending) < jobs:
        task = next(remaining, None)
        if task is None:
            return
        pending[executor.submit(work, task)] = task
