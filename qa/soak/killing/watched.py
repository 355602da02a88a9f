"""Runs commands of the harness that end themselves by SIGKILL, each at the moment that it was given.

Started once with the program read, it forks a process for each command, as `tests.cli.server` does. What the
process is about comes from Python's own audit events (files, sockets, requests to the engine): nothing in the harness
knows of it. Each phase is written down when it begins, so that the last one is the phase in which the kill fell.

A request is a line of JSON: what `tests.cli.server` takes, the file for the phases, and the moment or null.
"""

import gc
import json
import os
import signal
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from qa.soak.killing.written import Notes
from tests.cli.server import PROGRAM, answer, become, end

_EVENTS = {
    *("os.mkdir", "open", "os.rename", "os.remove", "os.rmdir", "sqlite3.connect", "socket.bind", "socket.__new__"),
    *("http.client.send", "subprocess.Popen", "os.posix_spawn", "shutil.copyfile", "garden.scores"),
}
_FOLDERS = {"/.sealing-": "build", "/.unfinished-": "write"}


class Watch:
    """Follows one command by its audit events."""

    def __init__(self, log: str, moment: dict[str, Any] | None) -> None:
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._moment = moment
        self._entered: dict[str, int] = {}
        self._phase = ""
        self._events = 0
        self._begin("start")

    def hook(self, event: str, values: tuple[Any, ...]) -> None:
        if event not in _EVENTS:
            return
        self._events += 1
        phase = self._after(event, values)
        if phase is not None and phase != self._phase:
            self._begin(phase)
        self._die_if_it_is_time()

    def _begin(self, phase: str) -> None:
        now = time.monotonic()
        os.write(self._log, f"{phase} {now:.6f} {self._events}\n".encode())
        self._phase, self._events = phase, 0
        self._entered[phase] = self._entered.get(phase, 0) + 1

    def _after(self, event: str, values: tuple[Any, ...]) -> str | None:
        """The phase that begins with this event; None: it goes on as it is."""
        if event == "http.client.send":
            return "build" if b"POST" in values[1][:5] and b"/build?" in values[1][:300] else None
        if event == "socket.__new__":  # a program in a sandbox has connected
            gateway = threading.current_thread().name == "harness-gateway"
            return "run" if gateway and self._phase == "restore" and values[1] == 1 else None
        if event == "garden.scores":  # said by a check of the project
            return "score"
        where = str(values[1]) if event == "socket.bind" else str(values[0])
        return self._of_path(event, where)

    def _of_path(self, event: str, where: str) -> str | None:
        match event:
            case "socket.bind":
                return "restore" if where.endswith("gateway.sock") else None
            case "os.mkdir":
                return next((phase for mark, phase in _FOLDERS.items() if mark in where), None)
            case "os.rename":
                return "teardown" if where.endswith(".tmp") and "end_state" in where else None
            case "open" | "sqlite3.connect":
                reads = where.endswith("end_state.tar") or event == "sqlite3.connect"
                return "score" if reads and self._phase == "teardown" else None
            case "os.remove":
                return "teardown" if where.endswith("gateway.sock") else None
            case _:
                return "teardown" if self._phase == "write" and "harness-" in where else None

    def _die_if_it_is_time(self) -> None:
        moment = self._moment
        if moment is None or moment["phase"] != self._phase or moment["entry"] != self._entered[self._phase]:
            return
        if self._events >= moment["events"]:
            self._moment = None
            if moment["delay_s"] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            threading.Thread(target=_die_after, args=(moment["delay_s"],), daemon=True).start()


def _die_after(delay_s: float) -> None:
    time.sleep(delay_s)
    os.kill(os.getpid(), signal.SIGKILL)


def serve() -> None:
    """Returns in each forked process."""
    with open(0, closefd=False, buffering=1) as requests:
        for line in iter(requests.readline, ""):
            asked = json.loads(line)
            child = os.fork()
            if not child:
                become(asked)
                if asked["changes"] is not None:
                    Notes(Path(asked["changes"]), Path(asked["folder"])).begin()
                sys.addaudithook(Watch(asked["phases"], asked["moment"]).hook)
                return
            answer(child)
            answer(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os._exit(0)


if __name__ == "__main__":
    for name in PROGRAM:
        import_module(name)
    gc.freeze()
    serve()
    try:
        import_module("harness.cli.main").main()
    except SystemExit as ended:
        end(ended.code)
