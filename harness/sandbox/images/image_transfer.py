"""Transfers an image between container engines as a stream, in the format of `docker save` and `docker load`."""

from collections.abc import Iterable, Iterator

import docker
import requests
from docker.errors import DockerException, ImageNotFound

from harness.errors import ImageError


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
    """Puts a saved image into the engine. Raises ImageError where the engine does not have it afterwards."""
    try:
        said = list(client.api.load_image(iter(pieces)))
        loaded = has_image(client, tag)
    except (DockerException, requests.RequestException) as error:
        raise ImageError(f"image {tag!r} cannot be loaded into the container engine: {error}") from None
    if not loaded:
        raise ImageError(f"image {tag!r} was sent, but the container engine did not load it: {said[-1:]}")
