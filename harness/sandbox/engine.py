"""The container engine: connects to it, and translates its errors."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from harness.errors import EngineUnavailable
from harness.sandbox.ownership import owner_labels

if TYPE_CHECKING:  # the engine's library takes longer to import than a sandbox that needs no engine to run
    import docker

__all__ = ["answering", "connect", "owner_labels"]

_ANSWER_WITHIN_S = 5
_REQUEST_WITHIN_S = 120
_CONNECTIONS = 32

_REMEDY = "start Docker (`docker info` must answer), set DOCKER_HOST, or run with `--sandbox local` (no isolation)"


def connect() -> "docker.DockerClient":
    """A client of the engine at DOCKER_HOST or the usual socket; safe to use from many threads.

    Raises EngineUnavailable where none answers within a few seconds.
    """
    import docker

    try:
        client = docker.from_env(timeout=_ANSWER_WITHIN_S, max_pool_size=_CONNECTIONS)
        client.ping()
    except _failures() as error:
        raise EngineUnavailable(f"no container engine answers: {error}", remedy=_REMEDY) from None
    client.api.timeout = _REQUEST_WITHIN_S
    return client


@contextmanager
def answering(what: str) -> Iterator[None]:
    """Converts an error or a missing answer of the engine into EngineUnavailable; `what` names the failed operation."""
    try:
        yield
    except _failures() as error:
        raise EngineUnavailable(f"{what}: {error}", remedy=_REMEDY) from error


def _failures() -> tuple[type[Exception], ...]:
    import requests
    from docker.errors import DockerException

    return DockerException, requests.RequestException
