"""The container engine: connects to it, and translates its errors."""

from collections.abc import Iterator
from contextlib import contextmanager

import docker
import requests
from docker.errors import DockerException

from harness.errors import EngineUnavailable
from harness.sandbox.ownership import owner_labels

__all__ = ["answering", "connect", "owner_labels"]

_ANSWER_WITHIN_S = 5
_REQUEST_WITHIN_S = 120
_CONNECTIONS = 32

_REMEDY = "start Docker (`docker info` must answer), set DOCKER_HOST, or run with `--sandbox local` (no isolation)"


def connect() -> docker.DockerClient:
    """A client of the engine at DOCKER_HOST or the usual socket; safe to use from many threads.

    Raises EngineUnavailable where none answers within a few seconds.
    """
    try:
        client = docker.from_env(timeout=_ANSWER_WITHIN_S, max_pool_size=_CONNECTIONS)
        client.ping()
    except (DockerException, requests.RequestException) as error:
        raise EngineUnavailable(f"no container engine answers: {error}", remedy=_REMEDY) from None
    client.api.timeout = _REQUEST_WITHIN_S
    return client


@contextmanager
def answering(what: str) -> Iterator[None]:
    """Converts an error or a missing answer of the engine into EngineUnavailable; `what` names the failed operation."""
    try:
        yield
    except (DockerException, requests.RequestException) as error:
        raise EngineUnavailable(f"{what}: {error}", remedy=_REMEDY) from error
