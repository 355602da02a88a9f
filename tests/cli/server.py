"""Reads the whole program once, and then forks a process for each command that is asked for, one after the other.

A request is a line of JSON: words, folder, environment, and files for what is printed. The answers are two lines: the
process that was started, and its exit status. How a forked process ends is decided by the command's own `main`.
"""

import atexit
import gc
import json
import os
import sys
import threading
from importlib import import_module
from pathlib import Path

PROGRAM = (
    "harness.cli.main",
    "harness.cli.running",
    "harness.cli.showing",
    "harness.suite.loading",
    "harness.gateway.gateway",
    "harness.traces.formats.found",
    "harness.runs.execution.run",
    "harness.reports.pages.files",
    "harness.runs.trial.trial",
    "harness.runs.trial.parallel",
    "harness.sandbox.containers.docker",
    "harness.sandbox.local",
    "rich.syntax",
    "vcr.serialize",
)


def serve() -> None:
    """Returns in each forked process; in the server when nobody is left to ask."""
    with open(0, closefd=False, buffering=1) as requests:
        for line in iter(requests.readline, ""):
            asked = json.loads(line)
            child = os.fork()
            if not child:
                become(asked)
                return
            answer(child)
            answer(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os._exit(0)


def answer(number: int) -> None:
    os.write(1, b"%d\n" % number)


def become(asked: dict) -> None:
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    for stream, path in ((0, os.devnull), (1, asked["out"]), (2, asked["err"])):
        handle = os.open(path, os.O_RDWR)
        os.dup2(handle, stream)
        os.close(handle)
    sys.argv = asked["words"]
    if installed := asked["environment"].get("PYTHONPATH"):
        sys.path[1:1] = installed.split(os.pathsep)


def end(status: object) -> None:
    """As Python does it, but without taking the whole program apart, which takes longer than most commands."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else int(status is not None))


if __name__ == "__main__":
    sys.path[0] = str(Path(sys.argv[1]).parent)  # as for the command itself, which lies there
    for name in PROGRAM:
        import_module(name)
    gc.freeze()
    serve()
    try:
        import_module("harness.cli.main").main()
    except SystemExit as ended:
        end(ended.code)
