"""Runs one Chromium and performs the requested actions, one after the other.

    python3 driver.py <socket> <settings as JSON>

It writes `ready` when the browser has started. A request is one JSON object a connection, `{"do": ..., "within_s":
...}`; the answer is one too, `{"done": ...}` or `{"refused": {"status", "message"}}`. When Chromium itself ends, so
does this program, with exit status 3.
"""

import asyncio
import json
import os
import sys
from typing import Any

from page import ACTS, ActRefused, Tab, words_of
from playwright.async_api import Browser, BrowserContext, Error, async_playwright

_CHROMIUM = "/usr/lib/chromium/chromium"
_ARGUMENTS = [
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--dns-prefetch-disable",
    "--no-pings",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-device-scale-factor=1",
    "--font-render-hinting=none",
    "--hide-scrollbars",
]
_GONE = 3
_PERHAPS_GONE = (409, 410)
_ALIVE_WITHIN_S = 20.0


def main() -> None:
    path, settings = sys.argv[1], json.loads(sys.argv[2])
    os._exit(asyncio.run(serve(path, settings)))  # threads of a browser that hangs must not delay the exit


async def serve(path: str, settings: dict[str, Any]) -> int:
    """Serves requests until the browser has ended."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=_CHROMIUM,
            chromium_sandbox=False,  # it needs namespaces, which this sandbox refuses
            args=_ARGUMENTS,
            # Nothing but the gateway can be reached, not even the sandbox's own loopback.
            proxy={"server": settings["proxy"], "bypass": "<-loopback>"},
        )
        gone = asyncio.Event()
        browser.on("disconnected", lambda _: gone.set())
        requests = _RequestQueue(browser, settings, await _tab(browser, settings, settings["url"]))
        server = await asyncio.start_unix_server(requests.answer, path, limit=1 << 20)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await gone.wait()
        server.close()
    return _GONE


async def _tab(browser: Browser, settings: dict[str, Any], url: str | None) -> Tab:
    """A page with a profile of its own: no cookie, no storage and no cache is shared with another."""
    tab = Tab(await _context(browser, settings), settings["settle_s"])
    await tab.begin(url)
    return tab


async def _context(browser: Browser, settings: dict[str, Any]) -> BrowserContext:
    context = await browser.new_context(
        viewport={"width": settings["width"], "height": settings["height"]},
        locale="en-US",
        timezone_id="UTC",
        color_scheme="light",
        reduced_motion="reduce",
        accept_downloads=False,
        service_workers="block",
        ignore_https_errors=True,  # only the gateway answers here, and it verifies the declared hosts
        storage_state=settings["profile"],
    )
    # A route disables the cache: the same actions request the same pages in every run.
    await context.route("**/*", lambda route: route.continue_())
    return context


class _RequestQueue:
    """Accepts requests and performs them one at a time."""

    def __init__(self, browser: Browser, settings: dict[str, Any], tab: Tab) -> None:
        self._browser = browser
        self._settings = settings
        self._tab = tab
        self._turn = asyncio.Lock()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = json.loads(await reader.read())
        async with self._turn:
            answer = await self._answer(request)
            # A page ends before its browser does; only a request to the browser itself shows which of the two has
            # ended.
            answers = "done" in answer or answer["refused"]["status"] not in _PERHAPS_GONE or await self._is_alive()
        if answers:
            writer.write(json.dumps(answer).encode())
            await writer.drain()
        writer.close()

    async def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        within_s = request["within_s"]
        try:
            async with asyncio.timeout(within_s):
                return {"done": await self._done(request)}
        except TimeoutError:
            return _refusal(408, f"the page did not respond within {within_s:g} s")
        except ActRefused as refused:
            return _refusal(refused.status, str(refused))
        except Error as error:
            return _refusal(409, words_of(error))

    async def _is_alive(self) -> bool:
        try:
            async with asyncio.timeout(_ALIVE_WITHIN_S):
                session = await self._browser.new_browser_cdp_session()
                await session.send("Browser.getVersion")
                await session.detach()
        except (Error, TimeoutError):
            return False
        return True

    async def _done(self, request: dict[str, Any]) -> Any:
        act = ACTS[request["do"]]
        if not request.get("fresh"):
            return await act(self._tab, request)
        tab = await _tab(self._browser, self._settings, None)
        try:
            return await act(tab, request)
        finally:
            await tab.context.close()


def _refusal(status: int, message: str) -> dict[str, Any]:
    return {"refused": {"status": status, "message": message}}


if __name__ == "__main__":
    main()
