"""Notes every address that a Python program reaches for, in the file that WATCHED names."""

import os
import sys

_EVENTS = ("socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname")
_FILE = os.environ["WATCHED"]


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if event in _EVENTS:
        address = arguments[0] if event.startswith("socket.get") else arguments[1]
        fd = os.open(_FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(fd, f"{event} {address!r}\n".encode())
        os.close(fd)


sys.addaudithook(_note)
