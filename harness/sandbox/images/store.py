"""The images of a project: built once, found again by a tag that names their inputs.

An image is `harness/<name>:<12 hexadecimal digits of its inputs' digest>`; what it builds on is part of the inputs, so
a change below changes every image above. No registry is involved: the tag is computed from the files, then looked up.
"""

import io
import tarfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import docker
import requests
from docker.errors import DockerException, ImageNotFound, NotFound

from harness.errors import ImageError
from harness.sandbox.engine import connect, engine_facts
from harness.sandbox.images.building import (
    DEBIAN,
    Progress,
    build_image,
    cache_folder,
    debian_tag,
    make_debian,
    one_at_a_time,
)
from harness.sandbox.images.recipe import Recipe, context_of, image_names, read_recipe
from harness.sandbox.images.wheels import LISTS, wheels_context, wheels_digest
from harness.sandbox.ownership import owner_labels
from harness.values import digest_of

# The packages of an image: `name=version` of its Debian packages and of the wheels that the harness installed.
#
# They are read from the image's own lists, without running a program in it.

_DPKG = "/var/lib/dpkg/status"


def packages_of(client: docker.DockerClient, tag: str) -> tuple[str, ...]:
    """The sorted package list; wheels as `python:name=version`. Empty for an image without Debian's package lists."""
    api = client.api
    container = api.create_container(tag, command=["true"], network_disabled=True, labels=owner_labels())["Id"]
    try:
        status = "\n".join(_texts(api, container, _DPKG))
        wheels = [line for text in _texts(api, container, LISTS) for line in text.splitlines()]
    finally:
        api.remove_container(container, force=True)
    return tuple(sorted({*_installed(status), *wheels}))


def packages_digest(packages: tuple[str, ...]) -> str:
    """Sha-256 of a package list."""
    return digest_of(list(packages))


def _texts(api: docker.APIClient, container: str, path: str) -> Iterator[str]:
    try:
        chunks, _ = api.get_archive(container, path)
    except NotFound:
        return
    with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is not None:
                yield content.read().decode("utf-8", errors="replace")


def _installed(status: str) -> Iterator[str]:
    for paragraph in status.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in paragraph.splitlines() if line[:1].isalpha() and ": " in line)
        if fields.get("Status", "").endswith(" installed"):
            yield f"{fields['Package']}={fields['Version']}"


@dataclass(frozen=True, kw_only=True)
class BuiltImage:
    """An image that exists in the engine."""

    name: str
    tag: str
    digest: str
    """Digest of the inputs: equal on every machine."""
    packages_digest: str
    """Digest of the package list: differs when the image was built from other versions."""
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
        """Builds the image and what it builds on, or finds it.

        Raises ImageError with the failing step, InvalidDocument for a Dockerfile that cannot be used.
        """
        plan = self._plan(name)
        with _engine_answers(name):
            reused = has_image(self._client, plan.tag)
            if not reused:
                with one_at_a_time(cache_folder()):
                    reused = not self._make(plan, progress)
            size = self._client.api.inspect_image(plan.tag)["Size"]
        with self._lock:
            self._tags[name] = plan.tag
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

        Raises ImageError if it is not built, or was built from other files than the current ones.
        """
        with self._lock:
            known = self._tags.get(name)
        if known is not None:
            return known
        tag = self._plan(name).tag
        with _engine_answers(name):
            is_there = has_image(self._client, tag)
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

    def _plan(self, name: str, above: tuple[str, ...] = ()) -> _Plan:
        if name in above:
            raise ImageError(f"image {name!r} builds on itself: {' on '.join((*above, name))}")
        recipe = read_recipe(self._images, name)
        below = debian_tag() if recipe.on == DEBIAN else self._plan(recipe.on, (*above, name)).tag
        on = (
            below
            if recipe.requirements is None
            else f"harness/wheels:{wheels_digest(below + recipe.requirements)[:12]}"
        )
        digest = recipe.digest(on)
        return _Plan(recipe=recipe, digest=digest, tag=f"harness/{name}:{digest[:12]}", below=below, on=on)

    def _make(self, plan: _Plan, progress: Progress) -> bool:
        """Builds everything that is missing, from the bottom; False: another process made it while this one waited."""
        if has_image(self._client, plan.tag):
            return False
        asked, wheels = plan.recipe.requirements, None
        if asked is not None and not has_image(
            self._client, plan.on
        ):  # one without a wheel is refused before all the rest
            wheels = wheels_context(asked, engine_facts(self._client).machine, cache_folder(), progress)
        if plan.recipe.on != DEBIAN:
            self._make(self._plan(plan.recipe.on), progress)
        elif not has_image(self._client, plan.below):
            make_debian(self._client, progress)
        if wheels is not None:
            build_image(self._client, context_of(wheels), plan.below, plan.on, progress)
        progress(f"building image {plan.recipe.name!r}")
        build_image(self._client, context_of(plan.recipe.files), plan.on, plan.tag, progress)
        return True


@contextmanager
def _engine_answers(image: str) -> Iterator[None]:
    try:
        yield
    except (DockerException, requests.RequestException) as error:
        raise ImageError(
            f"the container engine failed at image {image!r}: {error}", remedy="try again once `docker info` answers"
        ) from None


# Transfers an image between container engines as a stream, in the format of `docker save` and `docker load`.


def has_image(client: docker.DockerClient, tag: str) -> bool:
    """Whether the engine has the image with this tag."""
    try:
        client.api.inspect_image(tag)
    except ImageNotFound:
        return False
    return True


def saved_image(client: docker.DockerClient, tag: str, piece_bytes: int) -> Iterator[bytes]:
    """The image with its base layers, in pieces of `piece_bytes`, the last one shorter. Raises ImageError."""
    piece = bytearray()
    try:
        for part in client.api.get_image(tag):
            piece += part
            while len(piece) >= piece_bytes:
                yield bytes(piece[:piece_bytes])
                del piece[:piece_bytes]
    except (DockerException, requests.RequestException) as error:
        raise ImageError(f"image {tag!r} cannot be read from the container engine: {error}") from None
    yield bytes(piece)


def load_image(client: docker.DockerClient, tag: str, pieces: Iterable[bytes]) -> None:
    """Puts a saved image into the engine. Raises ImageError if the engine does not have it afterwards."""
    try:
        said = list(client.api.load_image(iter(pieces)))
        loaded = has_image(client, tag)
    except (DockerException, requests.RequestException) as error:
        raise ImageError(f"image {tag!r} cannot be loaded into the container engine: {error}") from None
    if not loaded:
        raise ImageError(f"image {tag!r} was sent, but the container engine did not load it: {said[-1:]}")
