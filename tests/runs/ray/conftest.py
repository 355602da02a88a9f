"""A Ray cluster on this machine whose nodes can be lost, and what their workers leave in their temporary folder."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from tests.walks.conftest import drive_thru, walk, write_suite

__all__ = ["drive_thru", "walk", "write_suite"]

_PROGRAM = Path(__file__).with_name("cluster.py")
_ENDS_WITHIN_S = 60
_TRIES = 3
"""Ray gives a node half a minute to start, which a busy machine may not have."""


class RayCluster:
    """A head that runs no trials, and nodes of two processors each. A context manager: nothing is left of it."""

    def __init__(self, *nodes: Mapping[str, str]) -> None:
        """Begins with a node for each of these environments of its workers."""
        self._nodes = nodes
        self.address = ""

    def __enter__(self) -> Self:
        for tries_left in reversed(range(_TRIES)):
            try:
                self._start()
                break
            except AssertionError:
                self.close()
                if not tries_left:
                    raise
        return self

    def _start(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="ray-"))
        self.temporary = self._folder / "t"
        """TMPDIR of the nodes' workers."""
        for folder in ("ray", "t"):
            (self._folder / folder).mkdir()
        self._process = subprocess.Popen(
            [sys.executable, _PROGRAM, str(self._folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(self.temporary)},
        )
        self.address = os.environ["RAY_ADDRESS"] = self._answer()
        for env in self._nodes:
            self.add(**env)

    @property
    def host(self) -> str:
        """This machine's address, as the nodes know it."""
        return self.address.rpartition(":")[0]

    def add(self, **env: str) -> None:
        """A further node; its workers get these environment variables."""
        self._ask({"add": env})

    def lose(self, number: int) -> None:
        """Kills the processes of the node that was added as the `number`-th, from 0."""
        self._ask({"lose": number})

    def left(self) -> list[Path]:
        """Folders of runs on the nodes, of those that go on and of those that are dead."""
        return sorted(self.temporary.glob("harness-*/*"))

    def _ask(self, what: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        assert "done" == self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the cluster's process has ended; what it said stands above"
        return str(json.loads(line))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        try:
            self._process.communicate(timeout=_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    """Two nodes, with the container engine of this machine."""
    with RayCluster({}, {}) as started:
        yield started
