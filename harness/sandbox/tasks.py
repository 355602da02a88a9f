"""Task folders of Harbor's format: their images without a registry, and the initial files of their sandboxes."""

import hashlib
import io
import json
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import IO

import docker
from docker.errors import NotFound

from harness.disk import flush_folder, flush_tree, is_file, make_folder, write_atomically
from harness.errors import ImageError, InvalidDocument
from harness.processes import partial_name
from harness.sandbox.images.building import Progress, build_image, cache_folder, one_at_a_time
from harness.sandbox.images.recipe import ContextFile, context_of, image_names, read_files
from harness.sandbox.images.store import ImageStore, has_image
from harness.sandbox.snapshot import Snapshot, SnapshotEntry
from harness.suite.cases import Case, TaskFolder, place_problem
from harness.suite.documents import read_document
from harness.text import alternatives
from harness.values import digest_of

_ARG = re.compile(r"^\s*ARG\s+(\w+)=(\S+)\s*$", re.IGNORECASE)
_FROM = re.compile(r"^(\s*FROM\s+(?:--platform=\S+\s+)?)(\S+)((?:\s+AS\s+(\S+))?\s*)$", re.IGNORECASE)
_COPY = re.compile(r"^(\s*COPY\s(?:.*?\s)?--from=)(\S+)(\s.*)$", re.IGNORECASE)
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
_NEEDS = (
    "USER root",
    "RUN command -v python3 >/dev/null 2>&1"
    " || { command -v apt-get >/dev/null && apt-get update -qq && DEBIAN_FRONTEND=noninteractive"
    " apt-get install -y -qq --no-install-recommends python3; }"
    " || apk add --no-cache python3",
)
"""Appended to every Dockerfile; `USER` has no effect on a sandbox."""


def rewritten(text: str, tag_for: Callable[[str], str | None]) -> str:
    """The Dockerfile to build; `tag_for` gives the tag that replaces an image's name, None if it stays.

    Names of stages are left as they are. An `ARG` with a default above the first `FROM` is filled in.
    """
    stages: set[str] = {"scratch"}
    defaults: dict[str, str] = {}
    lines = []

    def replaced(line: re.Match[str]) -> str:
        name = _VARIABLE.sub(lambda found: defaults.get(found[1], found[0]), line[2])
        tag = None if name.lower() in stages or name.isdigit() else tag_for(name)
        return line[1] + (line[2] if tag is None else tag) + line[3]

    for line in text.splitlines():
        if (begins := _FROM.match(line)) is not None:
            lines.append(replaced(begins))
            if begins[4]:
                stages.add(begins[4].lower())
            continue
        if (default := _ARG.match(line)) is not None and len(stages) == 1:
            defaults[default[1]] = default[2].strip("\"'")
        copies = _COPY.match(line)
        lines.append(line if copies is None else replaced(copies))
    return "\n".join((*lines, *_NEEDS)) + "\n"


def external_images(text: str) -> tuple[str, ...]:
    """The images that a Dockerfile names and does not make itself, in their order."""
    found: list[str] = []

    def note(name: str) -> None:
        found.append(name)

    rewritten(text, note)
    return tuple(dict.fromkeys(found))


IMAGE_MAP = "map.yaml"
_IMPLIED = ("docker.io/library/", "docker.io/", "index.docker.io/library/")


@dataclass(frozen=True, kw_only=True)
class ImageMap:
    """The map of a project; empty if it has none."""

    path: Path
    images: Mapping[str, str] = field(default_factory=dict)
    """Name or pattern -> image of the project, in the order in which they are tried."""

    def image_for(self, name: str) -> str | None:
        """The project's image for the name of a registry's; None: it is left to the engine."""
        plain = name
        for implied in _IMPLIED:
            plain = plain.removeprefix(implied)
        spelt = (name, plain, plain.partition("@")[0])
        return next((own for key, own in self.images.items() if any(fnmatchcase(one, key) for one in spelt)), None)


def read_image_map(project: Path) -> ImageMap:
    """The project's map. Raises InvalidDocument that names file and field for an image that the project lacks."""
    path = project / "images" / IMAGE_MAP
    if not is_file(path):
        return ImageMap(path=path)
    images = read_document(path, dict[str, str])
    known = image_names(project / "images")
    for key, own in images.items():
        if own not in known:
            raise InvalidDocument(path, f"the project has no image {own!r}", field=key, remedy=alternatives(own, known))
    return ImageMap(path=path, images=images)


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
    if not has_image(store.client, tag):
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
    """The error of a build, and the remedy if no registry has the images that the engine must pull (`left`)."""
    remedy = error.remedy
    if left:
        remedy = (
            f"if no registry answers for {', '.join(left)}, name an image of the project in its place in"
            f' {images.path}: "{left[0]}": base'
        )
    return ImageError(f"the image of task {case.id!r} cannot be built: {error.message}", remedy=remedy)


# The files of an image below some folders, as the entries of a snapshot, because a tmpfs would hide them.

_IN_MEMORY = 16 * 1024 * 1024
_PERMISSIONS = 0o777


def image_files(
    client: docker.DockerClient, tag: str, places: tuple[str, ...], into: Path
) -> tuple[SnapshotEntry, ...]:
    """Copies what is below the places of an image to `into`, which mirrors its root; places that it lacks are empty.

    Raises ImageError for an image whose place is a link.
    """
    with _never_started(client, tag) as container:
        return tuple(entry for place in places for entry in _entries_below(client, container, place, into))


def folder_files(folder: Path, at: str, into: Path, program: str) -> tuple[SnapshotEntry, ...]:
    """The files of a task's own folder as root's, at another place; `program` is executable whatever its mode."""
    entries = []
    for file in read_files(folder):
        path = f"{at}/{file.path}"
        if file.link is not None:
            entries.append(SnapshotEntry(path=path, kind="link", mode=0o777, owner="root", link=file.link))
            continue
        size, sha256 = _copy(io.BytesIO(file.content), into, path)
        mode = 0o755 if file.executable or file.path == program else 0o644
        entries.append(SnapshotEntry(path=path, mode=mode, owner="root", size=size, sha256=sha256))
    return tuple(entries)


def exists_in(client: docker.DockerClient, tag: str, places: tuple[str, ...]) -> tuple[str, ...]:
    """The folders that exist in the image."""
    there = []
    with _never_started(client, tag) as container:
        for place in places:
            with suppress(NotFound):
                client.api.get_archive(container, place)[0].close()
                there.append(place)
    return tuple(there)


@contextmanager
def _never_started(client: docker.DockerClient, tag: str) -> Iterator[str]:
    """A container of the image, from which files are copied."""
    container = client.api.create_container(tag, ["true"])["Id"]
    try:
        yield container
    finally:
        client.api.remove_container(container, force=True)


def _entries_below(client: docker.DockerClient, container: str, place: str, into: Path) -> Iterator[SnapshotEntry]:
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as spool:
        try:
            chunks, _ = client.api.get_archive(container, place)
        except NotFound:
            return
        for chunk in chunks:
            spool.write(chunk)
        spool.seek(0)
        with tarfile.open(fileobj=spool, mode="r:") as archive:
            yield from _entries(archive, place, into)


def _entries(archive: tarfile.TarFile, place: str, into: Path) -> Iterator[SnapshotEntry]:
    for member in archive:
        below = PurePosixPath(*PurePosixPath(member.name).parts[1:])  # the first part is the name of the place itself
        if not below.parts:
            if member.issym():
                raise ImageError(f"{place} is a link in the image", remedy="make it a folder in the Dockerfile")
            continue
        path, mode = f"{place}/{below}", member.mode & _PERMISSIONS
        if member.isdir():
            yield SnapshotEntry(path=path, kind="directory", mode=mode)
        elif member.issym():
            yield SnapshotEntry(path=path, kind="link", mode=0o777, link=member.linkname)
        elif (content := archive.extractfile(member)) is not None:
            size, sha256 = _copy(content, into, path)
            yield SnapshotEntry(path=path, mode=mode, size=size, sha256=sha256)


def _copy(content: IO[bytes], into: Path, path: str) -> tuple[int, str]:
    target = into / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as stream:
        shutil.copyfileobj(content, stream)
    with target.open("rb") as stream:
        return os.fstat(stream.fileno()).st_size, hashlib.file_digest(stream, "sha256").hexdigest()


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
        _store_files(at, store, image, places, folder)
    return _prepared(at, case, task, image, cwd, places)


def _outermost(places: tuple[str, ...]) -> tuple[str, ...]:
    """The places without those inside another one."""
    own = sorted({str(PurePosixPath(place)) for place in places})
    return tuple(one for one in own if not any(one.startswith(f"{other}/") for other in own))


def _store_files(at: Path, store: ImageStore, image: TaskImage, places: tuple[str, ...], folder: Path) -> None:
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
