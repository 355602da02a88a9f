"""The version of the container engine, requested without its client library, whose import takes longer than the
request.
"""

import http.client
import json
import os
import socket

from harness.sandbox.engines.naming import engine_name, lacks_by_name

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
