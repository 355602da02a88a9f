"""How a sandbox's container is set up: what it may not do, how much it gets, what is mounted into it.

Memory: `limits.memory_mb` is what the programs have beside full disks. The writable places and /dev/shm lie in memory
too, and count on top of it, so that a full disk ends no program and no program ends the launcher.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import docker
from docker.types import LogConfig, Mount, Ulimit

import harness.sandbox.inside as inside_package
from harness.errors import SandboxError
from harness.sandbox.layout import Layout
from harness.sandbox.provider import SandboxSpec
from harness.sandbox.seccomp import seccomp_profile
from harness.sandbox.snapshot import Snapshot

AGENT_UID = 10001
GATEWAY_PORT = 8700
TRIAL_LABEL = "harness.trial"

_CODE = "/run/harness/code"
_CONTROL = "/run/harness/control"
GATEWAY_FOLDER = "/run/harness/gateway"
AGENT_FOLDER = "/agent"
_START = (
    f"import sys; sys.path.insert(0, {_CODE!r}); "
    f"from harness.sandbox.inside.launcher import main; main({_CONTROL + '/control.sock'!r})"
)
_COMMAND = ["python3", "-I", "-S", "-E", "-B", "-X", "utf8", "-c", _START]
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_SHARED_MEMORY_MB = 64
_LAUNCHER_MB = 32
_LAUNCHER_PROCESSES = 2
_DESCRIPTORS = 8192
_INODES_PER_MB = 256
_INODES_MAX = 65_536
_INODES_MIN = 4096

_SEALED: dict[str, Any] = {
    "network_mode": "none",
    "ipc_mode": "private",
    "read_only": True,
    "auto_remove": True,
    "init": False,
    "cap_drop": ["ALL"],
    # the launcher's own; not SYS_RESOURCE, which would protect it where memory is short: many hosts refuse it
    "cap_add": ["SETUID", "SETGID", "KILL", "DAC_READ_SEARCH"],
}


class Containers:
    """Configurations for one engine, all with the same labels."""

    def __init__(self, client: docker.DockerClient, labels: Mapping[str, str]) -> None:
        self._api = client.api
        self._labels = labels
        self._cpus = float(client.info()["NCPU"])

    def config(self, folder: Path, spec: SandboxSpec, snapshot: Snapshot, layout: Layout) -> dict[str, Any]:
        image = spec.image or snapshot.image
        if image is None:
            raise SandboxError(
                f"snapshot {snapshot.name!r} names no image to run in", remedy="build it: `harness image build`"
            )
        return {
            "image": image,
            "entrypoint": [],
            "command": _COMMAND,
            "user": "0:0",
            "hostname": "sandbox",
            "working_dir": "/",
            "healthcheck": {"test": ["NONE"]},
            "labels": {**self._labels, TRIAL_LABEL: spec.trial_id, **spec.labels},
            "host_config": self._api.create_host_config(
                **_SEALED,
                **self._limits(spec, layout),
                security_opt=["no-new-privileges:true", f"seccomp={seccomp_profile()}"],
                log_config=LogConfig(type="none"),
                **_names(spec),
                mounts=_mounts(folder, spec),
            ),
        }

    def _limits(self, spec: SandboxSpec, layout: Layout) -> dict[str, Any]:
        limits = spec.limits
        memory_mb = limits.memory_mb + limits.disk_mb * len(layout.places) + _SHARED_MEMORY_MB + _LAUNCHER_MB
        return {
            "mem_limit": f"{memory_mb}m",
            "memswap_limit": f"{memory_mb}m",
            "pids_limit": limits.processes + _LAUNCHER_PROCESSES,
            "nano_cpus": round(min(limits.cpus, self._cpus) * 1e9),
            "shm_size": f"{_SHARED_MEMORY_MB}m",
            "tmpfs": {place: _tmpfs(place, limits.disk_mb, layout) for place in layout.places},
            "ulimits": [
                Ulimit(name="nofile", soft=_DESCRIPTORS, hard=_DESCRIPTORS),
                Ulimit(name="core", soft=0, hard=0),
            ],
        }


def _names(spec: SandboxSpec) -> dict[str, Any]:
    if spec.outside is None:
        return {}
    return {
        "extra_hosts": dict.fromkeys(spec.outside.names, "127.0.0.1"),
        # the launcher, which may not bind low ports otherwise, listens for the hosts
        "sysctls": {"net.ipv4.ip_unprivileged_port_start": "0"},
    }


def _tmpfs(place: str, size_mb: int, layout: Layout) -> str:
    inodes = min(max(size_mb * _INODES_PER_MB, _INODES_MIN), _INODES_MAX)
    shared = place == "/tmp" or layout.place_owner(place) == "root"
    owner = "mode=1777" if shared else f"mode=0755,uid={AGENT_UID},gid={AGENT_UID}"
    return f"rw,exec,nosuid,nodev,size={size_mb}m,nr_inodes={inodes},{owner}"


def _mounts(folder: Path, spec: SandboxSpec) -> list[Mount]:
    code = Path(inside_package.__path__[0])
    sources = {f"{_CODE}/harness/sandbox/inside": code, _CONTROL: folder}
    if spec.gateway_socket is not None:
        sources[GATEWAY_FOLDER] = spec.gateway_socket.parent
    if spec.agent_files is not None:
        sources[AGENT_FOLDER] = spec.agent_files
    return [Mount(target, str(source.resolve()), type="bind", read_only=True) for target, source in sources.items()]
