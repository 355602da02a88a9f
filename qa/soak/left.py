"""What is on the machine that a run could leave behind: taken before and after, the difference is the leftovers."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

import docker

from harness.sandbox.engine import connect
from harness.sandbox.ownership import RUN_LABEL


def standing(temporary: Path | None = None) -> frozenset[str]:
    """Every container, network, volume, mount, folder for sockets and temporary file of a harness, by name.

    `temporary` is the TMPDIR of the commands that are tried (by default, this process's). Whatever else uses the engine
    at the same time is seen too: compare on a machine that does nothing else, or count by a label.
    """
    client = connect()
    try:
        engine = {f"container {one.id}" for one in client.containers.list(all=True, ignore_removed=True)}
        engine |= {f"network {one.name}" for one in client.networks.list()}
        engine |= {f"volume {one.name}" for one in client.volumes.list()}
    finally:
        client.close()
    folder = temporary or Path(tempfile.gettempdir())
    files = {f"file {path}" for path in folder.glob("harness-*") if path.name != f"harness-{os.getuid()}"}
    files |= {f"folder {path}" for path in folder.glob(f"harness-{os.getuid()}/*")}
    return frozenset(engine | files | {f"mount {place}" for place in _mounted()})


def left_of(run: str, temporary: Path) -> frozenset[str]:
    """What is there of one run that is over, whatever else uses the machine; `temporary` was its own TMPDIR."""
    client = connect()
    try:
        engine = _labelled(client, f"{RUN_LABEL}={run}")
    finally:
        client.close()
    files = {f"file {path}" for path in temporary.iterdir() if path.name != f"harness-{os.getuid()}"}
    files |= {f"folder {path}" for path in temporary.glob(f"harness-{os.getuid()}/*")}
    inside = f"{temporary}/"
    mounts = {f"mount {place}" for place in _mounted() if place.startswith(inside)}
    return frozenset(engine | files | mounts | _processes(inside.encode()))


def _labelled(client: docker.DockerClient, label: str) -> set[str]:
    filters = {"label": label}
    found = {f"container {one.id}" for one in client.containers.list(all=True, ignore_removed=True, filters=filters)}
    found |= {f"network {one.name}" for one in client.networks.list(filters=filters)}
    return found | {f"volume {one.name}" for one in client.volumes.list(filters=filters)}


def _mounted() -> list[str]:
    return [line.split()[1] for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines()]


def _processes(inside: bytes) -> set[str]:
    """Programs whose arguments or variables name a place there."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            if inside in (process / "environ").read_bytes() + (process / "cmdline").read_bytes():
                found.add(f"process {process.name}")
    return found
