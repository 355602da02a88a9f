"""A server that answers every request with the bytes it is given, HTTP or not."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

_HEAD_END = b"\r\n\r\n"


def http(body: bytes, kind: str = "application/json", more: str = "") -> bytes:
    """A whole answer."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{more}\r\n"
    return head.encode() + body


class AnsweringServer:
    """One connection, one request, one answer; `answer` may look at the request."""

    def __init__(self) -> None:
        self.answer: Callable[[bytes], bytes] = lambda request: http(b"{}")
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            with connection, suppress(OSError):
                connection.settimeout(5)
                connection.sendall(self.answer(_request(connection)))
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass  # an answer that is not asked for any more must not be lost to a reset


def _request(connection: socket.socket) -> bytes:
    got = b""
    while _HEAD_END not in got and (more := connection.recv(65536)):
        got += more
    head, _, body = got.partition(_HEAD_END)
    fields = (line.partition(b":") for line in head.lower().split(b"\r\n"))
    length = next((int(value) for name, _, value in fields if name == b"content-length"), 0)
    while len(body) < length and (more := connection.recv(65536)):
        body += more
    return head + _HEAD_END + body
