"""Runs `harness ...` as its own process, which is forked from one that has read the program already.

Starting Python and reading the program takes about a second of processor time, which hundreds of commands cannot
spare. Two servers take turns, so that one command and the next order their sets by different hashes, as they would if
each were started by itself: otherwise equal results would say less.
"""

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path

HARNESS = Path(sys.executable).parent / "harness"
LIVE = {"replay": "none", "sealed": "sealed", "live": "tools", "record": "tools,record"}
"""Mode of the tools -> the word of `--live`."""
_SERVER = Path(__file__).with_name("server.py")


class _Server:
    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, request: Mapping[str, object], timeout_s: float) -> int:
        process = self._running()
        assert process.stdin is not None
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        command = self._number(process, timeout_s)
        try:
            return self._number(process, timeout_s)
        except TimeoutError:
            os.kill(command, signal.SIGKILL)
            self._number(process, timeout_s)
            raise

    def end(self) -> None:
        if self._process is not None:
            self._process.communicate()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            command = [sys.executable, _SERVER, HARNESS]
            self._process = subprocess.Popen(command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            atexit.register(self.end)
        return self._process

    def _number(self, process: subprocess.Popen[bytes], timeout_s: float) -> int:
        assert process.stdout is not None
        if not select.select([process.stdout], [], [], timeout_s)[0]:
            raise TimeoutError(f"no answer for {timeout_s} s")
        line = process.stdout.readline()
        assert line, "the server of commands is gone; what it said stands above"
        return int(line)


_SERVERS = cycle([_Server(), _Server()])


def run_command(
    *words: str, folder: Path, env: Mapping[str, str] | None = None, timeout_s: float = 280
) -> subprocess.CompletedProcess[str]:
    """`harness words...` in `folder`, to its end, with all that it printed."""
    typed = [str(HARNESS), *words]
    with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile() as err:
        request = {
            "words": typed,
            "folder": str(folder),
            "environment": {**os.environ, **(env or {})},
            "out": out.name,
            "err": err.name,
        }
        try:
            status = next(_SERVERS).run(request, timeout_s)
        except TimeoutError as error:
            raise AssertionError(f"{' '.join(typed)}: {error}\n{_text(out.name)}\n{_text(err.name)}") from None
        return subprocess.CompletedProcess(typed, status, _text(out.name), _text(err.name))


def _text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")
