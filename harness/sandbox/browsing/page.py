"""The current page: which one it is, when it has settled, events that no action requested; and the actions on it."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, Dialog, Download, Error, Locator, Page, Request, Response

_BETWEEN_LOOKS_S = 0.05
_QUIET_LOOKS = 2
_NEVER_END = {"eventsource", "websocket", "media", "ping"}
"""A page that still waits for these counts as settled nevertheless."""
_TITLE_TRIES = 4
_START_WITHIN_S = 30.0
_RESPONDS_WITHIN_S = 3.0
_SHOWN = 600
_REFUSED_BY_GATEWAY = "x-harness-refused"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_NOT_LOADED = {
    "ERR_TUNNEL_CONNECTION_FAILED": "there is no such host here",
    "ERR_NAME_NOT_RESOLVED": "there is no such host here",
    "ERR_ABORTED": "nothing came that can be shown: a download, or no content",
    "ERR_TOO_MANY_REDIRECTS": "it redirects for ever",
    "ERR_EMPTY_RESPONSE": "the host closed the connection before it had answered",
    "ERR_INVALID_REDIRECT": "it redirects to no page",
    "ERR_UNKNOWN_URL_SCHEME": "it leads out of the web",
}


class ActRefused(Exception):
    """The requested action is not possible on this page; `status` is an HTTP status of that kind."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Tab:
    """The browser's newest page. Events that pages cause by themselves (dialogs, downloads, windows) are kept for the
    next report.
    """

    def __init__(self, context: BrowserContext, settle_s: float) -> None:
        self.context = context
        self.accepts_dialogs = False
        self._settle_s = settle_s
        self._pages: list[Page] = []
        self._under_way: set[Request] = set()
        self._crashed: set[Page] = set()
        self._events: list[dict[str, Any]] = []
        self._status: dict[Page, int] = {}
        self._refusals: dict[Page, str] = {}
        self._closing: asyncio.Task[None] | None = None
        context.on("page", self._on_page)
        context.on("request", self._on_request)
        context.on("requestfinished", self._on_request_end)
        context.on("requestfailed", self._on_request_end)
        context.on("response", self._on_response)
        context.on("dialog", self._asked)

    async def begin(self, url: str | None) -> None:
        """Opens the first page. A failure to open it is reported by the first action."""
        page = await self.context.new_page()
        if url is not None:
            try:
                await page.goto(url, timeout=_START_WITHIN_S * 1000)
            except Error as error:
                self._events.append({"kind": "not_opened", "url": url, "message": words_of(error)})
        await self.settle()

    @property
    def page(self) -> Page:
        """Raises Refused if it has crashed."""
        page = self._pages[-1]
        if page in self._crashed:
            raise ActRefused(410, "the page has crashed; open one again")
        return page

    async def fresh(self) -> Page:
        """A page that can be sent somewhere: a page that has crashed or hangs is closed first."""
        if self._pages[-1] in self._crashed or not await self._responds():
            lost = self._pages[-1]
            self._under_way.clear()
            await self.context.new_page()
            self._events.clear()
            self._pages.remove(lost)
            self._closing = asyncio.create_task(lost.close())  # closing a page that hangs takes time
        return self._pages[-1]

    async def _responds(self) -> bool:
        try:
            async with asyncio.timeout(_RESPONDS_WITHIN_S):
                await self._pages[-1].evaluate("1")
        except TimeoutError:
            return False
        except Error:  # between two documents
            return True
        return True

    async def settle(self) -> bool:
        """Waits until the page is loaded and has sent no request for a tenth of a second; False: time limit reached."""
        deadline = asyncio.get_running_loop().time() + self._settle_s
        quiet = 0
        while quiet < _QUIET_LOOKS:
            if asyncio.get_running_loop().time() > deadline:
                return False
            await asyncio.sleep(_BETWEEN_LOOKS_S)
            quiet = quiet + 1 if await self._is_quiet() else 0
        return True

    async def state(self, **more: Any) -> dict[str, Any]:
        """Where the browser is now, and what has happened since the last report."""
        settled = await self.settle()
        page = self.page
        refusal = self._refusals.pop(page, None)
        if refusal is not None:
            raise ActRefused(403, refusal)
        said: dict[str, Any] = {"title": await self._title(page), "url": page.url, **more}
        if page in self._status:
            said["status"] = self._status[page]
        if not settled:
            said["still_loading"] = True
        events, self._events = self._events, []
        if events:
            said["events"] = events
        return said

    async def _title(self, page: Page) -> str:
        """Retries, because a page that has just settled may still navigate by itself."""
        for tried in range(1, _TITLE_TRIES + 1):
            try:
                title: str = await page.title()
            except Error:  # between two documents
                if tried == _TITLE_TRIES:
                    raise
                await self.settle()
            else:
                return title
        raise AssertionError("the last attempt returns or raises")

    async def _is_quiet(self) -> bool:
        page = self._pages[-1]
        if page in self._crashed:
            return True
        if self._under_way:
            return False
        try:
            state: str = await page.evaluate("document.readyState")
        except Error:  # between two documents
            return False
        return state == "complete"

    def _on_request(self, request: Request) -> None:
        if request.resource_type not in _NEVER_END:
            self._under_way.add(request)

    def _on_request_end(self, request: Request) -> None:
        self._under_way.discard(request)

    def _on_page(self, page: Page) -> None:
        if self._pages:
            self._events.append({"kind": "new_page"})
        self._pages.append(page)
        page.on("crash", self._has_crashed)
        page.on("close", self._on_page_closed)
        page.on("download", self._downloaded)

    def _on_page_closed(self, page: Page) -> None:
        if page in self._pages and len(self._pages) > 1:
            self._pages.remove(page)
        elif page in self._pages:
            self._crashed.add(page)

    def _has_crashed(self, page: Page) -> None:
        self._crashed.add(page)
        self._under_way.clear()

    def _downloaded(self, download: Download) -> None:
        self._events.append({"kind": "download_refused", "file": download.suggested_filename})

    async def _asked(self, dialog: Dialog) -> None:
        answer = "accepted" if self.accepts_dialogs or dialog.type == "alert" else "dismissed"
        self._events.append({"kind": dialog.type, "message": dialog.message[:_SHOWN], "answer": answer})
        await (dialog.accept() if answer == "accepted" else dialog.dismiss())

    def _on_response(self, response: Response) -> None:
        request = response.request
        if not request.is_navigation_request() or request.frame.parent_frame is not None:
            return
        page = request.frame.page
        self._status[page] = response.status
        reason = response.headers.get(_REFUSED_BY_GATEWAY)
        if reason is not None:
            self._refusals[page] = reason


def words_of(error: Error) -> str:
    """The browser's error in one line, without the log of its attempts."""
    first = _COLOUR.sub("", error.message).split("\nCall log:")[0].strip()
    for code, words in _NOT_LOADED.items():
        if code in first:
            return f"the page cannot be shown: {words} ({code})"
    return " ".join(first.split())[:_SHOWN]


# The actions that the browser can perform.

_ELEMENTS_KEPT = 50
_TEXT_KEPT = 4000
_NAMED_IN_ERRORS = 5
_SHORT = 80
_GO_TRIES = 4

_VALUES = """(element, attributes) => ({
  text: (element.innerText ?? element.textContent ?? "").trim(),
  value: "value" in element && typeof element.value === "string" ? element.value : null,
  checked: "checked" in element ? Boolean(element.checked) : null,
  attributes: Object.fromEntries(attributes.map((name) => [name, element.getAttribute(name)])),
})"""


async def open_page(tab: Tab, request: dict[str, Any]) -> dict[str, Any]:
    """Goes to an address. Raises Refused for an address that is not a page of a declared host."""
    await _go(await tab.fresh(), request["url"], request["within_s"])
    return await tab.state()


async def click(tab: Tab, request: dict[str, Any]) -> dict[str, Any]:
    """Clicks the one element that the target selects; `dialog` is the answer to a dialog of the page."""
    target = await _target(tab.page, request)
    tab.accepts_dialogs = request["dialog"] == "accept"
    try:
        await target.click(timeout=_left_ms(request))
    finally:
        state = await tab.state()
        tab.accepts_dialogs = False
    return state


async def type_text(tab: Tab, request: dict[str, Any]) -> dict[str, Any]:
    """Replaces the text of a field, or selects from a list; `submit` then presses Enter."""
    target = await _target(tab.page, request)
    if await target.evaluate("(element) => element.tagName") == "SELECT":
        await target.select_option(label=request["text"], timeout=_left_ms(request))
    else:
        await target.fill(request["text"], timeout=_left_ms(request))
    if request["submit"]:
        await target.press("Enter", timeout=_left_ms(request))
    return await tab.state()


async def read(tab: Tab, request: dict[str, Any]) -> dict[str, Any]:
    """The page, or the one element that the target selects, as an outline of roles, names and texts."""
    target = tab.page.locator("body") if request["target"] is None else await _target(tab.page, request)
    await tab.settle()
    outline = await target.aria_snapshot(timeout=_left_ms(request))
    most = request["most_chars"]
    state = await tab.state(outline=outline[:most])
    return state if len(outline) <= most else {**state, "cut": f"the first {most} of {len(outline)} characters"}


async def look(tab: Tab, request: dict[str, Any]) -> dict[str, Any]:
    """The content of a page, as evidence: for each selector its elements, and a picture if one is requested."""
    if request["url"] is not None:
        await _go(await tab.fresh(), request["url"], request["within_s"])
    seen = await tab.state()
    found = {selector: await _found(tab.page, selector, request["attributes"]) for selector in request["selectors"]}
    if request["picture"] is not None:
        await tab.page.screenshot(path=request["picture"], animations="disabled", caret="hide")
    return {**seen, "found": found}


ACTS: dict[str, Callable[[Tab, dict[str, Any]], Awaitable[dict[str, Any]]]] = {
    "open": open_page,
    "click": click,
    "type": type_text,
    "read": read,
    "look": look,
}


async def _go(page: Page, url: str, within_s: float) -> None:
    if urlsplit(url).scheme not in {"http", "https"}:
        raise ActRefused(400, f"{url[:_SHORT]!r} is not an address that begins with http:// or https://")
    for tried in range(_GO_TRIES):
        try:
            await page.goto(url, timeout=within_s * 900)
            return
        except Error as error:
            if "Timeout" in error.message:
                raise ActRefused(408, f"the page did not load within {within_s * 0.9:g} s") from None
            # The page of an earlier error may still be loading, and interrupts this navigation.
            if "interrupted by another navigation" not in error.message or tried == _GO_TRIES - 1:
                raise ActRefused(404, words_of(error)) from None


async def _target(page: Page, request: dict[str, Any]) -> Locator:
    """Raises Refused if the target selects no element, or several."""
    selector = request["target"]
    try:
        target = page.locator(selector)
        count = await target.count()
        if count == 0:  # the element may still be loading
            await target.first.wait_for(state="attached", timeout=min(2000, _left_ms(request)))
            count = await target.count()
    except Error as error:
        if "Timeout" not in error.message:
            raise ActRefused(400, f"the target {selector!r} cannot be read: {words_of(error)}") from None
        raise ActRefused(404, f"nothing on the page is meant by {selector!r}; read the page") from None
    if count > 1:
        texts = [(await target.nth(place).inner_text())[:_SHORT] for place in range(min(count, _NAMED_IN_ERRORS))]
        raise ActRefused(409, f"{selector!r} means {count} elements ({texts}); say more, or end it with ` >> nth=0`")
    return target


async def _found(page: Page, selector: str, attributes: list[str]) -> dict[str, Any]:
    target = page.locator(selector)
    try:
        count = await target.count()
    except Error as error:
        return {"count": 0, "elements": [], "problem": words_of(error)}
    elements = []
    for place in range(min(count, _ELEMENTS_KEPT)):
        one = target.nth(place)
        element = await one.evaluate(_VALUES, attributes)
        element["visible"] = await one.is_visible()
        element["text"] = element["text"][:_TEXT_KEPT]
        elements.append(element)
    return {"count": count, "elements": elements}


def _left_ms(request: dict[str, Any]) -> float:
    return float(request["within_s"]) * 900
