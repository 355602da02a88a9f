"""A conversation by hand: two questions to the model before each reply. Only `socket`."""

import os
import socket


class Link:
    """One connection, which asks and reads an answer that says its length."""

    def __init__(self, address: str) -> None:
        place, _, self._root = address.removeprefix("http://").partition("/")
        self._link = socket.create_connection(("127.0.0.1", int(place.rsplit(":", 1)[1])))
        self._held = bytearray()

    def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        target = f"/{self._root}{path}" if self._root else path
        head = f"{method} {target} HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n"
        self._link.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        while b"\r\n\r\n" not in self._held:
            self._receive()
        head, _, rest = bytes(self._held).partition(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
        self._held = bytearray(rest)
        while len(self._held) < length:
            self._receive()
        answer = bytes(self._held[:length])
        del self._held[:length]
        return int(head.split(b" ", 2)[1]), answer

    def _receive(self) -> None:
        received = self._link.recv(65536)
        if not received:
            raise SystemExit("the gateway has closed the connection")
        self._held.extend(received)


gateway, model = Link(os.environ["HARNESS_GATEWAY_URL"]), Link(os.environ["OPENAI_BASE_URL"])
turn = 0
while gateway.ask("GET", "/turn")[0] == 200:
    turn += 1
    for question in (b"first", b"second"):
        told = b'{"model": "bench", "messages": [{"role": "user", "content": "%s, turn %d"}]}' % (question, turn)
        status, _ = model.ask("POST", "/chat/completions", told)
        assert status == 200, status
    gateway.ask("POST", "/reply", b'{"message": "It is noted as number %d."}' % turn)
