"""Handles a restart of the engine: requests during the outage wait, and are sent once more."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

import docker
import requests
from docker.errors import DockerException

from harness.errors import SandboxError
from harness.sandbox.containers.running import remove_labelled

Made = TypeVar("Made")

_END_WITHIN_S = 60.0
_LOOK_EVERY_S = 0.25
_GOES_WITHIN_S = 3.0


class EngineOutage:
    """The known outage of one provider's engine. After an outage that exceeded the time limit, no further request
    waits.
    """

    def __init__(self, client: docker.DockerClient, within_s: float = 120.0) -> None:
        """`within_s`: how long an absence may last."""
        self._client = client
        self._within_s = within_s
        self._one_waits = threading.Lock()
        self._over = threading.Event()

    def outlast(self, make: Callable[[], Made]) -> Made:
        """The result of `make`; where it fails because no engine answers, its result once one answers again."""
        until = time.monotonic() + self._within_s
        while True:
            try:
                return make()
            except requests.ConnectionError:  # an engine that is being stopped may answer once more before it ends
                if time.monotonic() > until or not self._comes_back():
                    raise
            except (SandboxError, DockerException, OSError):
                if time.monotonic() > until or not self._is_absent() or not self._comes_back():
                    raise

    def close(self) -> None:
        """Makes waiting callers give up."""
        self._over.set()

    def _is_absent(self) -> bool:
        """True also where the engine stops a moment later: an engine that is being stopped ends containers first, and
        still answers.
        """
        deadline = time.monotonic() + _GOES_WITHIN_S
        while self._answers():
            if time.monotonic() > deadline or self._over.wait(_LOOK_EVERY_S):
                return False
        return True

    def _comes_back(self) -> bool:
        deadline = time.monotonic() + self._within_s
        with self._one_waits:
            while not self._over.wait(_LOOK_EVERY_S):
                if self._answers():
                    return True
                if time.monotonic() > deadline:
                    self._over.set()
        return False

    def _answers(self) -> bool:
        try:
            return bool(self._client.ping())
        except (DockerException, requests.RequestException):
            return False


def remove_all_of(client: docker.DockerClient, label: str) -> None:
    """Removes the containers with this label; an engine that is just being started again is waited for."""
    EngineOutage(client, _END_WITHIN_S).outlast(lambda: remove_labelled(client, label))
