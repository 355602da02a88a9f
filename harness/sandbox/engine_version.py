"""The version of the container engine, requested without its client library, whose import takes longer than the
request.
"""

import http.client
import json
import os
import socket

_WITHIN_S = 1.0
_USUAL = "unix:///var/run/docker.sock"


def engine_version() -> str | None:
    """The version as text; None where no engine answers within a second, or where the engine is on another machine."""
    address = os.environ.get("DOCKER_HOST") or _USUAL
    if not address.startswith("unix://"):
        return None
    try:
        connection = _UnixConnection(address.removeprefix("unix://"))
        connection.request("GET", "/version")
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return f"Docker {answer['Version']}, API {answer['ApiVersion']}, kernel {answer['KernelVersion']}"
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return None


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_WITHIN_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
