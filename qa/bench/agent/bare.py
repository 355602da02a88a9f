"""Two tool calls by hand: all that is imported is `socket`."""

import os
import socket

door = os.environ["HARNESS_GATEWAY_URL"].rsplit(":", 1)[1]
link = socket.socket()  # create_connection would also import what international names need
link.connect(("127.0.0.1", int(door)))
for number in (1, 2):
    body = b'{"number": %d}' % number
    link.sendall(
        b"POST /tools/echo HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n" % len(body) + body
    )
    link.recv(65536)
