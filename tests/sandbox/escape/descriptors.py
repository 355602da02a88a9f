"""Open files that a program sends with its messages: the kernel would put them among those of whoever takes them."""

import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from docker.models.containers import Container

from harness.gateway.contract import SessionRequest
from harness.gateway.gateway import Gateway
from harness.gateway.session import TrialSession
from harness.sandbox.provider import SandboxProvider, SandboxSpec
from harness.sandbox.snapshot import Snapshot
from harness.suite.cases import Limits
from harness.suite.loading import load_suite

_CONNECTIONS = 20
_EACH = 200
HELD_MAX = 3 * _CONNECTIONS
"""What the connections themselves cost, and some room; `_CONNECTIONS` times `_EACH` are sent."""

_SEND = f"""
import array, os, socket, sys, time
some = os.open("/dev/null", os.O_RDONLY)
links = []
for _ in range({_CONNECTIONS}):
    link = socket.socket(socket.AF_UNIX)
    link.connect(sys.argv[1])
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [some] * {_EACH}))]
    link.sendmsg([b"GET /turn HTTP/1.1\\r\\nHost: gateway\\r\\n"], rights)
    links.append(link)
open(sys.argv[2] + "/sent", "w").close()
end = time.monotonic() + 30
while time.monotonic() < end and not os.path.exists(sys.argv[2] + "/enough"):
    time.sleep(0.02)
"""
_SUITE = "agents:\n  silent: {command: ['true'], files: agent}\n"


def descriptors_held(provider: SandboxProvider, image: str) -> int:
    """How many more this process has open while a program has sent its own to the gateway, with half a request each."""
    with _session() as session:
        spec = SandboxSpec(trial_id="escape.rights", limits=Limits(memory_mb=64), gateway_socket=session.socket)
        with closing(provider.start(spec, Snapshot(name="empty", environment="base", image=image))) as sandbox:
            before = _open_here()
            program = threading.Thread(
                target=sandbox.exec,
                args=(["python3", "-c", _SEND, str(sandbox.places.gateway_socket), "/work"], {}, 60),
            )
            program.start()
            for _ in range(600):
                try:
                    sandbox.read_file("sent")
                    break
                except FileNotFoundError:
                    threading.Event().wait(0.05)
            threading.Event().wait(0.2)  # for the gateway to take them up
            held = _open_here() - before
            sandbox.write_file("enough", b"")
            program.join()
    return held


def descriptors_held_naively(container: Container, door: Path) -> int:
    """The control: a server that takes what comes with a message, as some libraries do; `door` is seen by both."""
    held: list[int] = []
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(door / "naive.sock"))
        (door / "naive.sock").chmod(0o666)
        server.listen()
        program = threading.Thread(
            target=container.exec_run,
            args=(["sh", "-c", 'touch /tmp/enough; exec python3 -c "$0" "$1" /tmp', _SEND, str(door / "naive.sock")],),
        )
        program.start()
        for _ in range(_CONNECTIONS):
            link, _address = server.accept()
            with link:
                held += socket.recv_fds(link, 4096, _EACH)[1]
        program.join()
    for descriptor in held:
        os.close(descriptor)
    return len(held)


@contextmanager
def _session() -> Iterator[TrialSession]:
    with tempfile.TemporaryDirectory() as temporary:
        project = Path(temporary)
        folder = project / "suites" / "s"
        (folder / "agent").mkdir(parents=True)
        (folder / "suite.yaml").write_text(_SUITE, encoding="utf-8")
        (folder / "cases.yaml").write_text("- {id: c, task: Do it.}\n", encoding="utf-8")
        suite = load_suite(project, "s")
        request = SessionRequest(trial_id="escape.rights", case=suite.cases[0], attempt=1, agent="silent")
        with Gateway(suite, "replay", cassettes=project / "cassettes", secrets={}) as gateway:
            yield gateway.open(request)


def _open_here() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())
