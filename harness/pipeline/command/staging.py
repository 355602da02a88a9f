"""Where a command is recorded before anything of it is in the project: all of it becomes part of it, or nothing."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.disk import flush_folder, flush_tree, make_folder
from harness.errors import UsageError
from harness.process_identity import partial_name

_WORLD = ("images", "snapshots")


@dataclass(frozen=True, kw_only=True)
class Staging:
    """A suite, and a project with its environment, both hidden and removed in the end."""

    project: Path
    suite: Path
    """Two folders below the project, as the suite will be: a path from it to a file of the project holds in both."""
    world: Path
    """Stands for the project: images, snapshots, cassettes and runs."""


@contextmanager
def staging(project: Path) -> Iterator[Staging]:
    """Removed at the end, whatever happened; what a killed process leaves, `harness doctor` removes."""
    above = project / ".harness"
    make_folder(above)
    stage = Staging(project=project, suite=above / partial_name("suite"), world=above / partial_name("world"))
    try:
        stage.suite.mkdir()
        stage.world.mkdir()
        for name in _WORLD:
            if (project / name).is_dir():
                shutil.copytree(project / name, stage.world / name, symlinks=True, copy_function=_linked)
        yield stage
    finally:
        shutil.rmtree(stage.suite, ignore_errors=True)
        shutil.rmtree(stage.world, ignore_errors=True)


def places_of(name: str) -> tuple[str, ...]:
    """Where a new suite's parts are put, in this order; a suite that is there is complete."""
    return f"images/{name}", f"snapshots/{name}", f"cassettes/{name}", f"suites/{name}"


def refuse_taken(project: Path, name: str) -> None:
    """Raises UsageError where a part of a new suite would replace something."""
    for place in places_of(name):
        if os.path.lexists(project / place):
            raise UsageError(
                f"{project / place} exists, but there is no suite {name!r}",
                remedy="record under another name, or remove it",
            )


def adopt(stage: Staging, name: str) -> None:
    """Moves a new suite's parts into the project: all of them, or none."""
    refuse_taken(stage.project, name)
    moved: list[tuple[Path, Path]] = []
    try:
        for place in places_of(name):
            source = stage.suite if place.startswith("suites/") else stage.world / place
            if not source.exists():
                continue
            flush_tree(source)
            target = stage.project / place
            make_folder(target.parent)
            source.chmod(0o755)
            source.rename(target)
            moved.append((source, target))
            flush_folder(target.parent)
    except BaseException:
        for source, target in reversed(moved):
            target.rename(source)
        raise


def _linked(source: str, target: str) -> None:
    """A second name for the same file, which nothing writes to; a copy where the file system has none."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)
