"""`harness run --watch` on task folders: a changed file affects its own task."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.runs.watching import WatchedSuite, affected_cases, watch_of, watched_suite

Tasks = Callable[..., Path]


def state(project: Path) -> WatchedSuite:
    name = str(project / "terminal")
    suite = watched_suite(project, name, None, {}).suite
    return watched_suite(project, name, None, watch_of(project, suite, replayed=True).contents())


@pytest.mark.parametrize(
    ("name", "affected"),
    [
        ("terminal/greeting/tests/test.sh", ("greeting",)),
        ("terminal/greeting/environment/Dockerfile", ("greeting",)),
        ("terminal/weighted/task.toml", ("weighted",)),
        ("images/map.yaml", ("greeting", "weighted")),
    ],
)
def test_a_changed_file_affects_its_own_task(tasks: Tasks, name: str, affected: tuple[str, ...]) -> None:
    project = tasks("greeting", "weighted").parent.resolve()
    before = state(project)

    with (project / name).open("a") as stream:
        stream.write("# changed\n")

    assert affected == affected_cases(project, before, state(project))


def test_a_new_task_is_affected_alone(tasks: Tasks) -> None:
    project = tasks("greeting", "weighted").parent.resolve()
    (project / "terminal/weighted").rename(project / "later")
    before = state(project)

    (project / "later").rename(project / "terminal/weighted")

    assert ("weighted",) == affected_cases(project, before, state(project))
