"""The container engine, whose socket is the machine."""

import socket

from attempt import a_try


@a_try
def the_container_engine():
    with socket.socket(socket.AF_UNIX) as link:
        link.connect("/var/run/docker.sock")
        link.sendall(b"GET /version HTTP/1.0\r\n\r\n")
        return f"was answered {link.recv(20)!r}"
