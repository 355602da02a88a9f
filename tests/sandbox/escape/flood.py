"""What is counted for a whole machine or a user, taken from inside a sandbox while the host needs it too."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from docker.models.containers import Container

from harness.sandbox.containers.configuration import AGENT_UID
from harness.sandbox.provider import SandboxProvider, SandboxSpec
from harness.sandbox.snapshot import Snapshot
from harness.suite.cases import Limits
from tests.sandbox.escape.sealed import sealed_folder

_MB = 200
_KEPT_KB = 64
_PRINT = f"import os\nfor _ in range({_MB}): os.write(1, b'x' * (1 << 20))"
_WATCH = """
import ctypes, os, sys, time
libc, taken = ctypes.CDLL(None), 0
while libc.inotify_init1(0) >= 0:
    taken += 1
open(sys.argv[1] + "/taken", "w").write(str(taken))
end = time.monotonic() + 30
while time.monotonic() < end and not os.path.exists(sys.argv[1] + "/enough"):
    time.sleep(0.02)
"""
_WATCH_TOO = """
import ctypes, json, os, sys
os.setresuid(*3 * [int(sys.argv[1])])
print(json.dumps(ctypes.CDLL(None).inotify_init1(0) >= 0))
"""
CONTROL_UID = 54_321
"""Nobody else's: to take all that this user may have disturbs nothing on the machine."""


def output_held(provider: SandboxProvider, image: str) -> int:
    """How many bytes the host holds of a program that prints without end."""
    spec = SandboxSpec(trial_id="escape.flood", limits=Limits(output_kb=_KEPT_KB, memory_mb=64))
    with closing(provider.start(spec, _sealed(image))) as sandbox:
        ended = sandbox.exec(["python3", "-c", _PRINT], {}, 120)
    assert ended.stdout_bytes == _MB << 20
    return len(ended.stdout)


def output_held_naively(container: Container) -> int:
    output: bytes = container.exec_run(["python3", "-c", _PRINT]).output
    return len(output)


OUTPUT_MAX = 2 * _KEPT_KB * 1024


def host_can_still_watch(provider: SandboxProvider, image: str) -> bool:
    """Whether this process may watch files while a sandboxed program has taken all that its user may."""
    spec = SandboxSpec(trial_id="escape.watches", limits=Limits(memory_mb=64))
    with closing(provider.start(spec, _sealed(image))) as sandbox, ThreadPoolExecutor(1) as pool:
        program = pool.submit(sandbox.exec, ["python3", "-c", _WATCH, "/work"], {}, 60)
        for _ in range(1200):
            try:
                sandbox.read_file("taken")
                break
            except FileNotFoundError:
                threading.Event().wait(0.05)
        can = watches_as(os.getuid())
        sandbox.write_file("enough", b"")
        program.result()
    return can


def same_user_can_still_watch(container: Container) -> bool:
    """The control: a program of the same user, beside one in a container that takes all."""
    container.exec_run(["rm", "-f", "/tmp/taken", "/tmp/enough"])
    container.exec_run(["python3", "-c", _WATCH, "/tmp"], user=str(CONTROL_UID), detach=True)
    for _ in range(1200):
        if container.exec_run(["test", "-s", "/tmp/taken"]).exit_code == 0:
            break
        threading.Event().wait(0.05)
    can = watches_as(CONTROL_UID)
    container.exec_run(["touch", "/tmp/enough"])
    return can


def watches_as(uid: int) -> bool:
    """In a process of its own, which gives up its user."""
    asked = subprocess.run([sys.executable, "-c", _WATCH_TOO, str(uid)], stdout=subprocess.PIPE, check=True)
    return bool(json.loads(asked.stdout))


def _sealed(image: str) -> Snapshot:
    assert AGENT_UID not in (os.getuid(), CONTROL_UID)
    return sealed_folder(image)
