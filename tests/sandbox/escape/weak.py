"""A container that is weak on purpose: what cannot be done even there, the kernel does not have."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
from docker.models.containers import Container

from harness.sandbox.ownership import owner_labels

FOLDER = "/escape"
PROGRAM = f"{FOLDER}/tries"
_NAMES = (
    """
CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE
NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN
SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE
MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ
"""
).split()
"""By number, as far as engines of these years know them."""


@contextmanager
def weak_container(client: docker.DockerClient, image: str, programs: Path, door: Path) -> Iterator[Container]:
    """Root with every capability of this machine, its network, the engine's socket, no filter and no limits.

    Not `--privileged`, which fails where the engine itself has been denied a capability.
    """
    api = client.api
    devices = [device for device in ("/dev/mem", "/dev/kmsg") if Path(device).exists()]
    host = api.create_host_config(
        cap_drop=["ALL"],
        cap_add=_capabilities(),
        network_mode="host",
        security_opt=["seccomp=unconfined", "apparmor=unconfined"],
        shm_size="256m",
        tmpfs={"/tmp": "exec,dev,suid"},
        devices=[f"{device}:{device}:rwm" for device in devices],
        binds={
            str(programs): {"bind": FOLDER, "mode": "ro"},
            str(door): {"bind": str(door), "mode": "ro"},
            "/var/run/docker.sock": {"bind": "/var/run/docker.sock", "mode": "rw"},
            "/sys/fs/cgroup": {"bind": "/sys/fs/cgroup", "mode": "rw"},
        },
    )
    host |= {"MaskedPaths": [], "ReadonlyPaths": []}
    made = api.create_container(image, ["sleep", "600"], labels=owner_labels("escape"), host_config=host)
    container = client.containers.get(made["Id"])
    try:
        container.start()
        yield container
    finally:
        container.remove(force=True)


def tried_in(container: Container, world: str, name: str) -> str:
    """What the program printed there."""
    before = [f"{FOLDER}/metadata.py"] if "metadata" in name else []
    output: bytes = container.exec_run(["python3", *before, PROGRAM, world, name], stderr=False).output
    return output.decode()


def _capabilities() -> list[str]:
    """Those that this process could have: the engine has no others to give."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    bounding = int(next(line for line in status.splitlines() if line.startswith("CapBnd:")).split()[1], 16)
    return [name for number, name in enumerate(_NAMES) if bounding >> number & 1]
