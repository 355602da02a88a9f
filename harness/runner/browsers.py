"""The browser of one trial, started on first use; it serves the agent's own pages and the page reads of checks.

A fresh page uses a separate profile, which shares nothing with the agent's profile.
"""

import json
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.case import PageInspection
from harness.errors import UsageError
from harness.gateway import TrialSession
from harness.sandbox import Browser, BrowserSpec, PageQuery, SandboxProvider, Snapshot
from harness.trace import PageSeen

PICTURES = "page-*.png"
"""Replaced in names of screenshots in a trial's folder."""

_WITHIN_S = 60.0
_NO_LETTER = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, kw_only=True)
class BrowserFactory:
    """The configuration of the browsers of a run."""

    provider: SandboxProvider
    image: str
    """Tag of the image with Chromium and its driver."""


@dataclass(kw_only=True)
class TrialBrowser:
    """The browsers of one trial; the caller closes them when the trial ends, in every case."""

    room: BrowserFactory
    session: TrialSession
    trial_id: str
    snapshot: Snapshot
    """What the trial starts from: it may have a start page and a profile."""
    clock: str | None
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _started: Browser | None = field(default=None, init=False)
    _closed: bool = field(default=False, init=False)

    def agents(self) -> Browser:
        """The browser of the agent's tools, opened at the snapshot's start page. Raises SandboxError."""
        return self._browser(self.snapshot.browser_url)

    def look(self, looks: Sequence[PageInspection], folder: Path) -> dict[str, PageSeen]:
        """Returns the content of the pages that checks name, and writes their screenshots to `folder`.

        The agent's own page is read first, because a fresh page sends further requests to the site. Raises UsageError
        for a page without an address, and SandboxError.
        """
        seen: dict[str, PageSeen] = {}
        ordered = sorted(enumerate(looks), key=lambda item: item[1].browser != "agent")
        for number, look in ordered:
            picture = folder / f"page-{number + 1}-{_NO_LETTER.sub('-', look.name)[:60]}.png"
            seen[look.name] = self._seen(look, picture)
        return {look.name: seen[look.name] for look in looks}

    def close(self) -> None:
        """Discards the browser."""
        with self._lock:
            if self._started is not None and not self._closed:
                self._closed = True
                self._started.close()

    def _seen(self, look: PageInspection, picture: Path) -> PageSeen:
        fresh = look.browser == "fresh"
        url = look.url or (self.snapshot.browser_url if fresh else None)
        if fresh and url is None:
            raise UsageError(
                f"check {look.name!r}: there is no page to inspect",
                remedy="give it `url`, or declare a `browser_url` in the state",
            )
        browser = self._browser(None) if fresh else self.agents()
        query = PageQuery(selectors=look.selectors, attributes=look.attributes, url=url, fresh=fresh)
        acted = browser.look(query, _WITHIN_S)
        page = json.loads(self.session.clean(json.dumps(acted.said).encode()))
        if acted.status != 200:
            return PageSeen(digest=look.digest, url=url, problem=str(page["message"]))
        picture.write_bytes(browser.picture())
        kept = {name: page.get(name) for name in ("url", "title", "status", "found")}
        return PageSeen.model_validate({"digest": look.digest, "screenshot": picture.name, **kept})

    def _browser(self, url: str | None) -> Browser:
        """The trial's browser; `url`: its first page where it has to be started."""
        with self._lock:
            if self._started is None:
                self._started = self._start(url)
            return self._started

    def _start(self, url: str | None) -> Browser:
        socket = self.session.pages_socket
        assert socket is not None  # a suite that needs a browser has one
        return Browser(
            self.room.provider,
            BrowserSpec(
                trial_id=f"{self.trial_id}.browser",
                image=self.room.image,
                gateway_socket=socket,
                url=url,
                profile=self.snapshot.browser_profile,
                clock=self.clock,
            ),
        )
