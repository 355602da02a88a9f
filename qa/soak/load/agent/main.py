"""Does what it is asked for: some work, or one of the ways in which agents misbehave."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

PORT = int(os.environ["HARNESS_GATEWAY_URL"].rsplit(":", 1)[1])
TYPE = {"Content-Type": "application/json"}
MISBEHAVIOURS = 600.0
"""Seconds that one lasts where nobody ends it: much longer than its time limit."""


class Gateway:
    """One connection, kept."""

    def __init__(self) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", PORT, timeout=MISBEHAVIOURS)

    def ask(self, method: str, path: str, content: object = None) -> object:
        body = None if content is None else json.dumps(content)
        self._http.request(method, path, body, TYPE)
        answer = self._http.getresponse().read()
        return json.loads(answer) if answer else None


def work(gateway: Gateway, number: int) -> None:
    """Four calls, a file, an answer; prints how long each call took, in nanoseconds."""
    took = []
    for step in range(4):
        gateway.ask("POST", "/thought", {"text": f"step {step}"})
        began = time.monotonic_ns()
        tool = "put" if step == 2 else "look"
        seen = gateway.ask("POST", f"/tools/{tool}", {"number": number * 10 + step})
        took.append(time.monotonic_ns() - began)
        with Path("seen.jsonl").open("a") as file:
            file.write(f"{json.dumps(seen)}\n")
    print(json.dumps(took))
    gateway.ask("POST", "/reply", {"message": f"did {number}"})


def crash(gateway: Gateway, number: int) -> None:
    gateway.ask("POST", "/tools/look", {"number": number})
    sys.exit(7)


def killed(gateway: Gateway, number: int) -> None:
    gateway.ask("POST", "/tools/look", {"number": number})
    os.kill(os.getpid(), signal.SIGKILL)


def hang(gateway: Gateway, number: int) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(MISBEHAVIOURS)


def prints(gateway: Gateway, number: int) -> None:
    block = b"x" * 1_000_000
    for _ in range(100):
        os.write(1, block)
    gateway.ask("POST", "/reply", {"message": "printed"})


def calls(gateway: Gateway, number: int) -> None:
    def call() -> None:
        mine = Gateway()
        for _ in range(25):  # 200 in all, of which 50 are allowed
            mine.ask("POST", "/tools/look", {"number": number})

    callers = [threading.Thread(target=call) for _ in range(8)]
    for one in callers:
        one.start()
    for one in callers:
        one.join()


def bodies(gateway: Gateway, number: int) -> None:
    """Too large by their own word, too large without one, and many just small enough at once."""
    head = "POST /thought HTTP/1.1\r\nHost: g\r\n"
    for _ in range(10):
        with suppress(OSError):
            _sent(f"{head}Content-Length: 80000000\r\n\r\n".encode() + b"x" * 200_000)
            _sent(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + b"10000\r\n" + b"x" * 65536 + b"\r\n" * 40)
    held = [_sent(f"{head}Content-Length: 900001\r\n\r\n".encode() + b"y" * 900_000) for _ in range(30)]
    for one in held:
        one.close()
    gateway.ask("POST", "/reply", {"message": "sent much"})


def forks(gateway: Gateway, number: int) -> None:
    while True:
        try:
            os.fork()
        except OSError:
            time.sleep(0.01)


def half_open(gateway: Gateway, number: int) -> None:
    """As many connections as it gets, each with most of a request."""
    held = []
    head = b"POST /thought HTTP/1.1\r\nHost: g\r\nContent-Length: 900001\r\n\r\n"
    for _ in range(1500):
        with suppress(OSError):
            held.append(_sent(head + b"z" * 100_000, within_s=0.05))
    time.sleep(MISBEHAVIOURS)


def never_reads(gateway: Gateway, number: int) -> None:
    """Answers of 300 kB that nobody takes, and a pipeline of requests."""
    body = json.dumps({"number": number}).encode()
    ask = b"POST /tools/large HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    held = [_sent(ask % len(body) + body) for _ in range(40)]
    held.append(_sent(b"GET /tools HTTP/1.1\r\nHost: g\r\n\r\n" * 5000, within_s=0.5))
    time.sleep(MISBEHAVIOURS)


def daemons(gateway: Gateway, number: int) -> None:
    for _ in range(5):
        subprocess.Popen(["sleep", "3600"], start_new_session=True, stdout=subprocess.DEVNULL)
    gateway.ask("POST", "/reply", {"message": "left some"})


def memory(gateway: Gateway, number: int) -> None:
    held = []
    while True:
        held.append(b"m" * 1_000_000)


def disk(gateway: Gateway, number: int) -> None:
    for place in (".", "/tmp", "/dev/shm"):
        with suppress(OSError), (Path(place) / "full").open("wb", buffering=0) as file:
            while True:
                file.write(b"d" * 1_000_000)
    gateway.ask("POST", "/reply", {"message": "full"})


def _sent(content: bytes, within_s: float = 5.0) -> socket.socket:
    """A connection on which so much was sent as was taken."""
    connection = socket.create_connection(("127.0.0.1", PORT), timeout=within_s)
    with suppress(OSError):
        connection.sendall(content)
    return connection


def main() -> None:
    gateway = Gateway()
    asked = gateway.ask("GET", "/turn")
    assert isinstance(asked, dict)
    what, number = asked["message"].split()
    globals()[what](gateway, int(number))


main()
