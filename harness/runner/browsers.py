"""The browsers of one trial: the agent's own, started when it is first asked for, and fresh ones to look at pages."""

import json
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.case.browsing import PageLook
from harness.errors import UsageError
from harness.gateway.session import Session
from harness.sandbox.browser import Browser, BrowserSpec
from harness.sandbox.provider import SandboxProvider
from harness.sandbox.snapshot import Snapshot
from harness.trace.page import PageSeen

PICTURES = "page-*.png"
"""Names of the pictures in a trial's folder."""

_WITHIN_S = 60.0
_NO_LETTER = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, kw_only=True)
class BrowserRoom:
    """Where the browsers of a run are started."""

    provider: SandboxProvider
    image: str
    """Tag of the image with Chromium and its driver."""
    snapshot: Snapshot


@dataclass(kw_only=True)
class TrialBrowsers:
    """To be closed when the trial ends, whatever happened."""

    room: BrowserRoom
    session: Session
    trial_id: str
    clock: str | None
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _agents: Browser | None = field(default=None, init=False)
    _closed: bool = field(default=False, init=False)

    def agents(self) -> Browser:
        """The browser that the agent's tools act in. Raises SandboxError."""
        with self._lock:
            if self._agents is None:
                self._agents = self._start("browser", self.room.snapshot.browser_url)
            return self._agents

    def look(self, looks: Sequence[PageLook], folder: Path) -> dict[str, PageSeen]:
        """What stands on the pages that the checks name; the pictures go to `folder`. The agent's browser comes first:
        a fresh one asks the site for more, which the agent's own page must not feel."""
        seen: dict[str, PageSeen] = {}
        ordered = sorted(enumerate(looks), key=lambda item: item[1].browser != "agent")
        for number, look in ordered:
            picture = folder / f"page-{number + 1}-{_NO_LETTER.sub('-', look.name)[:60]}.png"
            seen[look.name] = self._seen(look, picture)
        return {look.name: seen[look.name] for look in looks}

    def close(self) -> None:
        """Throws the agent's browser away."""
        with self._lock:
            if self._agents is not None and not self._closed:
                self._closed = True
                self._agents.close()

    def _seen(self, look: PageLook, picture: Path) -> PageSeen:
        if look.browser == "agent":
            return self._looked(self.agents(), look, look.url, picture)
        address = look.url or self.room.snapshot.browser_url
        if address is None:
            raise UsageError(
                f"check {look.name!r}: there is no page to look at",
                remedy="give it `url`, or seal a `browser_url` with the state",
            )
        browser = self._start(f"look-{_NO_LETTER.sub('-', look.name)[:40]}", None)
        try:
            return self._looked(browser, look, address, picture)
        finally:
            browser.close()

    def _looked(self, browser: Browser, look: PageLook, url: str | None, picture: Path) -> PageSeen:
        acted = browser.look(url, look.selectors, look.attributes, _WITHIN_S)
        told = json.loads(self.session.clean(json.dumps(acted.said).encode()))
        if acted.status != 200:
            return PageSeen(digest=look.digest, url=url, problem=str(told["message"]))
        picture.write_bytes(browser.picture())
        kept = {name: told.get(name) for name in ("url", "title", "status", "found")}
        return PageSeen.model_validate({"digest": look.digest, "screenshot": picture.name, **kept})

    def _start(self, name: str, url: str | None) -> Browser:
        socket = self.session.pages_socket
        assert socket is not None  # a suite that needs a browser has one
        return Browser(
            self.room.provider,
            BrowserSpec(
                trial_id=f"{self.trial_id}.{name}",
                image=self.room.image,
                gateway_socket=socket,
                url=url,
                profile=self.room.snapshot.browser_profile,
                clock=self.clock,
            ),
        )
