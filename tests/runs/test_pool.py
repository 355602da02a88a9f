"""Trials side by side."""

import threading
from collections.abc import Callable, Iterator

import pytest

from harness.runs.trial.parallel import TaskSlots, run_all


def _at_most(tasks: int) -> Callable[[int], bool]:
    """Work that says whether no more than so many were at it when it began."""
    at_work = threading.Semaphore(tasks)

    def work(task: int) -> bool:
        entered = at_work.acquire(blocking=False)
        threading.Event().wait(0.005)
        if entered:
            at_work.release()
        return entered

    return work


def test_every_task_gives_its_result() -> None:
    results = dict(run_all(range(20), lambda task: task * task, TaskSlots(jobs=4), abort=lambda: None))
    assert {task: task * task for task in range(20)} == results


def test_no_more_tasks_are_at_work_than_jobs() -> None:
    assert {True} == {entered for _, entered in run_all(range(30), _at_most(3), TaskSlots(jobs=3), abort=lambda: None)}


def test_a_task_is_not_taken_before_its_turn() -> None:
    taken: list[int] = []

    def tasks() -> Iterator[int]:
        for task in range(10):
            taken.append(task)
            yield task

    results = run_all(tasks(), lambda task: task, TaskSlots(jobs=1), abort=lambda: None)
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
        list(run_all(range(50), work, TaskSlots(jobs=2), abort=release.set))
    assert release.is_set()
    assert 3 >= len(began)


def test_while_tasks_wait_others_have_their_place() -> None:
    everybody = threading.Barrier(6)
    waiting: list[int] = []

    def work(task: int) -> int:
        waiting.append(task)
        everybody.wait(60)  # never passed unless six are at work
        return task

    room = TaskSlots(jobs=2, most=6, waiting=lambda: len(waiting))
    assert set(range(12)) == {task for task, _ in run_all(range(12), work, room, abort=everybody.abort)}


def test_no_more_wait_than_there_is_room_for() -> None:
    room = TaskSlots(jobs=1, most=3, waiting=lambda: 100)
    assert {True} == {entered for _, entered in run_all(range(30), _at_most(3), room, abort=lambda: None)}
