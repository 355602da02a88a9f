"""Trials side by side."""

import threading
from collections.abc import Iterator

import pytest

from harness.runner.pool import run_all


def test_every_task_gives_its_result() -> None:
    results = dict(run_all(range(20), lambda task: task * task, 4, abort=lambda: None))
    assert {task: task * task for task in range(20)} == results


def test_no_more_tasks_are_at_work_than_jobs() -> None:
    at_work = threading.Semaphore(3)

    def work(task: int) -> bool:
        entered = at_work.acquire(blocking=False)
        threading.Event().wait(0.005)
        if entered:
            at_work.release()
        return entered

    assert {True} == {entered for _, entered in run_all(range(30), work, 3, abort=lambda: None)}


def test_a_task_is_not_taken_before_its_turn() -> None:
    taken: list[int] = []

    def tasks() -> Iterator[int]:
        for task in range(10):
            taken.append(task)
            yield task

    results = run_all(tasks(), lambda task: task, 1, abort=lambda: None)
    next(results)
    assert [0, 1] == taken
    results.close()


def test_an_exception_begins_no_further_task_and_calls_abort_before_it_is_raised() -> None:
    began: list[int] = []
    release = threading.Event()

    def work(task: int) -> None:
        began.append(task)
        if task == 1:
            raise ValueError("broken")
        release.wait(60)

    with pytest.raises(ValueError, match="broken"):
        list(run_all(range(50), work, 2, abort=release.set))
    assert release.is_set()
    assert 3 >= len(began)
