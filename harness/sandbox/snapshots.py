"""The snapshots of a project, in `snapshots/<environment>/<name>/`: built, listed, loaded, verified, compared.

A snapshot holds nothing of the machine that made it: no image id, no time, no user id. What the sandbox is restored
from is checked to the last byte each time that it is loaded.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from harness.disk import flush_folder, flush_tree, write_atomically
from harness.errors import SnapshotError, UsageError
from harness.processes import partial_name
from harness.sandbox.capture import (
    SNAPSHOT_FILE,
    CapturedEntry,
    browser_profile,
    content_of,
    gather,
    read_snapshot_file,
    verify_content,
)
from harness.sandbox.environment import BASE_IMAGE, DeclaredState, Environment, load_environment
from harness.sandbox.snapshot import ServiceDump, Snapshot

if TYPE_CHECKING:
    from harness.sandbox.images.building import Progress
    from harness.sandbox.images.store import ImageStore


EMPTY = "empty"
"""Name of the empty snapshot, which needs no folder."""

_UNFINISHED = ".sealing-"


class SnapshotStore:
    """The snapshots of `project`. Without `images` a loaded snapshot names no image, and no dump can be made."""

    def __init__(self, project: Path, images: "ImageStore | None" = None) -> None:
        self._project = project
        self._root = project / "snapshots"
        self._images = images

    def build(self, environment: str, name: str, progress: "Progress" = lambda _: None) -> Snapshot:
        """Builds a declared state's snapshot, its images first; the earlier snapshot stays until the new one is
        complete.

        Raises UsageError for an unknown state, SnapshotError for what cannot be captured, ServiceError for a service
        that does not start from its seed.
        """
        declared = load_environment(self._project, environment)
        if name not in declared.states:
            known = ", ".join(sorted(declared.states)) or "none"
            raise UsageError(f"environment {environment!r} declares no state {name!r}", remedy=f"declared: {known}")
        state = declared.states[name]
        if self._images is not None:
            self._images.build(declared.image, progress)
        folder = self._root / environment
        with self._build_lock(folder), _temporary(folder, name) as temporary:
            captured = gather(declared, state)
            progress(f"capturing {len(captured)} files, folders and links")
            _copy(captured, temporary)
            snapshot = Snapshot(
                name=name,
                environment=environment,
                files=tuple(item.entry for item in captured),
                dumps=self._dumps(declared, state, temporary, progress),
                env=state.env,
                browser_url=state.browser.base_url,
                browser_profile=browser_profile(declared, state),
                writable=state.writable,
            )
            write_atomically(temporary / SNAPSHOT_FILE, _snapshot_text(snapshot).encode())
            verify_content(snapshot.model_copy(update={"folder": temporary}))
            _replace_state(temporary, folder / name)
        progress(f"built {environment}/{name}: {snapshot.digest[:12]}")
        return self._with_image(snapshot.model_copy(update={"folder": folder / name}), environment)

    def list(self) -> tuple[Snapshot, ...]:
        """All snapshots, sorted; their digests are checked, their content is not."""
        found = sorted(
            path.parent for path in self._root.glob(f"*/*/{SNAPSHOT_FILE}") if not path.parent.name.startswith(".")
        )
        return tuple(read_snapshot_file(folder) for folder in found)

    def load(self, environment: str | None, name: str | None) -> Snapshot:
        """The verified snapshot, with the tag of the image that it runs in.

        Without a name it is the empty snapshot, on the environment's image or on the built-in one.
        Raises SnapshotError that names the damaged file, ImageError if the image is not built.
        """
        if name is None:
            return self._with_image(Snapshot(name=EMPTY, environment=environment or BASE_IMAGE), environment)
        if environment is None:
            raise UsageError(f"snapshot {name!r} needs the name of its environment")
        return self._with_image(self.verify(environment, name), environment)

    def verify(self, environment: str, name: str) -> Snapshot:
        """Compares the snapshot byte by byte with the files on the disk and returns it; needs no engine."""
        folder = self._root / environment / name
        if not folder.is_dir() and (aside := _aside(folder)).is_dir():
            self.recover(aside)
        if not folder.is_dir():
            known = ", ".join(f"{found.environment}/{found.name}" for found in self.list()) or "none"
            raise SnapshotError(
                f"there is no snapshot {environment}/{name} (captured: {known})",
                remedy=f"harness snapshot build {environment} {name}",
            )
        snapshot = read_snapshot_file(folder)
        verify_content(snapshot)
        return snapshot

    def set_aside(self) -> tuple[Path, ...]:
        """Snapshots that a build has moved aside and that are still there."""
        return tuple(sorted(self._root.glob(f"*/{_UNFINISHED}old-*")))

    def recover(self, left: Path) -> bool:
        """Restores what a killed build had moved aside, or removes it if the new state is in its place.

        False: another build is running there.
        """
        handle = os.open(left.parent, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if left.exists():
                _recover(left, left.parent)
        except BlockingIOError:
            return False
        finally:
            os.close(handle)
        return True

    def _with_image(self, snapshot: Snapshot, environment: str | None) -> Snapshot:
        if self._images is None:
            return snapshot
        image = BASE_IMAGE if environment is None else load_environment(self._project, environment).image
        return snapshot.model_copy(update={"image": self._images.tag(image)})

    def _dumps(
        self,
        environment: Environment,
        state: DeclaredState,
        folder: Path,
        progress: "Progress",
    ) -> tuple[ServiceDump, ...]:
        """State of each service that has a seed."""
        from harness.sandbox.services import dump_service

        found: list[ServiceDump] = []
        (folder / "dumps").mkdir()
        for service, seed in sorted(state.services.items()):
            if self._images is None:
                raise SnapshotError(
                    f"the state of service {service!r} cannot be captured without a container engine",
                    remedy="start Docker, then build the snapshot again",
                )
            self._images.build(environment.image_of(service), progress)
            progress(f"capturing the state of service {service!r}")
            restore = environment.services[service].restore
            # Only the service defines the format: the suffix is that of the file that it starts from.
            path = folder / "dumps" / f"{service}{'' if restore is None else PurePosixPath(restore).suffix}"
            start = environment.folder / seed
            found.append(dump_service(environment, service, images=self._images, start=start, into=path))
        return tuple(found)

    @contextmanager
    def _build_lock(self, folder: Path) -> Iterator[None]:
        """Waits for another build in the same environment, then removes the leftovers of a killed one."""
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            for left in folder.glob(f"{_UNFINISHED}*"):
                _recover(left, folder)
            yield
        finally:
            os.close(handle)


@contextmanager
def _temporary(folder: Path, name: str) -> Iterator[Path]:
    path = folder / partial_name(f"{_UNFINISHED.removeprefix('.')}{name}")
    try:
        path.mkdir()
        path.chmod(0o755)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _copy(captured: tuple[CapturedEntry, ...], folder: Path) -> None:
    for item in captured:
        if item.content is not None:
            target = content_of(folder, item.entry)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(item.content, target)


def _snapshot_text(snapshot: Snapshot) -> str:
    """The snapshot with one field a line, so that a change can be read in a review."""
    stored = {"digest": snapshot.digest, "snapshot": snapshot.plain()}
    return json.dumps(stored, indent=1, ensure_ascii=False) + "\n"


def _replace_state(new: Path, at: Path) -> None:
    """Replaces the old state by the new one; the old one is moved aside first, and back if that fails."""
    flush_tree(new)
    if not at.exists():
        new.rename(at)
        flush_folder(at.parent)
        return
    aside = _aside(at)
    at.rename(aside)
    try:
        new.rename(at)
    except BaseException:
        aside.rename(at)
        raise
    flush_folder(at.parent)
    shutil.rmtree(aside)


def _aside(at: Path) -> Path:
    return at.parent / f"{_UNFINISHED}old-{at.name}"


def _recover(left: Path, folder: Path) -> None:
    """A killed build may have moved the old state aside without putting the new one in its place."""
    name = left.name.removeprefix(f"{_UNFINISHED}old-")
    if name != left.name and not (folder / name).exists():
        left.rename(folder / name)
    else:
        shutil.rmtree(left)
