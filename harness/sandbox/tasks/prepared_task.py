"""The initial state of a task folder's sandboxes: the agent's, the oracle's, and that of the tests."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from harness.case import Case
from harness.case.task_folder import TaskFolder, place_problem
from harness.disk import flush_folder, flush_tree, make_folder
from harness.documents import write_atomically
from harness.errors import ImageError
from harness.process_identity import partial_name
from harness.sandbox.images.bootstrap import Progress
from harness.sandbox.images.image_store import ImageStore
from harness.sandbox.state.snapshot import Snapshot, SnapshotEntry
from harness.sandbox.tasks.image_files import exists_in, folder_files, image_files
from harness.sandbox.tasks.image_map import read_image_map
from harness.sandbox.tasks.task_image import TaskImage, build_task_image
from harness.values import digest_of

REWARD_FILES = ("/logs/verifier/reward.json", "/logs/verifier/reward.txt")
"""The files in which the tests of a task write their reward; the first existing one is used."""

_ALWAYS = ("/root", "/logs/agent", "/logs/artifacts")
_WHERE_THERE = ("/app", "/data", "/home", "/srv", "/workspace")
_SOLUTION = "/solution"
_TESTS = "/tests"
_REWARDS = "/logs/verifier"
_ENTRIES = "entries.json"


@dataclass(frozen=True, kw_only=True)
class PreparedTask:
    """The sandboxes of one task; those of the agent hold neither the tests nor the solution."""

    cwd: str
    """The working directory of programs."""
    agent: Snapshot
    oracle: Snapshot
    tests: Snapshot


def prepare_task(
    project: Path, suite_folder: Path, case: Case, task: TaskFolder, store: ImageStore, progress: Progress
) -> PreparedTask:
    """Builds the task's image and reads from it what is in the writable places; both are kept for the next run.

    Raises ImageError for an image that cannot be built, or whose working directory cannot be writable.
    """
    folder = suite_folder / task.folder
    image = build_task_image(store, read_image_map(project), case, task, folder, progress)
    cwd = task.workdir or str(PurePosixPath(image.workdir))
    problem = None if cwd == "/" else place_problem(cwd)
    if problem is not None:
        raise ImageError(
            f"task {case.id!r}: the working directory {problem}", remedy="change WORKDIR in environment/Dockerfile"
        )
    there = exists_in(store.client, image.tag, _WHERE_THERE)
    places = _outermost((*_ALWAYS, *there, *task.writable, *(() if cwd == "/" else (cwd,))))
    digest = digest_of({"image": image.id, "places": places, "task": task.digest})
    at = project / ".harness" / "tasks" / digest[:24]
    if not at.is_dir():
        progress(f"reading the files of task {case.id!r}")
        _keep(at, store, image, places, folder)
    return _prepared(at, case, task, image, cwd, places)


def _outermost(places: tuple[str, ...]) -> tuple[str, ...]:
    """The places without those inside another one."""
    own = sorted({str(PurePosixPath(place)) for place in places})
    return tuple(one for one in own if not any(one.startswith(f"{other}/") for other in own))


def _keep(at: Path, store: ImageStore, image: TaskImage, places: tuple[str, ...], folder: Path) -> None:
    """All files and their entries, in a folder that gets its name only when it is complete."""
    make_folder(at.parent)
    temporary = at.parent / partial_name("task")
    files = temporary / "files"
    try:
        files.mkdir(parents=True)
        entries = {
            "image": image_files(store.client, image.tag, places, files),
            "tests": folder_files(folder / "tests", _TESTS, files, "test.sh"),
            "solution": folder_files(folder / "solution", _SOLUTION, files, "solve.sh"),
        }
        plain = {part: [entry.model_dump(mode="json") for entry in found] for part, found in entries.items()}
        write_atomically(temporary / _ENTRIES, json.dumps(plain).encode())
        flush_tree(temporary)
        temporary.rename(at)
        flush_folder(at.parent)
    except OSError:
        if not at.is_dir():  # another process may have read the same task already
            raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _prepared(
    at: Path, case: Case, task: TaskFolder, image: TaskImage, cwd: str, places: tuple[str, ...]
) -> PreparedTask:
    plain = json.loads((at / _ENTRIES).read_text(encoding="utf-8"))
    entries = {part: tuple(map(SnapshotEntry.model_validate, found)) for part, found in plain.items()}
    agent = Snapshot(
        name=case.id,
        environment="tasks",
        files=entries["image"],
        env={**image.env, "HOME": "/root", **task.env},
        writable=places,
        folder=at,
        image=image.tag,
    )
    oracle = agent.model_copy(update={"files": agent.files + entries["solution"], "writable": (*places, _SOLUTION)})
    tests = agent.model_copy(
        update={"files": agent.files + entries["tests"], "writable": (*places, _SOLUTION, _TESTS, _REWARDS)}
    )
    return PreparedTask(cwd=cwd, agent=agent, oracle=oracle, tests=tests)
