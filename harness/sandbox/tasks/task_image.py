"""The image of a task folder: its own Dockerfile, on images of the project where the map says so."""

from dataclasses import dataclass, replace
from pathlib import Path

import docker
from docker.errors import ImageNotFound

from harness.case import Case
from harness.case.task_folder import TaskFolder
from harness.errors import ImageError, InvalidDocument
from harness.sandbox.images.bootstrap import Progress
from harness.sandbox.images.building import build_image, cache_folder, one_at_a_time
from harness.sandbox.images.image_store import ImageStore
from harness.sandbox.images.recipe import ContextFile, context_of, read_files
from harness.sandbox.tasks.dockerfile import external_images, rewritten
from harness.sandbox.tasks.image_map import ImageMap
from harness.values import digest_of

_DOCKERFILE = "Dockerfile"


@dataclass(frozen=True, kw_only=True)
class TaskImage:
    """A built image, and what it says about its programs."""

    tag: str
    id: str
    workdir: str
    env: dict[str, str]


def build_task_image(
    store: ImageStore, images: ImageMap, case: Case, task: TaskFolder, folder: Path, progress: Progress
) -> TaskImage:
    """Builds the image of the task in `folder`, or finds it by the digest of its inputs.

    Raises ImageError with the failing step, and the images of a registry that no key of the map names.
    """
    files = _context(task, folder / "environment")
    text = next(file.content for file in files if file.path == _DOCKERFILE).decode("utf-8")
    named = {name: images.image_for(name) for name in external_images(text)}
    tags = {name: store.build(own, progress).tag for name, own in named.items() if own is not None}
    made = rewritten(text, tags.get)
    context = tuple(replace(one, content=made.encode()) if one.path == _DOCKERFILE else one for one in files)
    digest = digest_of([[one.path, one.executable, digest_of(one.content.hex()), one.link] for one in context])
    tag = f"harness/tasks:{digest[:12]}"
    if not _is_there(store.client, tag):
        progress(f"building the image of task {case.id!r}")
        try:
            with one_at_a_time(cache_folder()):
                build_image(store.client, context_of(context), "", tag, progress)
        except ImageError as error:
            left = sorted(name for name, own in named.items() if own is None)
            raise _unbuilt(case, error, left, images) from None
    found = store.client.api.inspect_image(tag)
    config = found["Config"]
    variables = dict(variable.partition("=")[::2] for variable in config.get("Env") or ())
    return TaskImage(tag=tag, id=found["Id"], workdir=config.get("WorkingDir") or "/", env=variables)


def _context(task: TaskFolder, folder: Path) -> tuple[ContextFile, ...]:
    files = read_files(folder) if folder.is_dir() else ()
    dockerfile = next((file for file in files if file.path == _DOCKERFILE), None)
    if dockerfile is None:
        content = f"FROM {task.image}\n".encode()
        return (*files, ContextFile(path=_DOCKERFILE, executable=False, content=content))
    try:
        dockerfile.content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidDocument(folder / _DOCKERFILE, f"is not UTF-8 ({error.reason} at byte {error.start})") from None
    return files


def _unbuilt(case: Case, error: ImageError, left: list[str], images: ImageMap) -> ImageError:
    """The error of a build, and the remedy where no registry has the images that the engine must pull (`left`)."""
    remedy = error.remedy
    if left:
        remedy = (
            f"where no registry answers for {', '.join(left)}, name an image of the project in its place in"
            f' {images.path}: "{left[0]}": base'
        )
    return ImageError(f"the image of task {case.id!r} cannot be built: {error.message}", remedy=remedy)


def _is_there(client: docker.DockerClient, tag: str) -> bool:
    try:
        client.api.inspect_image(tag)
    except ImageNotFound:
        return False
    return True
