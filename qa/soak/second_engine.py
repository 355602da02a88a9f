"""A container engine of one's own, which may be killed, stopped and started again without the machine's noticing.

It lives in network, mount and process namespaces of its own: in the machine's network it would take the bridge of the
engine that is there. All of it goes with the holder of the namespaces, mounts and containers too. Needs root.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import docker

_ANSWERS_WITHIN_S = 120.0
_ENDS_WITHIN_S = 60.0
_HOLD = "mount -t proc proc /proc && ip link set lo up && echo $$ && while sleep 1; do :; done"
"""A shell, which takes away what ends: a zombie of its containerd would keep a daemon from starting again."""


class SecondEngine:
    """Started by `with`; `host` is what DOCKER_HOST is to be. Its files lie in `folder`, which the caller removes.

    `programs` is a folder with the programs of another version of the engine; None: the machine's own.
    """

    def __init__(self, folder: Path, *options: str, programs: Path | None = None, driver: str | None = None) -> None:
        self.folder = folder
        self.host = f"unix://{folder}/docker.sock"
        self._options = options
        self._programs = programs
        self._driver = driver
        self._holder: subprocess.Popen[str] | None = None
        self._daemon: subprocess.Popen[bytes] | None = None
        self._cgroup = f"harness-{folder.name}"

    def __enter__(self) -> Self:
        apart = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", _HOLD]
        self._holder = subprocess.Popen(apart, stdout=subprocess.PIPE, text=True)
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline().strip() == "1", "namespaces cannot be made here: are you root?"
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Returns when it answers; it finds the images that it had before."""
        for left in ("docker.pid", "docker.sock"):
            (self.folder / left).unlink(missing_ok=True)
        self._unmount()
        settings = self.folder / "daemon.json"
        settings.write_text(
            json.dumps({"storage-driver": self._driver or _storage_driver()}), encoding="utf-8"
        )  # not the machine's
        path = os.environ["PATH"] if self._programs is None else f"{self._programs}:{os.environ['PATH']}"
        with (self.folder / "dockerd.log").open("ab") as log:
            self._daemon = subprocess.Popen(
                [*self._inside(), *self._command(settings)],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PATH": path},
            )
        until = time.monotonic() + _ANSWERS_WITHIN_S
        while not self.answers():
            still_may = self._daemon.poll() is None and time.monotonic() < until
            assert still_may, self.log()
            time.sleep(0.1)

    def _command(self, settings: Path) -> list[str]:
        files = [f"--config-file={settings}", f"--data-root={self.folder}/data", f"--exec-root={self.folder}/exec"]
        own = [f"--host={self.host}", f"--pidfile={self.folder}/docker.pid", f"--cgroup-parent=/{self._cgroup}"]
        return ["dockerd", *files, *own, *self._options]

    def kill(self) -> None:
        """As if it had crashed: what it runs goes on running until it is started again."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """As an administrator stops it: with its containers, unless it was started with `--live-restore`."""
        self._end(signal.SIGTERM)

    def answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as door:  # the client forgets to close one that nobody listens behind
            if door.connect_ex(self.host.removeprefix("unix://")) != 0:
                return False
        with suppress(docker.errors.DockerException, OSError), self.client() as client:
            return bool(client.ping())
        return False

    @contextmanager
    def client(self) -> Iterator[docker.DockerClient]:
        client = docker.DockerClient(self.host, timeout=120)
        try:
            yield client
        finally:
            client.close()

    def run(self, *command: str) -> None:
        """Runs a command in the namespaces that the engine lives in."""
        subprocess.run([*self._inside(), *command], check=True)

    def in_its_network(self, *command: str) -> list[str]:
        """A command that sees the engine's network as this machine's own, and all else as it is."""
        return ["nsenter", "--target", str(_child(self._held())), "--net", *command]

    def load(self, tag: str) -> None:
        """Takes an image over from the machine's own engine."""
        with subprocess.Popen(["docker", "save", tag], stdout=subprocess.PIPE) as saved:
            subprocess.run(["docker", "--host", self.host, "load", "--quiet"], stdin=saved.stdout, check=True)
        assert saved.returncode == 0

    def log(self) -> str:
        """The end of what it said."""
        return (self.folder / "dockerd.log").read_text(encoding="utf-8", errors="replace")[-4000:]

    def close(self) -> None:
        """Ends it and all that it runs, however it is."""
        self._end(signal.SIGTERM)
        assert self._holder is not None
        self._holder.kill()  # it takes no milder signal; what it holds goes with it
        self._holder.communicate(timeout=_ENDS_WITHIN_S)
        until = time.monotonic() + _ENDS_WITHIN_S
        while (groups := self._groups()) and time.monotonic() < until:
            for group in groups:
                with suppress(OSError):  # what is in it is just ending
                    group.rmdir()
            time.sleep(0.05)

    def _unmount(self) -> None:
        """What an ended one left mounted: with fuse-overlayfs it could not remove those containers ever again."""
        mounts = Path(f"/proc/{_child(self._held())}/mounts").read_text(encoding="utf-8").splitlines()
        mounted = [line.split()[1] for line in mounts if line.split()[1].startswith(f"{self.folder}/data/")]
        for place in reversed(mounted):
            subprocess.run([*self._inside(), "umount", "--lazy", place], check=False, stderr=subprocess.DEVNULL)

    def _groups(self) -> list[Path]:
        """The cgroups of its containers, from the innermost."""
        parents = list(Path("/sys/fs/cgroup").glob(f"*/{self._cgroup}"))
        inner = [path for parent in parents for path in parent.rglob("*") if path.is_dir()]
        return sorted([*parents, *inner], reverse=True)

    def _end(self, how: signal.Signals) -> None:
        if self._daemon is None or self._daemon.poll() is not None:
            return
        os.kill(_child(self._daemon), how)
        try:
            self._daemon.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            os.kill(_child(self._daemon), signal.SIGKILL)
            self._daemon.wait()

    def _inside(self) -> list[str]:
        return ["nsenter", "--target", str(_child(self._held())), "--net", "--mount", "--pid"]

    def _held(self) -> subprocess.Popen[str]:
        assert self._holder is not None
        return self._holder


def _child(process: subprocess.Popen[Any]) -> int:
    """What `unshare` and `nsenter` have started, and wait for."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return int(children.read_text(encoding="ascii").split()[0])


def _storage_driver() -> str:
    asked = ["docker", "info", "--format", "{{.Driver}}"]
    return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()


class PodmanEngine(SecondEngine):
    """Podman's service, rootful, with runc as its runtime."""

    def _command(self, settings: Path) -> list[str]:
        own = [f"--root={self.folder}/data", f"--runroot={self.folder}/exec", "--storage-driver=overlay"]
        runs = ["--cgroup-manager=cgroupfs", "--runtime=/usr/bin/runc"]
        return ["podman", *own, *runs, *self._options, "system", "service", "--time=0", self.host]


@contextmanager
def second_engine(
    *images: str,
    options: tuple[str, ...] = (),
    programs: Path | None = None,
    driver: str | None = None,
    kind: type[SecondEngine] = SecondEngine,
) -> Iterator[SecondEngine]:
    """A running one with these images of the machine's engine; nothing is left of it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="engine-"))
    try:
        with kind(folder, *options, programs=programs, driver=driver) as engine:
            for tag in images:
                engine.load(tag)
            yield engine
    finally:
        shutil.rmtree(folder, ignore_errors=True)
