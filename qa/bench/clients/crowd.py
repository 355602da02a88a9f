"""So many agents' processes and no harness: a server of a few lines on the loopback answers them all.

Arguments: how many, how many side by side, the agent's program. Prints the seconds that they took together.
"""

import os
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

TURNS = 3


def answer(link: socket.socket) -> None:
    """One agent: three turns, and what it calls is given back to it."""
    stream = link.makefile("rwb")
    turn = 0
    while line := stream.readline():
        length = 0
        while (header := stream.readline()) not in (b"\r\n", b""):
            name, _, value = header.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        body = stream.read(length)
        if line.startswith(b"GET /turn"):
            turn += 1
            body = b'{"message": "go on"}'
        status = b"204 No Content" if turn > TURNS else b"200 OK"
        body = b"" if turn > TURNS else body
        stream.write(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body))
        stream.flush()


def serve(listening: socket.socket) -> None:
    while True:
        link, _ = listening.accept()
        threading.Thread(target=answer, args=(link,), daemon=True).start()


def main() -> None:
    count, jobs, program = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    listening = socket.create_server(("127.0.0.1", 0), backlog=64)
    threading.Thread(target=serve, args=(listening,), daemon=True).start()
    env = {**os.environ, "HARNESS_GATEWAY_URL": f"http://127.0.0.1:{listening.getsockname()[1]}"}

    def run(_: int) -> None:
        subprocess.run([sys.executable, program], env=env, check=True)

    began = time.perf_counter()
    with ThreadPoolExecutor(jobs) as executor:
        list(executor.map(run, range(count)))
    print(time.perf_counter() - began)


if __name__ == "__main__":
    main()
