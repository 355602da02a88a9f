"""Programs as ordinary processes of this machine: for machines without a container engine, and for experiments.

It uses the same launcher and the same channel as a container, without isolation. A program can read and write whatever
its user can, reach the network, and use as much memory, disk, CPU and processes as the machine has; root-owned snapshot
files are the user's own; an absolute path such as /work/x in the program is the machine's and not the sandbox's (only
`{work}`, HOME and relative paths lead there). These features are kept: the pinned environment, the time limit for the
whole tree of processes, the cap on output, the gateway, and the end state. The clock cannot be pinned. External hosts
are reached by the proxy variables alone: no host name resolves to the gateway.
"""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import harness
from harness.errors import SandboxError
from harness.sandbox.control import ControlListener
from harness.sandbox.launched import LaunchedSandbox, LauncherView
from harness.sandbox.layout import Layouts
from harness.sandbox.ownership import private_folder, remove_private_folder
from harness.sandbox.provider import Sandbox, SandboxPaths, SandboxSpec
from harness.sandbox.snapshot import Snapshot

_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); from harness.sandbox.inside.launcher import main; main(sys.argv[2])"
)
_SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_REPORTS_WITHIN_S = 30.0
_ENDS_WITHIN_S = 30.0


def local_search_path() -> str:
    """PATH of the programs in this sandbox: the virtual environment that is active, the harness's own programs, those
    of the system, and what else the caller has.
    """
    callers = [folder for folder in os.environ.get("PATH", "").split(":") if folder.startswith("/")]
    active = [folder for folder in callers if has_packages(folder)]
    return ":".join(dict.fromkeys([*active, str(Path(sys.executable).parent), *_SEARCH_PATH.split(":"), *callers]))


def has_packages(folder: str | Path) -> bool:
    """Whether the folder holds the programs of a virtual environment."""
    return (Path(folder).parent / "pyvenv.cfg").is_file()


def has_own_packages(words: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether the program is one of a virtual environment of this machine, whose packages no image has."""
    found = shutil.which(words[0], path=environment.get("PATH"))
    return found is not None and has_packages(Path(found).parent)


class LocalSandboxProvider:
    """Implements `SandboxProvider` without isolation; safe to use from many threads."""

    name: Literal["local"] = "local"
    isolates = False

    def __init__(self, *, run: str) -> None:
        self._run = run
        self._open: set[_LocalLauncher] = set()
        self._lock = threading.Lock()
        self._layouts = Layouts()
        self._closed = False

    def start(self, spec: SandboxSpec, snapshot: Snapshot) -> Sandbox:
        if spec.clock is not None:
            raise SandboxError("the local sandbox cannot pin the clock", remedy="run with `--sandbox docker`")
        layout = self._layouts.of(spec, snapshot)
        try:
            nest = self._nest()
        except OSError as error:
            raise SandboxError(f"a sandbox cannot be started: {error}") from error
        try:
            real = {place: str(nest.place(place)) for place in layout.places}
            places = SandboxPaths(
                agent="/agent" if spec.agent_files is None else str(spec.agent_files.resolve()),
                work=real["/work"],
                gateway_url=None,
                gateway_socket=None if spec.gateway_socket is None else str(spec.gateway_socket),
            )
            inside = LauncherView(places=places, temporary=real["/tmp"], search_path=local_search_path(), real=real)
            control = nest.listener.accept(_REPORTS_WITHIN_S, nest.why_dead)
            nest.on_discard(control.close)
            sandbox = LaunchedSandbox(control, inside, spec, nest.why_dead, nest.discard)
            sandbox.restore(snapshot, layout, ports=(0,))
        except BaseException:
            nest.discard()
            raise
        return sandbox

    def _nest(self) -> "_LocalLauncher":
        with self._lock:
            if self._closed:
                raise SandboxError("the sandbox provider is closed")
            nest = _LocalLauncher(self._forget)
            self._open.add(nest)
        return nest

    def close(self) -> None:
        with self._lock:
            self._closed = True
            still_open = list(self._open)
        for nest in still_open:
            nest.discard()

    def _forget(self, nest: "_LocalLauncher") -> None:
        with self._lock:
            self._open.discard(nest)


class _LocalLauncher:
    """One launcher process with the folder that contains its places."""

    def __init__(self, forget: Callable[["_LocalLauncher"], None]) -> None:
        self._forget = forget
        self._hang_up: Callable[[], None] | None = None
        self._folder = private_folder()
        try:
            self.listener = ControlListener(self._folder)
            self._process = _launched(self.listener)
        except OSError:
            remove_private_folder(self._folder)
            raise

    def place(self, shown: str) -> Path:
        """Creates the folder that represents a writable place."""
        folder = self._folder / "root" / shown.lstrip("/")
        folder.mkdir(parents=True)
        return folder.resolve()

    def on_discard(self, hang_up: Callable[[], None]) -> None:
        self._hang_up = hang_up

    def discard(self) -> None:
        """Ends the launcher, which ends its programs first, and removes the folder."""
        self.listener.close()
        if self._hang_up is not None:
            self._hang_up()
        try:
            self._process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        remove_private_folder(self._folder)
        self._forget(self)

    def why_dead(self) -> str | None:
        code = self._process.poll()
        return None if code is None else f"its launcher ended with exit code {code}"


def _launched(listener: ControlListener) -> subprocess.Popen[bytes]:
    """Raises OSError, and closes the listener, if no process can be started."""
    package = Path(harness.__file__).parent.parent
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-E", "-B", "-X", "utf8", "-c", _START, package, listener.path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={"LANG": "C.UTF-8"},
            start_new_session=True,
        )
    except OSError:
        listener.close()
        raise
