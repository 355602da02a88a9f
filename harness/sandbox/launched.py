"""A sandbox whose first process is the harness's launcher, for every provider that uses it."""

import codecs
import errno
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args

from harness.errors import SandboxError, SandboxLost
from harness.sandbox.control import Control, LauncherLost, LauncherRefusal
from harness.sandbox.endstate import RestoredFiles, write_end_state
from harness.sandbox.layout import OWN_HOME, OWN_WORK, Layout, Owner, clean_environment, instant_ns
from harness.sandbox.provider import SandboxPaths, SandboxSpec, proxy_environment
from harness.sandbox.snapshot import Snapshot, SnapshotEntry
from harness.traces.trial import EndState, ProgramExit


def program_exit(answer: dict[str, Any]) -> ProgramExit:
    """The launcher's answer about a program that has ended."""
    status = -signal.SIGKILL if answer["timed_out"] else os.waitstatus_to_exitcode(answer["status"])
    return ProgramExit(
        code=status if status >= 0 else None,
        signal=-status if status < 0 else None,
        timed_out=bool(answer["timed_out"]),
        stdout=_output_text(answer["out"], answer["out_bytes"]),
        stderr=_output_text(answer["err"], answer["err_bytes"]),
        stdout_end=_complete_lines(answer["out_end"]),
        stderr_end=_complete_lines(answer["err_end"]),
        stdout_bytes=answer["out_bytes"],
        stderr_bytes=answer["err_bytes"],
        duration_s=answer["duration_ns"] / 1e9,
    )


def _output_text(kept: bytes, total: int) -> str:
    """Omits a character that the limit has cut in two, because it was not invalid."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return decoder.decode(kept, final=total == len(kept))


def _complete_lines(last: bytes) -> str:
    """Starts at the first complete line: half a line could contain half of a secret, which would not be recognised."""
    line_ends = [place for place in (last.find(b"\n"), last.find(b"\r")) if place >= 0]
    return last[min(line_ends) + 1 :].decode("utf-8", "replace") if line_ends else ""


CLOCK_LIBRARY = "/usr/local/lib/harness-clock.so"
"""Moves CLOCK_REALTIME by HARNESS_CLOCK_OFFSET_NS; built into the base image."""

_ANSWER_WITHIN_S = 60.0
_ENDING_TAKES_S = 45.0
_ENGINE_TELLS_WITHIN_S = 10.0
_ENTRIES_MAX = 20_000
_BYTES_MAX = 64 * 1024 * 1024
_WRITE_MAX = 64 * 1024 * 1024
_WRITABLE_BY_OTHERS = 0o002


@dataclass(frozen=True, kw_only=True)
class LauncherView:
    """A provider's sandbox as the launcher sees it."""

    places: SandboxPaths
    temporary: str
    search_path: str
    real: Mapping[str, str]
    """Where each writable place is, seen by the launcher."""
    uid: int | None = None
    """The user of the programs; None: the launcher's own user."""
    to_own: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Places whose owner and mode the launcher sets, because the engine cannot: place -> user, mode."""


class LaunchedSandbox:
    """Implements `Sandbox` over the control channel. `why_dead` explains a lost launcher, `lost_by` tells
    whose doing that was, `discard` cleans up.
    """

    def __init__(
        self,
        control: Control,
        inside: LauncherView,
        spec: SandboxSpec,
        why_dead: Callable[[], str | None],
        discard: Callable[[], None],
        lost_by: Callable[[], Literal["memory", "engine"] | None] = lambda: None,
    ) -> None:
        self._control = control
        self._inside = inside
        self._limits = spec.limits
        self._clock_ns = None if spec.clock is None else instant_ns(spec.clock)
        self._why_dead = why_dead
        self._discard = discard
        self._lost_by = lost_by
        self._outside = spec.outside
        self._own_home = spec.own_home
        self._cwd = spec.cwd
        self._places = inside.places
        self._env: dict[str, str] = {}
        self._restored = RestoredFiles(files={})
        self._created = False
        self._closed = False

    @property
    def places(self) -> SandboxPaths:
        return self._places

    def restore(self, snapshot: Snapshot, layout: Layout, ports: Sequence[int], *, created: bool = False) -> None:
        """Restores the files; must be called once, before all other calls. The gateway is available at each of the
        ports.

        `created` states that the files exist already, and that the launcher has their list.
        """
        socket = self._places.gateway_socket
        answer = self._set_up(layout, ports)
        if socket is not None:
            self._places = SandboxPaths(
                agent=self._places.agent,
                work=self._places.work,
                gateway_url=f"http://127.0.0.1:{answer['port']}",
                gateway_socket=socket,
            )
        if not created:
            self._create_all(layout)
            if layout.restored:
                self._ask({"do": "stamp", "overlaid": layout.overlaid})
        self._created = created
        self._restored = RestoredFiles(files=layout.restored, absent=layout.absent)
        self._env = self._pinned(snapshot)

    def create_files(self, layout: Layout) -> None:
        """Restores files into a sandbox in which nothing will run."""
        self._set_up(layout, ())
        self._create_all(layout)

    def exec(self, command: Sequence[str], env: Mapping[str, str], timeout_s: float) -> ProgramExit:
        environment = {**self._env, **env, **self._gateway_env()}
        request: dict[str, Any] = {
            "do": "run",
            "argv": list(command),
            "cwd": self._where_it_starts(),
            "timeout_ms": round(timeout_s * 1000),
            "keep": self._limits.output_kb * 1024,
        }
        if self._clock_ns is not None:
            preloaded = environment.get("LD_PRELOAD")
            environment["LD_PRELOAD"] = CLOCK_LIBRARY if preloaded is None else f"{CLOCK_LIBRARY}:{preloaded}"
            request |= {"clock_ns": self._clock_ns, "clock_library": CLOCK_LIBRARY}
        request["env"] = [f"{name}={value}" for name, value in environment.items()]
        try:
            answer = self._ask(request, timeout_s + _ENDING_TAKES_S)
        except LauncherRefusal as refused:
            raise SandboxError(
                f"the program cannot be started: {refused.problem}",
                remedy=f"a pinned clock needs {CLOCK_LIBRARY} in the image: build the image upon `base`",
            ) from None
        return program_exit(answer)

    def expire(self) -> None:
        with self._with_exit_reason():
            self._control.ask_running({"do": "expire"}, _ANSWER_WITHIN_S)

    def read_file(self, path: str, max_bytes: int = 1_048_576) -> bytes:
        try:
            answer = self._ask({"do": "read", "path": self._absolute(path), "limit": max_bytes})
        except LauncherRefusal as refused:
            _raise_for_file(refused, path, "read")
        content: bytes = answer["content"]
        if len(content) > max_bytes:
            raise SandboxError(f"{path!r} is larger than {max_bytes} bytes")
        return content

    def write_file(self, path: str, content: bytes) -> None:
        if len(content) > _WRITE_MAX:
            raise SandboxError(f"{path!r}: {len(content)} bytes are more than can be written at once ({_WRITE_MAX})")
        try:
            self._ask({"do": "write", "path": self._absolute(path), "content": content})
        except LauncherRefusal as refused:
            _raise_for_file(refused, path, "written")

    def end_state(self, archive: Path) -> EndState:
        """The differences below the writable places, the temporary folders /tmp and /dev/shm left out."""
        files = {} if self._created else self._restored.files
        sums = {path: file.sha256 for path, file in files.items() if self._may_write(file)}
        request = {"do": "changes", "entries": _ENTRIES_MAX, "bytes": _BYTES_MAX, "sums": list(sums.items())}
        with self._with_exit_reason():
            return write_end_state(archive, self._restored, self._control.ask_for_changes(request, _ANSWER_WITHIN_S))

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._control.close()
            self._discard()

    def _may_write(self, file: SnapshotEntry) -> bool:
        """Whether a program may write the file, while only its content counts as a change."""
        writable = self._inside.uid is None or file.owner == "agent" or bool(file.mode & _WRITABLE_BY_OTHERS)
        return file.sha256 is not None and writable

    def _set_up(self, layout: Layout, ports: Sequence[int]) -> dict[str, Any]:
        return self._ask(
            {
                "do": "setup",
                "uid": self._inside.uid,
                "places": [[place, self._inside.real[place]] for place in layout.places],
                "own": [[place, uid, mode] for place, (uid, mode) in self._inside.to_own.items()],
                "gateway": self._places.gateway_socket,
                "port": list(ports),
            }
        )

    def _create_all(self, layout: Layout) -> None:
        for owner in get_args(Owner):
            entries = layout.of(owner)
            if not entries:
                continue
            request = {"do": "create", "owner": owner, "count": len(entries)}
            content = (part for entry in entries for part in entry.parts())
            try:
                with self._with_exit_reason():
                    self._control.ask_with_content(request, content, _ANSWER_WITHIN_S)
            except LauncherRefusal as refused:
                raise SandboxError(
                    f"the snapshot files cannot be written: {refused.problem}",
                    remedy=f"all must fit into limits.disk_mb ({self._limits.disk_mb})",
                ) from None

    def _ask(self, message: dict[str, Any], within_s: float = _ANSWER_WITHIN_S) -> dict[str, Any]:
        with self._with_exit_reason():
            return self._control.ask(message, within_s)

    @contextmanager
    def _with_exit_reason(self) -> Iterator[None]:
        """Discards a sandbox whose launcher is lost, and adds the reason to the error."""
        try:
            yield
        except LauncherLost as lost:
            deadline = time.monotonic() + (_ENGINE_TELLS_WITHIN_S if lost.has_ended else 0.0)
            while (reason := self._why_dead()) is None and time.monotonic() < deadline:
                time.sleep(0.05)
            by = self._lost_by()
            self.close()
            raise SandboxLost(lost.message if reason is None else f"{lost.message}; {reason}", by) from lost

    def _pinned(self, snapshot: Snapshot) -> dict[str, str]:
        pinned = {
            "PATH": self._inside.search_path,
            "HOME": self._places.work,
            "TMPDIR": self._inside.temporary,
            "USER": "agent",
            "TZ": "UTC",
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            **snapshot.env,
        }
        if not self._own_home:
            return pinned
        return clean_environment(
            pinned, self._launcher_path(OWN_HOME), (*self._inside.real, *self._inside.real.values())
        )

    def _where_it_starts(self) -> str:
        if self._cwd is not None:
            return self._launcher_path(self._cwd)
        return self._launcher_path(OWN_WORK) if self._own_home else self._places.work

    def _launcher_path(self, shown: str) -> str:
        """The launcher's path of a path below one of the writable places."""
        for place, real in self._inside.real.items():
            if shown == place or shown.startswith(f"{place}/"):
                return real + shown[len(place) :]
        return shown

    def _gateway_env(self) -> dict[str, str]:
        if self._places.gateway_url is None or self._places.gateway_socket is None:
            return {}
        outside = {}
        if self._outside is not None:
            folder = self._places.gateway_socket.rpartition("/")[0]
            outside = proxy_environment(self._places.gateway_url, f"{folder}/{self._outside.certificate.name}")
        return {
            **outside,
            "HARNESS_GATEWAY_URL": self._places.gateway_url,
            "HARNESS_GATEWAY_SOCKET": self._places.gateway_socket,
            "HARNESS_MCP_URL": f"{self._places.gateway_url}/mcp",
        }

    def _absolute(self, path: str) -> str:
        return os.path.normpath(path if path.startswith("/") else f"{self._cwd or '/work'}/{path}")


def _raise_for_file(refused: LauncherRefusal, path: str, done: str) -> NoReturn:
    match refused.number:
        case errno.ENOENT | errno.ENOTDIR | errno.ELOOP | errno.ENAMETOOLONG:
            raise FileNotFoundError(errno.ENOENT, refused.problem, path) from None
        case errno.EISDIR:
            raise IsADirectoryError(errno.EISDIR, refused.problem, path) from None
        case errno.EACCES | errno.EPERM | errno.EROFS:
            raise PermissionError(errno.EACCES, refused.problem, path) from None
        case _:
            raise SandboxError(f"{path!r} cannot be {done}: {refused.problem}") from None
