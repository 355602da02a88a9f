"""The paths inside of a sandbox's container: what of this machine is mounted there, and how its launcher sees them."""

from dataclasses import replace
from pathlib import Path

from docker.types import Mount

import harness.sandbox.inside as inside_package
from harness.sandbox.containers.places import AGENT_UID
from harness.sandbox.launch.launched import LauncherView
from harness.sandbox.launch.layout import Layout
from harness.sandbox.provider import SandboxPaths, SandboxSpec

GATEWAY_PORT = 8700

CODE_FOLDER = "/run/harness/code"
CONTROL_FOLDER = "/run/harness/control"
GATEWAY_FOLDER = "/run/harness/gateway"
AGENT_FOLDER = "/agent"
SHARED_FOLDER = "/run/harness/shared"
STAGE_FOLDER = "/run/harness/stage"
LAYERS_FOLDER = "/run/harness/layers"
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def launcher_view(spec: SandboxSpec, layout: Layout) -> LauncherView:
    """The container of a trial as its launcher sees it."""
    socket = spec.gateway_socket
    return LauncherView(
        places=SandboxPaths(
            agent=AGENT_FOLDER,
            work="/work",
            gateway_url=None,
            gateway_socket=None if socket is None else f"{GATEWAY_FOLDER}/{socket.name}",
        ),
        temporary="/tmp",
        search_path=SEARCH_PATH,
        real={place: place for place in layout.places},
        uid=AGENT_UID,
    )


def supervisor_view(spec: SandboxSpec, layout: Layout) -> LauncherView:
    """The same for the process that writes what a warm container keeps for its trials."""
    unconnected = replace(spec, gateway_socket=None)
    return replace(
        launcher_view(unconnected, layout),
        real={place: f"{STAGE_FOLDER}/kept/{number}" for number, place in enumerate(layout.places)},
    )


def gateway_ports(spec: SandboxSpec) -> tuple[int, ...]:
    """The ports at which the gateway is reached from inside."""
    return (GATEWAY_PORT, *(() if spec.outside is None else spec.outside.ports))


def mounted_sockets(folder: Path, spec: SandboxSpec, gateway: Path | None = None) -> dict[str, Path]:
    """The folders of this machine that are mounted into a trial's container: `folder` holds the socket that its
    launcher connects to.

    `gateway` is the folder of the gateway's socket; None selects the socket's parent folder.
    """
    sources = {CONTROL_FOLDER: folder}
    if spec.gateway_socket is not None:
        sources[GATEWAY_FOLDER] = gateway or spec.gateway_socket.parent
    return sources


def shown_folders(spec: SandboxSpec) -> list[str]:
    """The part of a warm container that every trial in it sees."""
    agent = [] if spec.agent_files is None else [AGENT_FOLDER]
    return [f"{CODE_FOLDER}/harness/sandbox/inside", *agent]


def mounted_folders(sources: dict[str, Path], spec: SandboxSpec) -> list[Mount]:
    """Read-only mounts of `sources`, by path in the container, and of the launcher's and the agent's files."""
    sources[f"{CODE_FOLDER}/harness/sandbox/inside"] = Path(inside_package.__path__[0])
    if spec.agent_files is not None:
        sources[AGENT_FOLDER] = spec.agent_files
    return [Mount(target, str(source.resolve()), type="bind", read_only=True) for target, source in sources.items()]
