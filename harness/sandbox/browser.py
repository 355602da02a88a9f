"""A browser in a sandbox of its own: Chromium with a driver, whose only network access is the gateway's pages.

It is restored for each use, at a known address and with an empty profile or that of the snapshot, and discarded
afterwards. Problems of a page are returned as results; if the browser itself has ended, BrowserGone contains its
last output.
"""

import json
import shlex
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from harness.errors import SandboxError
from harness.sandbox.provider import Sandbox, SandboxProvider, SandboxSpec
from harness.sandbox.snapshot import Snapshot
from harness.suite.cases import Limits
from harness.traces.trial import ProgramExit
from harness.values import JsonObject

_DRIVER = Path(__file__).parent / "browsing"
_LIMITS = Limits(seconds=86_400, memory_mb=1024, processes=512, cpus=2.0, disk_mb=256, output_kb=2048)
_SOCKET = "/tmp/driver.sock"
_PICTURE = "/tmp/picture.png"
_READY = "/tmp/ready"
_LOG = "/tmp/driver.log"
_START = f'exec python3 {{agent}}/driver.py {_SOCKET} "$1" >{_READY} 2>{_LOG}'
_ASK = """
import socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as driver:
    driver.connect(sys.argv[1])
    driver.sendall(sys.argv[2].encode("utf-8", "surrogateescape"))
    driver.shutdown(socket.SHUT_WR)
    while piece := driver.recv(65536):
        sys.stdout.buffer.write(piece)
"""
"""Sends one request to the driver and prints its answer."""
_READY_WITHIN_S = 120.0
_POLL_S = 0.05
_BEYOND_S = 30.0
"""Seconds that an action may take beyond its own time limit before the driver counts as lost."""
_SETTLES_WITHIN_S = 15.0
_LARGEST_PICTURE = 32 * 1024 * 1024
_LAST_LINES = 15


class BrowserGone(SandboxError):
    """The browser ended, or does not answer; no page is the cause."""


@dataclass(frozen=True, kw_only=True)
class BrowserSpec:
    """What one browser needs."""

    trial_id: str
    """A unique id, which is set in the container's labels."""
    image: str
    """Tag of the image that holds Chromium and Playwright."""
    gateway_socket: Path
    """Unix socket that serves only pages."""
    url: str | None = None
    """The page to open at the start; None for an empty page."""
    profile: JsonObject | None = None
    """Cookies and local storage, in Playwright's form; None: empty."""
    clock: str | None = None
    """ISO 8601 instant at which the pages' clock starts; None: the real time."""


@dataclass(frozen=True, kw_only=True)
class PageQuery:
    """What is to be read from a page."""

    selectors: tuple[str, ...]
    attributes: tuple[str, ...] = ()
    url: str | None = None
    """None: the current page."""
    fresh: bool = False
    """Whether to read with the profile that the browser began with, without the changes since."""


@dataclass(frozen=True, kw_only=True)
class ActResult:
    """The result of an action: the kind of an HTTP status, and a text."""

    status: int
    said: JsonObject


class Browser:
    """A started browser; it may be used from many threads, and performs one action at a time."""

    def __init__(self, provider: SandboxProvider, spec: BrowserSpec) -> None:
        """Raises SandboxError, or BrowserGone with what the browser wrote, if it does not start."""
        nothing = Snapshot(name="browser", environment="browser", image=spec.image)
        self._sandbox: Sandbox = provider.start(
            SandboxSpec(
                trial_id=spec.trial_id,
                limits=_LIMITS,
                image=spec.image,
                agent_files=_DRIVER,
                gateway_socket=spec.gateway_socket,
                clock=spec.clock,
            ),
            nothing,
        )
        self._turn = threading.Lock()
        self._ended: list[ProgramExit | SandboxError] = []
        self._driver = threading.Thread(
            target=self._run_driver, args=(self._settings(spec),), name="browser", daemon=True
        )
        self._driver.start()
        try:
            self._wait()
        except BaseException:
            self.close()
            raise

    def act(self, do: str, arguments: Mapping[str, JsonValue], within_s: float) -> ActResult:
        """Performs one action on the page. Raises BrowserGone."""
        request = {"do": do, "within_s": within_s, **arguments}
        with self._turn:
            ended = self._answer_to(json.dumps(request, ensure_ascii=False), within_s + _BEYOND_S)
        try:
            answer: JsonObject = json.loads(ended.stdout)
        except (ValueError, RecursionError):
            raise self._gone("it gave no answer") from None
        if not isinstance(answer, dict):
            raise self._gone("it gave no answer")
        done, refused = answer.get("done"), answer.get("refused")
        if isinstance(done, dict):
            return ActResult(status=200, said=done)
        assert isinstance(refused, dict)
        status = refused["status"]
        assert isinstance(status, int)
        return ActResult(status=status, said={"message": refused["message"]})

    def picture(self) -> bytes:
        """The PNG of the last look. Raises SandboxError if there is none."""
        try:
            return self._sandbox.read_file(_PICTURE, _LARGEST_PICTURE)
        except OSError as error:
            raise SandboxError(f"the browser took no screenshot: {error}") from None

    def look(self, query: PageQuery, within_s: float) -> ActResult:
        """Reads a page, and takes a picture of it; see `picture`."""
        asked: JsonObject = {
            "url": query.url,
            "fresh": query.fresh,
            "selectors": list(query.selectors),
            "attributes": list(query.attributes),
            "picture": _PICTURE,
        }
        return self.act("look", asked, within_s)

    def close(self) -> None:
        """Discards the browser; safe to call twice."""
        self._sandbox.close()
        self._driver.join(_BEYOND_S)

    def _settings(self, spec: BrowserSpec) -> str:
        return json.dumps(
            {
                "proxy": self._sandbox.places.gateway_url,
                "url": spec.url,
                "profile": spec.profile,
                "width": 1280,
                "height": 800,
                "settle_s": _SETTLES_WITHIN_S,
            }
        )

    def _run_driver(self, settings: str) -> None:
        start = _START.replace("{agent}", shlex.quote(self._sandbox.places.agent))
        try:
            self._ended.append(self._sandbox.exec(["sh", "-c", start, "driver", settings], {}, _LIMITS.seconds))
        except SandboxError as error:
            self._ended.append(error)

    def _wait(self) -> None:
        deadline = time.monotonic() + _READY_WITHIN_S
        while b"ready" not in self._file(_READY):
            if self._ended:
                raise self._gone("it did not start")
            if time.monotonic() > deadline:
                raise self._gone(f"it did not start within {_READY_WITHIN_S:g} s")
            time.sleep(_POLL_S)

    def _answer_to(self, request: str, within_s: float) -> ProgramExit:
        command = ["python3", "-I", "-S", "-E", "-c", _ASK, _SOCKET, request]
        if self._ended:
            raise self._gone("it ended by itself")
        try:
            ended = self._sandbox.exec(command, {}, within_s)
        except SandboxError as error:  # it ended just now
            raise self._gone(f"it ended by itself: {error.message}") from error
        if ended.timed_out:
            raise self._gone(f"it did not answer within {within_s:g} s")
        if ended.code != 0:
            raise self._gone("it ended by itself")
        return ended

    def _gone(self, why: str) -> BrowserGone:
        log = self._file(_LOG).decode("utf-8", "replace").splitlines()[-_LAST_LINES:]
        shown = "\n".join(f"    {line}" for line in log) or "    (nothing)"
        return BrowserGone(f"the browser has ended: {why}; its last output:\n{shown}")

    def _file(self, path: str) -> bytes:
        try:
            return self._sandbox.read_file(path)
        except (OSError, SandboxError):  # not written yet, or the sandbox has ended
            return b""
