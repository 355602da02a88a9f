"""The version of the container engine, requested without its client library, whose import takes longer than the
request.
"""

import http.client
import json
import os
import socket
from collections.abc import Mapping
from typing import Any

DOCKER = "Docker"
PODMAN = "Podman"


def engine_name(version: Mapping[str, Any]) -> str:
    """`Docker`, `Podman`, or the name that an unknown engine gives to its first component."""
    names = [str(component.get("Name", "")) for component in version.get("Components") or ()]
    if any(name.startswith(PODMAN) for name in names):
        return PODMAN
    return DOCKER if not names or names[0] == "Engine" else names[0]


def lacks_by_name(name: str) -> tuple[str, ...]:
    """What an engine of this name cannot do for a sandbox, each as a clause with its consequence."""
    return _LACKS.get(name, ())


_LACKS = {PODMAN: ("no limit on the number of files in a writable place (its memory limit holds)",)}


_WITHIN_S = 1.0
_USUAL = "unix:///var/run/docker.sock"


def engine_version() -> str | None:
    """The version as text; None if no engine answers within a second, or if the engine is on another machine."""
    address = os.environ.get("DOCKER_HOST") or _USUAL
    if not address.startswith("unix://"):
        return None
    try:
        connection = _UnixConnection(address.removeprefix("unix://"))
        connection.request("GET", "/version")
        answer = json.loads(connection.getresponse().read())
        connection.close()
        name = engine_name(answer)
        lacks = "".join(f"; {lack}" for lack in lacks_by_name(name))
        return f"{name} {answer['Version']}, API {answer['ApiVersion']}, kernel {answer['KernelVersion']}{lacks}"
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError, AttributeError):
        return None


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_WITHIN_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
