"""One container that this process has started: how it is started, why it died, how it is removed, and what a
restart of the engine does to it.
"""

import compileall
import json
import os
import re
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, TypeVar

import docker
import requests
from docker.errors import APIError, DockerException, NotFound

from harness.errors import SandboxError
from harness.sandbox import inside as inside_package

_GONE_WITHIN_S = 60.0
_FORCE_AFTER_S = 2.0
_FULL = 0.95


class RunningContainer:
    """Runs nothing before `start`. The container removes itself when its first process ends."""

    def __init__(self, client: docker.DockerClient) -> None:
        self._client = client
        self._id: str | None = None
        self.began = int(time.time())
        """The engine's earlier events do not count."""

    def start(self, container: dict[str, Any]) -> None:
        """Raises SandboxError with the engine's reason."""
        self.create(container)
        self.run()

    def create(self, container: dict[str, Any]) -> str:
        """Creates the container and returns its id. Raises SandboxError with the engine's reason."""
        with _refusals():
            self._id = str(self._client.api.create_container(**container)["Id"])
        return self._id

    def run(self) -> None:
        """Starts the container that was created. Raises SandboxError with the engine's reason."""
        with _refusals():
            self._client.api.start(self._id)

    def why_dead(self) -> str | None:
        """Why the container ended; None while it runs."""
        if self._id is None:
            return "it was never created"
        try:
            return self._death(self._id)
        except (DockerException, OSError) as error:
            return f"the container engine does not answer: {error}"

    def remove(self) -> None:
        """Removes a container whose first process may never have run, or does not exit.

        A container that the engine cannot remove now is left to `remove_labelled`, which reports it: the error that is
        already being raised is more informative.
        """
        if self._id is not None:
            with suppress(SandboxError, DockerException, OSError):
                remove_container(self._client, self._id)

    def _death(self, container: str) -> str | None:
        """The reason why the launcher ended: the engine's events outlive the container and contain its exit code."""
        try:
            state = self._client.api.inspect_container(container)["State"]
        except NotFound:
            state = {"Running": False}
        if state["Running"]:
            return None
        events = self._events(container)
        codes = [event["Actor"]["Attributes"].get("exitCode") for event in events if event["Action"] == "die"]
        code = codes[-1] if codes else state.get("ExitCode", "unknown")
        memory = " after it ran out of memory" if any(event["Action"] == "oom" for event in events) else ""
        return f"its container ended with exit code {code}{memory}"

    def lost_by(self) -> Literal["memory", "engine"] | None:
        """Whose doing it is that the launcher ended, or does not answer: of the programs inside, which used up the
        memory, or of the engine; None: not known.
        """
        try:
            actions = {event["Action"] for event in self._events(self._id or "")}
            if "kill" in actions:
                return "engine"
            return "memory" if "oom" in actions or ("die" not in actions and self._is_full()) else None
        except (DockerException, OSError):
            return "engine"

    def _events(self, container: str) -> list[dict[str, Any]]:
        filters = {"container": container, "event": ["die", "oom", "kill"]}
        events = self._client.api.events(since=self.began, until=int(time.time()) + 1, filters=filters)
        return [json.loads(line) for line in events if line.strip()]

    def _is_full(self) -> bool:
        """Whether the memory is at its limit, without what the kernel can drop at once."""
        memory = self._client.api.stats(self._id, stream=False)["memory_stats"]
        seen = memory.get("stats", {})
        droppable = seen.get("total_inactive_file", seen.get("inactive_file", 0))
        return bool(memory.get("usage", 0) - droppable >= _FULL * memory.get("limit", float("inf")))


def remove_labelled(client: docker.DockerClient, label: str, volumes: Collection[str] = ()) -> None:
    """Waits for containers that are ending by themselves, then removes the remaining ones, and volumes that an engine
    left when it was stopped: those with the label, and those named. Raises SandboxError.
    """
    deadline = time.monotonic() + _GONE_WITHIN_S
    force_from = time.monotonic() + _FORCE_AFTER_S
    while left := client.api.containers(all=True, filters={"label": label}):
        if time.monotonic() > deadline:
            names = ", ".join(container["Id"][:12] for container in left)
            raise SandboxError(f"containers cannot be removed: {names}", remedy="run `harness doctor`")
        if time.monotonic() > force_from:
            for container in left:
                remove_container(client, container["Id"])
        time.sleep(0.05)
    for volume in client.api.volumes(filters={"dangling": True})["Volumes"] or ():
        name, value = label.split("=", 1)
        if volume["Name"] in volumes or (volume["Labels"] or {}).get(name) == value:
            with suppress(NotFound):  # it went with its container
                client.api.remove_volume(volume["Name"])


def remove_container(client: docker.DockerClient, container: str) -> None:
    """Removes a container; a missing one is not an error."""
    try:
        client.api.remove_container(container, force=True, v=True)
    except APIError as error:
        if error.status_code not in (requests.codes.not_found, requests.codes.conflict):
            raise SandboxError(f"container {container[:12]} cannot be removed: {error.explanation}") from None


def compile_launcher() -> None:
    """Compiles the launcher once if host and image have the same Python, so that no sandbox has to."""
    compileall.compile_dir(inside_package.__path__[0], maxlevels=0, quiet=2)


@contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """Converts errors of the engine or this machine into SandboxError, which a trial records."""
    try:
        yield
    except (DockerException, OSError) as error:
        raise SandboxError(f"{what}: {error}", remedy="see what `harness doctor` says") from error


_NO_PYTHON = re.compile(r"python3\W*(: executable file)? not found", re.IGNORECASE)
"""What runc, crun and Podman say of a program that the image does not have."""


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except APIError as error:
        if _NO_PYTHON.search(str(error.explanation)):
            raise SandboxError(
                "the image has no python3, which starts every sandbox: install it in the image's Dockerfile",
                remedy="RUN apt-get update && apt-get install -y python3 (3.10 or later)",
            ) from None
        raise SandboxError(f"the container cannot be started: {error.explanation}", remedy=_remedy(error)) from None


def _remedy(error: APIError) -> str:
    if error.status_code == requests.codes.not_found:
        return "build the image: `harness image build`"
    return "the image needs python3; the engine must see this machine's files (no remote DOCKER_HOST)"


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
        """The result of `make`; if it fails because no engine answers, its result once one answers again."""
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
        """True also if the engine stops a moment later: an engine that is being stopped ends containers first, and
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


def remove_all_of(client: docker.DockerClient, label: str, volumes: Collection[str] = ()) -> None:
    """`remove_labelled`; an engine that is just being started again is waited for."""
    EngineOutage(client, _END_WITHIN_S).outlast(lambda: remove_labelled(client, label, volumes))


def link_gateway(socket: Path, folder: Path) -> None:
    """Hard-links everything next to the session's socket into `folder`, which is created if it is missing.

    A socket is its inode: a connection to the second name reaches the same gateway. Raises SandboxError if
    the two folders are on different file systems.
    """
    folder.mkdir(mode=0o755, exist_ok=True)
    try:
        for file in socket.parent.iterdir():
            os.link(file, folder / file.name)
    except OSError as error:
        raise SandboxError(
            f"the gateway's socket cannot be given to a container that runs already: {error}",
            remedy="set TMPDIR to a folder with a short path",
        ) from error


def unlink_gateway(folder: Path) -> None:
    """Removes the links, so that the folder can be used for the next session."""
    with suppress(FileNotFoundError):  # nothing was ever linked, or the folder has been removed
        for file in folder.iterdir():
            file.unlink(missing_ok=True)
