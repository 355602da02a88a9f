"""The container engine: connects to it, translates its errors, and knows in what it differs from Docker."""

import json
import os
import resource
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import EngineUnavailable
from harness.values import digest_of

if TYPE_CHECKING:
    import docker
    from docker.types import Ulimit


_ANSWER_WITHIN_S = 5
_REQUEST_WITHIN_S = 120
_CONNECTIONS = 32

_REMEDY = "start Docker (`docker info` must answer), set DOCKER_HOST, or run with `--sandbox local` (no isolation)"


def connect() -> "docker.DockerClient":
    """A client of the engine at DOCKER_HOST or the usual socket; safe to use from many threads.

    Raises EngineUnavailable if none answers within a few seconds.
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


DOCKER = "Docker"
PODMAN = "Podman"


def engine_name(version: Mapping[str, Any]) -> str:
    """`Docker`, `Podman`, or the name that an unknown engine gives to its first component."""
    names = [str(component.get("Name", "")) for component in version.get("Components") or ()]
    if any(name.startswith(PODMAN) for name in names):
        return PODMAN
    return DOCKER if not names or names[0] == "Engine" else names[0]


_ROOTLESS = "rootless"
_DOCKER_DESKTOP = "Docker Desktop"
"""What it calls the operating system of its virtual machine, on every system."""

_NO_FILE_LIMIT = "no limit on the number of files in a writable place (its memory limit holds)"
_NO_SOCKETS = (
    "no sockets of this machine in containers: `docker` starts a relay for each trial, `docker-warm` cannot run"
)


@dataclass(frozen=True, kw_only=True)
class EngineFacts:
    """An engine's answers to `version` and `info`, in one form for all engines."""

    name: str
    version: str
    machine: str
    """The machine as Python's wheels name it: `x86_64`, `aarch64`."""
    cpus: int
    driver: str
    cgroups: str
    kernel: str
    rootless: bool
    default_runtime: str
    mounts_sockets: bool
    """Whether a container can connect to a socket of this machine in a folder that is mounted into it."""
    lacks: tuple[str, ...]
    """What it cannot do for a sandbox, each as a clause with its consequence."""

    @property
    def is_podman(self) -> bool:
        return self.name == PODMAN


def engine_facts(client: "docker.DockerClient") -> EngineFacts:
    """Asks the engine; an error of the client passes through."""
    return facts_of(client.version(), client.info())


def facts_of(version: Mapping[str, Any], info: Mapping[str, Any]) -> EngineFacts:
    """The same from the two answers."""
    name = engine_name(version)
    machine = str(version.get("Arch") or info.get("Architecture") or "")
    options = [str(option) for option in info.get("SecurityOptions") or ()]
    rootless = bool(info.get("Rootless")) or any(_ROOTLESS in option for option in options)
    cgroups = str(info.get("CgroupVersion") or "?")
    mounts_sockets = sys.platform == "linux" and info.get("OperatingSystem") != _DOCKER_DESKTOP
    return EngineFacts(
        name=name,
        version=str(version.get("Version") or info.get("ServerVersion") or "?"),
        machine={"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine),
        cpus=int(info.get("NCPU") or 1),
        driver=str(info.get("Driver") or "?"),
        cgroups=cgroups,
        kernel=str(info.get("KernelVersion") or "?"),
        rootless=rootless,
        default_runtime=str(info.get("DefaultRuntime") or "?"),
        mounts_sockets=mounts_sockets,
        lacks=(
            *((_NO_FILE_LIMIT,) if name == PODMAN else ()),
            *(() if mounts_sockets else (_NO_SOCKETS,)),
            *_missing_limits(info, none_at_all=rootless and cgroups == "1"),
        ),
    )


def _missing_limits(info: Mapping[str, Any], *, none_at_all: bool) -> tuple[str, ...]:
    """The limits that the engine says the kernel does not apply; an engine that says nothing has them.

    `none_at_all`: it may set none, whatever it says: version 1 of cgroups belongs to root.
    """
    limits = {"MemoryLimit": "memory", "PidsLimit": "processes", "CpuCfsQuota": "processors"}
    return tuple(
        f"no limit on {limit}: a trial can take what other trials need"
        for field, limit in limits.items()
        if none_at_all or info.get(field) is False
    )


# A container's configuration in the form that one engine accepts.

_UNKNOWN_TO_PODMAN = ("nr_inodes=", "uid=", "gid=", "mode=")
"""Its runtime sets the mode of a place to that of the image's folder, whatever `mode` says."""

_CLOSED_BY_PODMAN = {"/var/tmp": "ro,noexec,nosuid,nodev,size=4k"}
"""It makes this folder of a read-only container writable unless another file system is mounted there."""

_PROCESSES_OF_A_USER = 32_768
"""The limit that Podman sets for itself: a container can have no higher one if the host refuses to raise limits."""


def seccomp_option(engine: EngineFacts, profile: str) -> str:
    """The security option of a system call filter: its text, or for Podman the path of a file with it."""
    if not engine.is_podman:
        return f"seccomp={profile}"
    return f"seccomp={_profile_file(profile)}"


def tmpfs_options(engine: EngineFacts, places: Mapping[str, str]) -> dict[str, str]:
    """Mount options by place. Podman refuses owners and file limits, and would copy the image's files into a place.

    The owners are set by the launcher: `launcher_owns_places`.
    """
    if not engine.is_podman:
        return dict(places)
    return {**_CLOSED_BY_PODMAN, **{place: _podman_options(options) for place, options in places.items()}}


def launcher_owns_places(engine: EngineFacts) -> bool:
    """Whether the launcher has to set owner and mode of writable places, for which it needs the capability CHOWN."""
    return engine.is_podman


def more_ulimits(engine: EngineFacts) -> "list[Ulimit]":
    """Podman would raise the process limit of a user above this machine's own, which a restricted host refuses."""
    if not engine.is_podman:
        return []
    from docker.types import Ulimit

    _, mine = resource.getrlimit(resource.RLIMIT_NPROC)
    highest = _PROCESSES_OF_A_USER if mine == resource.RLIM_INFINITY else min(mine, _PROCESSES_OF_A_USER)
    return [Ulimit(name="nproc", soft=highest, hard=highest)]


def name_imported(client: "docker.DockerClient", answer: str, repository: str, tag: str) -> None:
    """Gives an imported image its tag: Podman ignores the tag that was asked for, and answers with the image's id."""
    try:
        said = json.loads(answer)
    except ValueError:  # Docker answers with several lines
        return
    if isinstance(said, dict) and isinstance(identity := said.get("id"), str):
        client.api.tag(identity, repository, tag)


def _podman_options(options: str) -> str:
    kept = [option for option in options.split(",") if not option.startswith(_UNKNOWN_TO_PODMAN)]
    return ",".join([*kept, "notmpcopyup"])


def _profile_file(profile: str) -> Path:
    """A file that only this user can write, found again by its content; the engine reads it at each creation."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "harness" / "seccomp"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{digest_of(profile)[:16]}.json"
    if not file.is_file() or file.read_text() != profile:
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as stream:
            stream.write(profile)
        Path(stream.name).chmod(0o644)
        Path(stream.name).replace(file)
    return file
