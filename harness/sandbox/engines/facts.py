"""What one engine is and has, as the rest of the harness needs it."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import docker

from harness.sandbox.engines.naming import PODMAN, engine_name, lacks_by_name

_ROOTLESS = "rootless"
_DOCKER_DESKTOP = "Docker Desktop"
"""What it calls the operating system of its virtual machine, on every system."""

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
    runtimes: tuple[str, ...]
    default_runtime: str
    mounts_sockets: bool
    """Whether a container can connect to a socket of this machine in a folder that is mounted into it."""
    lacks: tuple[str, ...]
    """What it cannot do for a sandbox, each as a clause with its consequence."""

    @property
    def is_podman(self) -> bool:
        return self.name == PODMAN


def engine_facts(client: docker.DockerClient) -> EngineFacts:
    """Asks the engine; an error of the client passes through."""
    return facts_of(client.version(), client.info())


def facts_of(version: Mapping[str, Any], info: Mapping[str, Any]) -> EngineFacts:
    """The same from the two answers."""
    name = engine_name(version)
    machine = str(version.get("Arch") or info.get("Architecture") or "")
    options = [str(option) for option in info.get("SecurityOptions") or ()]
    rootless = bool(info.get("Rootless")) or any(_ROOTLESS in option for option in options)
    cgroups = str(info.get("CgroupVersion") or "?")
    runtimes = sorted(name for name in info.get("Runtimes") or {} if not name.startswith("io.containerd."))
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
        runtimes=tuple(runtimes),
        default_runtime=str(info.get("DefaultRuntime") or "?"),
        mounts_sockets=mounts_sockets,
        lacks=(
            *lacks_by_name(name),
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
