"""The fixture of the checks: sandboxes of the provider under test, generated snapshots, and a small real gateway."""

import hashlib
import json
import socketserver
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Self

from harness.sandbox.ownership import private_folder, remove_private_folder
from harness.sandbox.provider import Sandbox, SandboxProvider, SandboxSpec
from harness.sandbox.snapshot import Snapshot, SnapshotEntry
from harness.suite.cases import Limits
from harness.traces.trial import EndState, ProgramExit


class ProviderNotConforming(AssertionError):
    """The provider does not give a guarantee that every provider must give."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One guarantee of the provider interface."""

    name: str
    run: Callable[["ProviderFixture"], None]
    needs_isolation: bool = False
    """Whether only a provider that isolates can give the guarantee."""


def expect(what: str, actual: object, expected: object) -> None:
    if actual != expected:
        raise ProviderNotConforming(f"{what}: expected {expected!r}, got {actual!r}")


def expect_raises(what: str, kinds: type[Exception] | tuple[type[Exception], ...], run: Callable[[], object]) -> None:
    try:
        got = run()
    except kinds:
        return
    raise ProviderNotConforming(f"{what}: expected {kinds!r}, got {got!r}")


Files = Mapping[str, bytes | Mapping[str, Any]]
"""Path -> the content of a file, or the fields of another entry (`content`, for a file, and those of SnapshotEntry)."""


class ProviderFixture:
    """Starts sandboxes, and closes them at the end."""

    def __init__(self, provider: SandboxProvider, image: str | None, folder: Path) -> None:
        self.provider = provider
        self.image = image
        self.folder = folder
        self._stack = ExitStack()
        self._count = 0
        folder.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def start(self, snapshot: Snapshot | None = None, limits: Limits | None = None, **spec: Any) -> Sandbox:
        """Starts a sandbox; `spec` are further fields of SandboxSpec."""
        self._count += 1
        asked = SandboxSpec(trial_id=f"{self.folder.name}.{self._count}", limits=limits or Limits(), **spec)
        sandbox = self.provider.start(asked, snapshot or self.snapshot())
        self._stack.callback(sandbox.close)
        return sandbox

    def archive(self) -> Path:
        """A new path for an end state."""
        self._count += 1
        return self.folder / f"end-{self._count}.tar"

    def end_state(self, sandbox: Sandbox) -> tuple[EndState, Path]:
        """The end state, and its archive."""
        archive = self.archive()
        return sandbox.end_state(archive), archive

    def changed(self, sandbox: Sandbox) -> list[str]:
        """The paths in the end state."""
        return [change.path for change in self.end_state(sandbox)[0].changes]

    def snapshot(self, files: Files | None = None, **fields: Any) -> Snapshot:
        """A snapshot of these entries, files with mode 0644 and all owned by the agent if nothing else is said."""
        self._count += 1
        folder = self.folder / f"snapshot-{self._count}"
        entries = []
        for path, given in (files or {}).items():
            entry = {"content": given} if isinstance(given, bytes) else dict(given)
            made = snapshot_entry(folder, path, **entry) if "content" in entry else SnapshotEntry(path=path, **entry)
            entries.append(made)
        whole = {"name": "conformance", "environment": "conformance", "files": tuple(entries), "folder": folder}
        return Snapshot(image=self.image, **whole, **fields)

    def gateway(self) -> "EchoGateway":
        """A real HTTP server on a Unix socket."""
        gateway = EchoGateway()
        self._stack.callback(gateway.close)
        return gateway


def snapshot_entry(folder: Path, path: str, content: bytes, **fields: Any) -> SnapshotEntry:
    """Writes the content to its path in a snapshot's `folder`."""
    target = folder / "files" / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    return SnapshotEntry(path=path, size=len(content), sha256=hashlib.sha256(content).hexdigest(), **fields)


def python(
    sandbox: Sandbox, code: str, *arguments: str, timeout_s: float = 30.0, env: Mapping[str, str] | None = None
) -> ProgramExit:
    """Runs Python code in the sandbox."""
    return sandbox.exec(["python3", "-c", code, *arguments], env or {}, timeout_s)


def answer_of(what: str, ended: ProgramExit) -> Any:
    """The JSON that a program printed; raises ProviderNotConforming if the program failed."""
    if ended.code != 0:
        raise ProviderNotConforming(f"{what}: the program ended with {ended!r}")
    return json.loads(ended.stdout)


def shell(sandbox: Sandbox, script: str, arguments: Sequence[str] = (), timeout_s: float = 30.0) -> ProgramExit:
    return sandbox.exec(["sh", "-c", script, "sh", *arguments], {}, timeout_s)


def await_file(sandbox: Sandbox, name: str, program: Future[ProgramExit]) -> None:
    """Returns when a program beside has made the file, or has ended."""
    while not program.done():
        try:
            sandbox.read_file(name)
            break
        except FileNotFoundError:
            threading.Event().wait(0.01)


class EchoGateway:
    """Answers every request with its own method, path and digest of the body."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self._folder = private_folder()
        self.socket = self._folder / "gateway.sock"
        self._server = _SocketServer(str(self.socket), _EchoHandler)
        self._server.seen = self.requests
        self.socket.chmod(0o666)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        remove_private_folder(self._folder)


class _SocketServer(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 16
    seen: list[str]


class _EchoHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing."""

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        assert isinstance(self.server, _SocketServer)
        self.server.seen.append(self.path)
        size = int(self.path.partition("?bytes=")[2] or 0)
        request = {"method": self.command, "path": self.path, "sha256": hashlib.sha256(body).hexdigest()}
        content = b"x" * size if size else json.dumps(request).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET
