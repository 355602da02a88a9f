"""The packages of an image: `name=version` of its Debian packages and of the wheels that the harness installed.

They are read from the image's own lists, without running a program in it.
"""

import io
import tarfile
from collections.abc import Iterator

import docker
from docker.errors import NotFound

from harness.sandbox.engine import owner_labels
from harness.sandbox.images.wheels import LISTS
from harness.values import digest_of

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
