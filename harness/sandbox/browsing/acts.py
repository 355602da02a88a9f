"""The actions that the browser can perform."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from page import ActRefused, Tab, words_of
from playwright.async_api import Error, Locator, Page

PageState = dict[str, Any]

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


async def open_page(tab: Tab, request: dict[str, Any]) -> PageState:
    """Goes to an address. Raises Refused for an address that is not a page of a declared host."""
    await _go(await tab.fresh(), request["url"], request["within_s"])
    state: PageState = await tab.state()
    return state


async def click(tab: Tab, request: dict[str, Any]) -> dict[str, Any]:
    """Clicks the one element that the target selects; `dialog` is the answer to a dialog of the page."""
    target = await _target(tab.page, request)
    tab.accepts_dialogs = request["dialog"] == "accept"
    try:
        await target.click(timeout=_left_ms(request))
    finally:
        state: PageState = await tab.state()
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
    state: PageState = await tab.state()
    return state


async def read(tab: Tab, request: dict[str, Any]) -> dict[str, Any]:
    """The page, or the one element that the target selects, as an outline of roles, names and texts."""
    target = tab.page.locator("body") if request["target"] is None else await _target(tab.page, request)
    await tab.settle()
    outline = await target.aria_snapshot(timeout=_left_ms(request))
    most = request["most_chars"]
    state: PageState = await tab.state(outline=outline[:most])
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
