"""Sends one request to the driver and prints its answer. Imports little of the standard library, so that it starts
quickly.
"""

import socket
import sys


def main(path: str, request: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as driver:
        driver.connect(path)
        driver.sendall(request.encode("utf-8", "surrogateescape"))
        driver.shutdown(socket.SHUT_WR)
        while piece := driver.recv(65_536):
            sys.stdout.buffer.write(piece)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
