"""Podman without root, as a user of its own who exists in the engine's namespaces only.

The user's ranges of ids are bound over `/etc/subuid` and `/etc/subgid` there, so that nothing of the machine changes.
The harness has to run as that user too, because the engine mounts files of the harness.
"""

import os
import shutil
import subprocess
from pathlib import Path

from typing_extensions import override

from qa.soak.second_engine import SecondEngine

_ID = "23456"
_NAME = "rootless"
_NEEDED = {"podman": "podman", "newuidmap": "uidmap", "setpriv": "util-linux", "runc": "runc"}
"""Program -> its package in Debian."""


class RootlessPodman(SecondEngine):
    """Its service, with runc as its runtime and no manager of cgroups."""

    def __init__(self, folder: Path, *options: str, programs: Path | None = None, driver: str | None = None) -> None:
        missing = [package for program, package in _NEEDED.items() if shutil.which(program) is None]
        assert not missing, f"packages that rootless Podman needs are not here: {', '.join(missing)}"
        super().__init__(folder, *options, programs=programs, driver=driver)
        folder.chmod(0o755)
        self._home = folder / "home"
        self._home.mkdir(mode=0o755)
        (self._home / "run").mkdir(mode=0o700)
        (self._home / "tmp").mkdir(mode=0o700)
        for path in (self._home, self._home / "run", self._home / "tmp"):
            shutil.chown(path, int(_ID), int(_ID))
        self.host = f"unix://{self._home}/run/podman.sock"

    @override
    def start(self) -> None:
        for file, line in {
            "passwd": f"{_NAME}:x:{_ID}:{_ID}::{self._home}:/bin/sh",
            "group": f"{_NAME}:x:{_ID}:",
            "subuid": f"{_NAME}:300000:65536",
            "subgid": f"{_NAME}:300000:65536",
        }.items():
            known = Path("/etc") / file
            assert known.exists(), f"{known} is not here: install the package uidmap"
            text = known.read_text(encoding="utf-8")
            (self.folder / file).write_text(f"{text}{line}\n", encoding="utf-8")
            self.run("mount", "--bind", str(self.folder / file), str(known))
        super().start()

    @override
    def _command(self, settings: Path) -> list[str]:
        own = [f"--root={self._home}/data", f"--runroot={self._home}/run/exec", "--storage-driver=overlay"]
        runs = ["--cgroup-manager=cgroupfs", f"--runtime={shutil.which('runc')}"]
        podman = ["podman", *own, *runs, *self._options, "system", "service", "--time=0", self.host]
        return [*self._as_user(), f"XDG_RUNTIME_DIR={self._home}/run", *podman]

    def harness_as_its_user(self, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
        """Runs a command of the harness in `folder`; it may read what belongs to root, as Python itself may."""
        reads = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
        own = [f"TMPDIR={self._home}/tmp", f"DOCKER_HOST={self.host}", "PYTHONDONTWRITEBYTECODE=1"]
        return subprocess.run(
            [*self._as_user(*reads), *own, *command], cwd=folder, check=True, stdout=subprocess.PIPE, text=True
        )

    def _as_user(self, *more: str) -> list[str]:
        as_user = ["setpriv", f"--reuid={_ID}", f"--regid={_ID}", "--clear-groups", *more]
        return [*as_user, "env", "--ignore-environment", f"PATH={os.environ['PATH']}", f"HOME={self._home}"]
