"""What is there to be reached: servers of this machine that answer whoever gets through to them."""

import fcntl
import json
import secrets
import socket
import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

LIMITS = {
    "memory_mb": 600,
    "shared_mb": 100,
    "processes": 400,
    "disk_mb": 200,
    "files": 10_000,
    "descriptors": 9_000,
}
"""What is taken: more than the sandbox's limits allow, and no harm to a machine without."""


@dataclass(frozen=True)
class World:
    """Where things are, as the program is told."""

    door: Path
    """The socket of another trial's gateway."""
    gateway: Path
    """The socket of the trial's own, in a folder of its own."""
    found: dict[str, object]

    def told(self, writable: str) -> str:
        return json.dumps({**self.found, **LIMITS, "writable": writable, "door": str(self.door)})


class _Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        if isinstance(self.request, tuple):
            self.request[1].sendto(b"reached", self.client_address)
        else:
            self.request.recv(100)
            self.request.sendall(b"reached")


class _Tcp6(socketserver.ThreadingTCPServer):
    address_family = socket.AF_INET6


class _Unix(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


@contextmanager
def outside_world(folder: Path) -> Iterator[World]:
    """Real servers on TCP, UDP, an abstract socket, and a Unix socket in `folder` like a gateway's."""
    abstract = f"harness-escape-{secrets.token_hex(8)}"
    door, gateway = folder / "gateway.sock", folder / "own" / "gateway.sock"
    gateway.parent.mkdir()
    with ExitStack() as stack:
        tcp = _served(stack, socketserver.ThreadingTCPServer(("0.0.0.0", 0), _Echo))
        tcp6 = _served(stack, _Tcp6(("::", 0), _Echo)) if socket.has_dualstack_ipv6() else tcp
        udp = _served(stack, socketserver.ThreadingUDPServer(("0.0.0.0", 0), _Echo))
        _served(stack, _Unix("\0" + abstract, _Echo))
        for path in (door, gateway):
            _served(stack, _Unix(str(path), _Echo))
            path.chmod(0o666)
        ports = {"tcp": tcp.server_address[1], "tcp6": tcp6.server_address[1], "udp": udp.server_address[1]}
        address = _address()
        yield World(door, gateway, {**ports, "address": address, "bridge": _bridge() or address, "abstract": abstract})


def _served(stack: ExitStack, server: socketserver.BaseServer) -> socketserver.BaseServer:
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    stack.callback(server.server_close)
    stack.callback(server.shutdown)
    return server


def _address() -> str:
    """This machine's own, as others see it; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(("192.0.2.1", 9))
            return str(asked.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def _bridge() -> str | None:
    """The address that this machine has on the engine's own bridge."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            answer = fcntl.ioctl(asked.fileno(), 0x8915, struct.pack("16s24x", b"docker0"))  # SIOCGIFADDR
        except OSError:
            return None
        return socket.inet_ntoa(answer[20:24])
