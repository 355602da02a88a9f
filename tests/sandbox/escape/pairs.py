"""Two trials, at the same time or one after the other, in which one leaves something and the other looks for it."""

import json
import secrets
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

from docker.models.containers import Container

from harness.sandbox.provider import Sandbox, SandboxProvider, SandboxSpec
from harness.suite.cases import Limits
from tests.sandbox.escape.sealed import sealed_folder

PROGRAMS = Path(__file__).parent
REMAINS: list[str] = json.loads(
    subprocess.run([sys.executable, PROGRAMS / "remains.py"], stdout=subprocess.PIPE, check=True).stdout
)
_GOES_ON_S = 60
_LIMITS = Limits(memory_mb=64, processes=32, disk_mb=8)


def token() -> str:
    return secrets.token_hex(7)


def found_by_another(provider: SandboxProvider, image: str, name: str, *, at_once: bool) -> bool:
    """Whether the second trial found what the first had left; the first still runs where they are `at_once`."""
    left = token()
    with ExitStack() as stack:
        first = _start(provider, image, "first")
        stack.callback(first.close)
        if at_once:
            pool = stack.enter_context(ThreadPoolExecutor(1))
            stack.callback(first.close)  # before the pool is waited for
            pool.submit(_run, first, "leave", name, left, str(_GOES_ON_S))
            _until_left(first, left)
        else:
            assert _run(first, "leave", name, left)
            first.close()
        with closing(_start(provider, image, "second")) as second:
            return _run(second, "find", name, left)


def found_in_one_container(container: Container, folder: str, name: str) -> bool:
    """The control: both in one container without any world of its own."""
    left = token()
    told = [_told(container, folder, do, name, left) for do in ("leave", "find")]
    return all(told)


def _told(container: Container, folder: str, *arguments: str) -> bool:
    output: bytes = container.exec_run(["python3", f"{folder}/remains.py", *arguments], stderr=False).output
    return bool(json.loads(output)["done"])


def _start(provider: SandboxProvider, image: str, name: str) -> Sandbox:
    spec = SandboxSpec(trial_id=f"escape.{name}", limits=_LIMITS, agent_files=PROGRAMS)
    return provider.start(spec, sealed_folder(image))


def _run(sandbox: Sandbox, *arguments: str) -> bool:
    ended = sandbox.exec(["python3", f"{sandbox.places.agent}/remains.py", *arguments], {}, _GOES_ON_S * 2)
    return ended.code == 0 and bool(json.loads(ended.stdout)["done"])


def _until_left(sandbox: Sandbox, left: str) -> None:
    for _ in range(1200):
        try:
            sandbox.read_file(f"left-{left}")
            return
        except FileNotFoundError:
            threading.Event().wait(0.05)
    raise AssertionError("nothing was left")
