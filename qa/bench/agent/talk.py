"""A conversation by hand over one connection: a tool call for each thing the user says, and a reply. Only `socket`."""

import os
import socket

door = os.environ["HARNESS_GATEWAY_URL"].rsplit(":", 1)[1]
link = socket.create_connection(("127.0.0.1", int(door)))
held = bytearray()


def ask(method: bytes, path: bytes, body: bytes = b"") -> tuple[bytes, bytes]:
    """Status and body of the answer; every answer of the gateway says its length."""
    kind = b"Content-Type: application/json\r\n" if body else b""
    head = b"%s %s HTTP/1.1\r\nHost: gateway\r\n%sContent-Length: %d\r\n\r\n" % (method, path, kind, len(body))
    link.sendall(head + body)
    while b"\r\n\r\n" not in held:
        held.extend(link.recv(65536))
    head, _, _ = bytes(held).partition(b"\r\n\r\n")
    del held[: len(head) + 4]
    lines = head.lower().split(b"\r\n")
    length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
    while len(held) < length:
        held.extend(link.recv(65536))
    answer = bytes(held[:length])
    del held[:length]
    return head.split(b" ", 2)[1], answer


turn = 0
while ask(b"GET", b"/turn")[0] == b"200":
    turn += 1
    ask(b"POST", b"/tools/echo", b'{"number": %d}' % turn)
    ask(b"POST", b"/reply", b'{"message": "said %d"}' % turn)
