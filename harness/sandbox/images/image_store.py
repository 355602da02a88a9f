"""The images of a project: built once, found again by a tag that names their inputs.

An image is `harness/<name>:<12 hexadecimal digits of its inputs' digest>`; what it builds on is part of the inputs, so
a change below changes every image above. No registry is involved: the tag is computed from the files, then looked up.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import docker
import requests
from docker.errors import DockerException, ImageNotFound

from harness.errors import ImageError
from harness.sandbox.engine import connect
from harness.sandbox.engines.facts import engine_facts
from harness.sandbox.images.bootstrap import DEBIAN, Progress, debian_tag, make_debian
from harness.sandbox.images.building import build_image, cache_folder, one_at_a_time
from harness.sandbox.images.lock import LockedImage, differences, read_lock, write_lock
from harness.sandbox.images.packages import packages_digest, packages_of
from harness.sandbox.images.recipe import Recipe, context_of, image_names, read_recipe
from harness.sandbox.images.wheels import wheels_context, wheels_digest


@dataclass(frozen=True, kw_only=True)
class BuiltImage:
    """An image that exists in the engine."""

    name: str
    tag: str
    digest: str
    """Digest of the inputs: equal on every machine."""
    packages_digest: str
    """Digest of the package list: differs where the image was built from other versions."""
    size_mb: int
    reused: bool
    """Whether the image existed before."""


@dataclass(frozen=True, kw_only=True)
class _Plan:
    recipe: Recipe
    digest: str
    tag: str
    below: str
    """The tag of the image that the recipe builds on, without the wheels."""
    on: str
    """The tag that BASE is set to."""


class ImageStore:
    """The images of the project in `project`, in the engine behind `client` (None: the usual one)."""

    def __init__(self, project: Path, client: docker.DockerClient | None = None) -> None:
        self._images = project / "images"
        self._client = connect() if client is None else client
        self._tags: dict[str, str] = {}
        self._packages: dict[str, tuple[str, ...]] = {}
        self._lock = threading.Lock()

    @property
    def client(self) -> docker.DockerClient:
        """The engine that contains the images."""
        return self._client

    def names(self) -> tuple[str, ...]:
        """All images of the project, including the built-in `base`."""
        return image_names(self._images)

    def build(self, name: str, progress: Progress = lambda _: None) -> BuiltImage:
        """Builds the image and what it builds on, or finds it; reports packages that differ from the lock.

        Raises ImageError with the failing step, InvalidDocument for a Dockerfile that cannot be used.
        """
        plan = self._plan(name)
        with _engine_answers(name):
            reused = self._is_there(plan.tag)
            if not reused:
                with one_at_a_time(cache_folder()):
                    reused = not self._make(plan, progress)
            size = self._client.api.inspect_image(plan.tag)["Size"]
        with self._lock:
            self._tags[name] = plan.tag
        self._report(plan, progress)
        return BuiltImage(
            name=name,
            tag=plan.tag,
            digest=plan.digest,
            packages_digest=packages_digest(self.packages(plan.tag)),
            size_mb=round(size / 1_000_000),
            reused=reused,
        )

    def tag(self, name: str) -> str:
        """The tag of a built image; this store caches the result.

        Raises ImageError where it is not built, or was built from other files than the current ones.
        """
        with self._lock:
            known = self._tags.get(name)
        if known is not None:
            return known
        tag = self._plan(name).tag
        with _engine_answers(name):
            is_there = self._is_there(tag)
        if not is_there:
            raise ImageError(
                f"image {name!r} is not built from its present files", remedy=f"harness image build {name}"
            )
        with self._lock:
            self._tags[name] = tag
        return tag

    def packages(self, tag: str) -> tuple[str, ...]:
        """`name=version` of all that is installed in the image with this tag, sorted."""
        with self._lock:
            known = self._packages.get(tag)
        if known is None:
            with _engine_answers(tag):
                known = packages_of(self._client, tag)
            with self._lock:
                self._packages[tag] = known
        return known

    def lock(self, progress: Progress = lambda _: None) -> Path:
        """Builds every image of the project and writes the packages of each to the lock file."""
        locked = {}
        for name in self.names():
            built = self.build(name, progress)
            packages = self.packages(built.tag)
            locked[name] = LockedImage(inputs=built.digest, packages_digest=built.packages_digest, packages=packages)
        return write_lock(self._images, locked)

    def _plan(self, name: str, above: tuple[str, ...] = ()) -> _Plan:
        if name in above:
            raise ImageError(f"image {name!r} builds on itself: {' on '.join((*above, name))}")
        recipe = read_recipe(self._images, name)
        below = debian_tag() if recipe.on == DEBIAN else self._plan(recipe.on, (*above, name)).tag
        on = below if recipe.requirements is None else _wheels_tag(recipe.requirements, below)
        digest = recipe.digest(on)
        return _Plan(recipe=recipe, digest=digest, tag=f"harness/{name}:{digest[:12]}", below=below, on=on)

    def _make(self, plan: _Plan, progress: Progress) -> bool:
        """Builds everything that is missing, from the bottom; False: another process made it while this one waited."""
        if self._is_there(plan.tag):
            return False
        if plan.recipe.on != DEBIAN:
            self._make(self._plan(plan.recipe.on), progress)
        elif not self._is_there(plan.below):
            make_debian(self._client, progress)
        if plan.recipe.requirements is not None and not self._is_there(plan.on):
            self._make_wheels(plan.recipe.requirements, plan, progress)
        progress(f"building image {plan.recipe.name!r}")
        build_image(self._client, plan.recipe.context(), plan.on, plan.tag, progress)
        return True

    def _make_wheels(self, requirements: str, plan: _Plan, progress: Progress) -> None:
        machine = engine_facts(self._client).machine
        files = wheels_context(requirements, machine, cache_folder(), progress)
        build_image(self._client, context_of(files), plan.below, plan.on, progress)

    def _is_there(self, tag: str) -> bool:
        try:
            self._client.api.inspect_image(tag)
        except ImageNotFound:
            return False
        return True

    def _report(self, plan: _Plan, progress: Progress) -> None:
        locked = read_lock(self._images).get(plan.recipe.name)
        changed = None if locked is None else differences(locked.packages, self.packages(plan.tag))
        if changed is not None:
            progress(f"image {plan.recipe.name!r} holds other packages than images/lock.toml says: {changed}")


@contextmanager
def _engine_answers(image: str) -> Iterator[None]:
    try:
        yield
    except (DockerException, requests.RequestException) as error:
        raise ImageError(
            f"the container engine failed at image {image!r}: {error}", remedy="try again once `docker info` answers"
        ) from None


def _wheels_tag(requirements: str, below: str) -> str:
    return f"harness/wheels:{wheels_digest(below + requirements)[:12]}"
