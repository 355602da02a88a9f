"""A headless Chromium, spoken to through a pipe in its own debugging protocol: no driver, no port.

What it needs is on the machine: `make browser` installs Debian's package.
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_INTERRUPTED = "ERR_NETWORK_CHANGED"
"""Chromium ends all requests when a network appears or goes: another test has started a container."""
_LOADS = 5
_PATIENCE_S = 30
_AXE = (files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")
_VIOLATIONS = """axe.run().then((found) => found.violations.map(
    (one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" ")}`.slice(0, 400)))"""
_KEYS = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "Tab": 9}


class Browser:
    """One page. What goes wrong in it (uncaught errors, refused resources) is collected in `complaints`."""

    def __init__(self) -> None:
        program = next((found for found in map(shutil.which, _NAMES) if found), None)
        if program is None:
            pytest.fail("there is no Chromium on this machine: `make browser` installs it (as root, on Debian)")
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._number = 0
        self._events: list[dict[str, Any]] = []
        self._rest = b""
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        self._process = _started(program, self._profile.name, to_browser, from_browser)
        self._session: str | None = None
        self._session = self._attached()
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def _attached(self) -> str:
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session: str = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return session

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self._profile.cleanup()

    def send(self, method: str, **params: Any) -> Any:
        """The command's result; raises RuntimeError with the browser's words."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._noted(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            chunk = os.read(self._read, 1 << 16)
            if not chunk:
                raise RuntimeError(f"the browser ended with status {self._process.wait()}")
            self._rest += chunk
        message, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def _noted(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                self.complaints.append(details.get("exception", {}).get("description", details["text"]))
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                self.complaints.append(params["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])

    def look(self, page: Path, hash: str = "", *, width: int = 1280, height: int = 900, dark: bool = False) -> float:
        """Opens the page anew and gives the milliseconds until its program had drawn it."""
        self.load(page, hash, width=width, height=height, dark=dark)
        self.until("document.documentElement && document.documentElement.dataset.ready")
        return float(self.run("document.documentElement.dataset.ready"))

    def load(self, page: Path, hash: str = "", *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Opens the page anew, which may have no program."""
        self.visit(page.as_uri() + hash, width=width, height=height, dark=dark)

    def visit(self, address: str, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Opens an address anew."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        self.send(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )
        for _ in range(_LOADS):
            self.send("Page.navigate", url="about:blank")
            self.until("location.href === 'about:blank'")
            self.complaints.clear()
            self.requests.clear()
            self.send("Page.navigate", url=address)
            there = "location.href !== 'about:blank' && document.readyState === 'complete'"
            self.until(there + " && !document.querySelector('.waiting')")
            if not any(_INTERRUPTED in one for one in self.complaints):
                return

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        done = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            raise RuntimeError(done["exceptionDetails"].get("exception", {}).get("description", "the page threw"))
        return done["result"].get("value")

    def until(self, expression: str) -> None:
        """Waits until the expression is true."""
        deadline = time.monotonic() + _PATIENCE_S
        while not self._true(expression):
            if time.monotonic() > deadline:
                pytest.fail(f"never came true in the page: {expression}; it said: {self.complaints}")
            time.sleep(0.02)

    def _true(self, expression: str) -> bool:
        try:
            return bool(self.run(f"Boolean({expression})"))
        except RuntimeError:
            return False  # between two documents there is nothing to ask

    def violations(self) -> list[str]:
        """What axe finds in the page, each with the elements."""
        self.run(_AXE)
        found: list[str] = self.run(_VIOLATIONS)
        return found

    def press(self, *keys: str) -> None:
        for key in keys:
            text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
            code = _KEYS.get(key, ord(key[0].upper()))
            self.send("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text)
            self.send("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def picture(self, target: Path, *, whole: bool = False) -> None:
        """A screenshot; `whole` takes what must be scrolled to, too."""
        shot = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        target.write_bytes(base64.b64decode(shot["data"]))


_ON_THREE_AND_FOUR = """
import fcntl, os, sys
inward, outward = (fcntl.fcntl(int(one), fcntl.F_DUPFD, 10) for one in sys.argv[1:3])
os.dup2(inward, 3)
os.dup2(outward, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def _started(program: str, profile: str, to_browser: int, from_browser: int) -> "subprocess.Popen[bytes]":
    """Chromium reads its commands from descriptor 3 and answers on 4."""
    flags = ["--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    flags += ["--no-sandbox", f"--user-data-dir={profile}", "--disable-background-networking", "--hide-scrollbars"]
    process = subprocess.Popen(
        [sys.executable, "-c", _ON_THREE_AND_FOUR, str(to_browser), str(from_browser), program, *flags],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(to_browser, from_browser),
    )
    os.close(to_browser)
    os.close(from_browser)
    return process
