"""Leftovers of runs whose process has died; the owner's name distinguishes them from resources of live runs.

Finding and removing are separate, so that a user can review the list before removal.
"""

import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.processes import ProcessIdentity, abandoned_partials
from harness.sandbox.engine import answering
from harness.sandbox.host_guard import guards_left, interface_of, unguard
from harness.sandbox.images.building import bootstraps_left, cache_folder
from harness.sandbox.ownership import (
    OWNER_LABEL,
    end_program,
    private_folders_left,
    programs_left,
    remove_left_folder,
)
from harness.sandbox.snapshots import SnapshotStore

if TYPE_CHECKING:
    import docker


_GONE_WITHIN_S = 20.0


@dataclass(frozen=True, kw_only=True)
class Leftover:
    """One resource that a dead run left."""

    kind: str
    """`process`, `container`, `network`, `rule`, `volume`, `folder` or `file`."""
    name: str
    remove: Callable[[], bool]
    """Whether this call removed it: another run may reap at the same time."""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def reap(client: "docker.DockerClient") -> list[str]:
    """Removes the leftovers of dead owners on the machine and in the engine; returns descriptions of them.

    Raises EngineUnavailable.
    """
    return remove_all((*left_on_machine(), *left_in_engine(client)))


def remove_all(left: Iterable[Leftover]) -> list[str]:
    """Returns descriptions of the removed leftovers. Raises EngineUnavailable."""
    with answering("what dead runs left cannot be removed"):
        return [str(one) for one in left if one.remove()]


def left_on_machine() -> list[Leftover]:
    """Leftovers on this machine: programs first, so that they write nothing more into the folders that follow."""
    left = [
        Leftover(kind="process", name=f"{program.pid} ({program.name})", remove=partial(end_program, program))
        for program in programs_left()
    ]
    left += [Leftover(kind="rule", name=f"of {one}", remove=partial(_unguarded, one)) for one in guards_left()]
    folders = (*private_folders_left(), *bootstraps_left())
    return left + [
        Leftover(kind="folder", name=str(path), remove=partial(remove_left_folder, path)) for path in folders
    ]


def left_in_engine(client: "docker.DockerClient") -> list[Leftover]:
    """Leftovers in the engine: containers before the networks and volumes that they use. Raises EngineUnavailable."""
    api, found = client.api, {"label": OWNER_LABEL}
    with answering("what dead runs left cannot be found"):
        containers = api.containers(all=True, filters=found)
        networks = api.networks(filters=found)
        volumes = api.volumes(filters=found)["Volumes"] or ()
    removers: list[tuple[str, Any, str, Callable[[str], bool]]] = [
        *(("container", one, one["Id"], partial(_remove_container, client)) for one in containers),
        *(("network", one, one["Name"], partial(_remove_network, client, one["Id"])) for one in networks),
        *(("volume", one, one["Name"], partial(_gone, api.remove_volume)) for one in volumes),
    ]
    return [
        Leftover(kind=kind, name=name[:12] if kind == "container" else name, remove=partial(remove, name))
        for kind, thing, name, remove in removers
        if _is_left(thing)
    ]


def left_in_project(project: Path) -> list[Leftover]:
    """Files and folders that were never completed, and snapshots that a killed build had moved out of their place."""
    halves = [path for root in (project, cache_folder()) for path in abandoned_partials(root)]
    snapshots = SnapshotStore(project)
    return [
        Leftover(kind="folder" if path.is_dir() else "file", name=str(path), remove=partial(_remove, path))
        for path in halves
    ] + [
        Leftover(kind="folder", name=str(path), remove=partial(snapshots.recover, path))
        for path in snapshots.set_aside()
    ]


def _is_left(thing: dict[str, Any]) -> bool:
    owner = ProcessIdentity.parse((thing["Labels"] or {}).get(OWNER_LABEL, ""))
    return owner is not None and not owner.is_alive()


def _remove_container(client: "docker.DockerClient", container: str) -> bool:
    """Also waits for a container that the engine is already removing: its mounts are released first."""
    from docker.errors import NotFound

    removed = _gone(partial(client.api.remove_container, force=True, v=True), container)
    deadline = time.monotonic() + _GONE_WITHIN_S
    while time.monotonic() < deadline:
        try:
            if client.api.inspect_container(container)["State"]["Status"] == "dead":
                return False  # the engine cannot remove it
        except NotFound:
            break
        time.sleep(0.05)
    return removed


def _remove_network(client: "docker.DockerClient", network: str, name: str) -> bool:
    removed = _gone(client.api.remove_network, name)
    if removed:
        unguard(interface_of(network))
    return removed


def _unguarded(interface: str) -> bool:
    unguard(interface)
    return True


def _gone(remove: Callable[[str], object], name: str) -> bool:
    import requests
    from docker.errors import APIError, NotFound

    try:
        remove(name)
    except NotFound:
        return False
    except APIError as error:
        if error.status_code == requests.codes.conflict:
            return False  # its removal is already under way
        if error.is_server_error():
            return False  # the engine cannot remove it, such as a mount lost in a crash: no reason to fail the run
        raise
    return True


def _remove(path: Path) -> bool:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
    return not path.exists()
