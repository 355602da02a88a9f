"""Builds one image with the engine; progress is reported by step, a failure with its step and the last lines."""

import fcntl
import io
import os
from collections import deque
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from harness.errors import ImageError
from harness.sandbox.images.bootstrap import Progress

if TYPE_CHECKING:  # the engine's library takes longer to import than a sandbox that needs no engine to run
    import docker

TEMPORARY = "harness.temporary"
"""Label of build stages that are not needed afterwards."""

_SILENT_AT_MOST_S = 1800
_LAST_LINES = 20


def build_image(client: "docker.DockerClient", context: bytes, on_tag: str, tag: str, progress: Progress) -> None:
    """Builds `context` on the image `on_tag`; the engine sets the tag only when the build is complete.

    Leaving early, by an interrupt too, closes the connection: the engine then ends the step and removes its container.
    """
    import requests
    from docker.errors import APIError

    last: deque[str] = deque(maxlen=_LAST_LINES)
    step = "before the first step"
    try:
        for line in _events(client, context, on_tag, tag):
            if "error" in line:
                tail = "\n".join(f"    {text}" for text in last)
                raise ImageError(
                    f"image {tag!r} cannot be built: {line['error'].strip()}\n  in {step}\n{tail}",
                    remedy="correct the Dockerfile; inside a build apt works, pip does not (see requirements.txt)",
                )
            for text in str(line.get("stream", "")).splitlines():
                if text.startswith("Step "):
                    step = text
                    progress(shorten(text, 110))
                elif text.strip():
                    last.append(text.rstrip())
    except (APIError, requests.RequestException) as error:
        raise ImageError(f"image {tag!r} cannot be built: {error}\n  in {step}") from None
    finally:
        _remove_temporary(client)


@contextmanager
def one_at_a_time(cache: Path) -> Iterator[None]:
    """Waits until no other process of this user builds images: two builds would do the same work, or prune each other's
    layers.
    """
    try:
        cache.mkdir(parents=True, exist_ok=True)
        stream = (cache / "images.lock").open("wb")
    except OSError as error:
        raise ImageError(
            f"the folder {cache} cannot be used: {error.strerror}", remedy="set XDG_CACHE_HOME to another one"
        ) from None
    with stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def cache_folder() -> Path:
    """The folder in which wheels are cached between builds."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "harness"


def _events(client: "docker.DockerClient", context: bytes, on_tag: str, tag: str) -> Iterator[dict[str, Any]]:
    events = client.api.build(
        fileobj=io.BytesIO(context),
        custom_context=True,
        tag=tag,
        buildargs={"BASE": on_tag},
        decode=True,
        rm=True,
        forcerm=True,
        timeout=_SILENT_AT_MOST_S,
    )
    with closing(events):
        yield from events


def _remove_temporary(client: "docker.DockerClient") -> None:
    import requests
    from docker.errors import APIError

    try:
        client.api.prune_images(filters={"dangling": True, "label": f"{TEMPORARY}=true"})
    except APIError as error:
        if error.status_code != requests.codes.conflict:  # another prune is under way: it does the same
            raise
