"""The app's server: one event loop in a thread of its own; pages are made in worker threads, which read files."""

import asyncio
import hmac
import json
import re
import secrets
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Final, Self

from aiohttp import web

from harness.errors import HarnessError, ServiceError, UsageError, os_error_in_words
from harness.reports.pages.markup import Markup, document, fragment, link, tag
from harness.reports.pages.progress import live_state
from harness.reports.pages.request import Ask, Page, PageSet, Project, Raw, matching, pattern, unquoted
from harness.reports.palette import palette
from harness.values import JsonObject

# Who may enter.
#
# The server listens on the loopback interface, where programs of other users and pages of the network that a browser
# shows can still reach it. So each request must carry the cookie that the one-time link of the command set. A browser
# sends a cookie to every port of a host: the app has a host name of its own, which nobody can guess, and answers to no
# other (`Host`). A request that changes something must come from a page of the app (`Origin`).

COOKIE: Final = "harness_view"
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# With `no-referrer` a browser names no origin when it sends a form, and every change would be refused.
HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every answer."""


class Guard:
    """The secrets of one server: the one-time link, and the session that it opens."""

    def __init__(self) -> None:
        self._session = secrets.token_urlsafe(32)
        self.token = secrets.token_urlsafe(24)
        """Of the link. It opens one session and is worthless afterwards: a browser's history gives nobody entry."""
        self._name = f"harness-{secrets.token_hex(8)}.localhost"
        self.port = 0

    @property
    def host(self) -> str:
        """The name and port of the app. Browsers take each name below `localhost` as this machine."""
        return f"{self._name}:{self.port}"

    def is_here(self, request: web.Request) -> bool:
        """Whether the request names the app, and not another name that leads here."""
        return _same(request.headers.get("Host", ""), self.host)

    def is_of_this_app(self, request: web.Request) -> bool:
        """Whether a page of the app sends the request."""
        return request.headers.get("Origin", "") == f"http://{self.host}"

    def has_session(self, request: web.Request) -> bool:
        return _same(request.cookies.get(COOKIE, ""), self._session)

    def enter(self, token: str, answer: web.StreamResponse) -> bool:
        """Sets the session's cookie for the right token, once."""
        if not self.token or not _same(token, self.token):
            return False
        self.token = ""
        answer.set_cookie(COOKIE, self._session, httponly=True, samesite="Strict", path="/")
        return True

    def renew(self) -> str:
        """Another one-time link, for a further browser."""
        self.token = secrets.token_urlsafe(24)
        return self.token


def _same(shown: str, own: str) -> bool:
    return hmac.compare_digest(shown.encode("utf-8", "replace"), own.encode())


# Server-sent events of a run in flight: its figures whenever a trial ends, until it is complete or the reader goes.

_EVERY_S: Final = 1.0
_BEAT_S: Final = 15.0
"""A comment as often as this finds out that the reader is gone, and keeps the connection."""


async def live_events(
    request: web.Request, project: Project, run: str, ending: asyncio.Event, headers: Mapping[str, str]
) -> web.StreamResponse:
    """Holds only the last state that was sent, however long the run is watched."""
    answer = web.StreamResponse(headers={**headers, "Content-Type": "text/event-stream"})
    await answer.prepare(request)
    sent: JsonObject | None = None
    quiet = 0.0
    try:
        while not ending.is_set():
            state = await asyncio.to_thread(_state, project, run)
            if state != sent:
                await answer.write(f"data: {json.dumps(state)}\n\n".encode())
                sent, quiet = state, 0.0
            elif quiet >= _BEAT_S:
                await answer.write(b": still here\n\n")
                quiet = 0.0
            if not state.get("running"):
                await answer.write(b"event: end\ndata: {}\n\n")
                break
            quiet += _EVERY_S
            await _pause(ending)
    except (ConnectionError, asyncio.CancelledError):
        pass  # the reader has gone
    return answer


def _state(project: Project, run: str) -> JsonObject:
    try:
        return live_state(project, run)
    except HarnessError as error:
        return {"running": False, "problem": error.message}


async def _pause(ending: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(_EVERY_S):
            await ending.wait()
    except TimeoutError:
        pass


# What stands around every page: head, navigation and the list of keys.

_PROGRAMS = ("keys.js", "lazy.js")
"""Of every page."""
_KEYS = (
    ("?", "show or hide this list"),
    ("/", "filter"),
    ("j, k", "next, previous row or step"),
    ("Enter", "open the row"),
    ("n, p", "next, previous page, trial or question"),
    ("e", "open or close everything folded"),
    ("g, then r, c, t, p or i", "Runs, Compare, Trust, Production, Improve"),
    ("u", "up: from a trial to its run, from a run to all runs"),
)


def whole(page: Page, entries: Sequence[tuple[str, str, str]], project: str) -> str:
    """The document of a page."""
    head = fragment(
        tag("meta", http_equiv="refresh", content=page.again_after_s) if page.again_after_s is not None else None,
        *(tag("link", rel="stylesheet", href=f"/assets/{name}.css") for name in ("palette", "style")),
        tag("link", rel="icon", href="/assets/icon.svg"),
        *(tag("script", src=f"/assets/{name}", type="module") for name in (*_PROGRAMS, *page.modules)),
    )
    body = fragment(
        link("#main", "Skip to the content", class_="skip"),
        _navigation(page.section, entries, project),
        tag("main", page.body, id="main", tabindex="-1"),
        _help(page.keys),
    )
    return document(f"{page.title} · {project}", head, body)


def problem(title: str, message: str, remedy: str | None = None) -> Page:
    """A page that says what is wrong instead of what was asked for."""
    parts = [tag("h1", title), tag("p", message, class_="alert")]
    if remedy is not None:
        parts.append(tag("p", remedy, class_="prose"))
    return Page(title=title, body=fragment(*parts, tag("p", link("/", "All runs"))))


def _navigation(section: str, entries: Sequence[tuple[str, str, str]], project: str) -> Markup:
    """Five places, and below them the pages of the place that is shown."""
    here = next((place for place, name, _ in entries if name == section), "")
    firsts = {place: path for place, _, path in reversed(entries)}
    places = [
        tag("li", link(firsts[place], place, data_go=place[0].lower(), aria_current="true" if place == here else None))
        for place in dict.fromkeys(place for place, _, _ in entries)
    ]
    own = [(name, path) for place, name, path in entries if place == here]
    pages = [tag("li", link(path, name, aria_current="page" if name == section else None)) for name, path in own]
    below = tag("nav", tag("ul", *pages), aria_label=f"Pages of {here}", class_="below") if len(own) > 1 else None
    return tag(
        "header",
        link("/", project, class_="brand"),
        tag("nav", tag("ul", *places), aria_label="Places"),
        tag("button", "Keys ", tag("kbd", "?"), type="button", class_="quiet", id="keys", aria_haspopup="dialog"),
        below,
        class_="bar-top",
    )


def _help(own: Sequence[tuple[str, str]]) -> Markup:
    """A page's own keys go before those of every page."""
    taken = {key for keys, _ in own for key in keys.split(", ")}
    rest = [(keys, does) for keys, does in _KEYS if not taken & set(keys.split(", "))]
    rows = [fragment(tag("dt", tag("kbd", keys)), tag("dd", does)) for keys, does in (*own, *rest)]
    return tag(
        "dialog",
        tag("h2", "Keys", id="help-title"),
        tag("dl", *rows, class_="keys"),
        tag("form", tag("button", "Close", class_="quiet"), method="dialog"),
        id="help",
        aria_labelledby="help-title",
    )


# Which page answers an address, and how an error is shown.

_KINDS: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_LIVE: Final = re.compile(r"/live/([^/]+)")
_MAX_FIELDS: Final = 200
_PATIENCE_S: Final = 0.3
_WAITING: Final = Page(
    title="Being counted",
    body=tag(
        "p", "The trials are being counted; the page comes when they are.", role="status", class_="notice waiting"
    ),
    again_after_s=1,
)


_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Answering:
    """The routes of all page sets, behind the guard."""

    def __init__(
        self, project: Project, guard: Guard, ending: asyncio.Event, start: str, pages: Sequence[PageSet]
    ) -> None:
        self._project = project
        self._guard = guard
        self._ending = ending
        self._start = start
        self._making: dict[str, asyncio.Future[Page | Raw]] = {}
        """Pages that take long, by their address, until a browser asks again."""
        self._entries = [one.entry for one in pages if one.entry is not None]
        self._shows = [(pattern(path), shows) for one in pages for path, shows in one.shows.items()]
        self._acts = [(pattern(path), acts) for one in pages for path, acts in one.acts.items()]

    @web.middleware
    async def guarded(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Refuses before anything is read of the project; every answer gets the headers."""
        try:
            answer = self._refusal(request) or await handler(request)
        except web.HTTPException as error:
            answer = self._page(problem("Not possible", error.reason), error.status)
        for name, value in HEADERS.items():
            if not answer.prepared:
                answer.headers.setdefault(name, value)
        return answer

    async def answer(self, request: web.Request) -> web.StreamResponse:
        path = request.rel_url.raw_path
        if path.startswith("/assets/"):
            return _asset(path.removeprefix("/assets/"))
        if request.method == "POST":
            return await self._acted(request, path)
        if (live := _LIVE.fullmatch(path)) is not None:
            return await live_events(request, self._project, unquoted(live[1]), self._ending, HEADERS)
        found, place = matching(self._shows, path)
        if found is None:
            return self._page(problem("No such page", "There is no page at this address."), 404)
        ticked = tuple(request.query.getall("run", ()))
        ask = Ask(project=self._project, place=place, query=dict(request.query), ticked=ticked)
        making = self._making.pop(request.path_qs, None) or asyncio.ensure_future(asyncio.to_thread(found, ask))
        if request.headers.get("Sec-Fetch-Mode") == "navigate":  # a browser opens it as a page, and loads it again
            await asyncio.wait({making}, timeout=_PATIENCE_S)
            if not making.done():
                self._making[request.path_qs] = making
                return self._page(_WAITING)
        return await self._tried(making)

    async def _tried(self, making: Awaitable[Page | Raw]) -> web.StreamResponse:
        try:
            shown = await making
        except UsageError as error:
            return self._refused("Not found", error, 404)
        except (HarnessError, OSError) as error:
            return self._refused("Cannot be read", error)
        return _raw(shown) if isinstance(shown, Raw) else self._page(shown)

    async def _acted(self, request: web.Request, path: str) -> web.StreamResponse:
        found, place = matching(self._acts, path)
        if found is None:
            return self._page(problem("No such action", "Nothing can be changed at this address."), 404)
        fields = await request.post()
        form = {key: value for key, value in list(fields.items())[:_MAX_FIELDS] if isinstance(value, str)}
        ask = Ask(project=self._project, place=place, query=dict(request.query), form=form)
        try:
            target = await asyncio.to_thread(found, ask)
        except (HarnessError, OSError) as error:
            return self._refused("Not done", error)
        return web.Response(status=303, headers={"Location": str(target)})

    def _refusal(self, request: web.Request) -> web.StreamResponse | None:
        guard = self._guard
        if not guard.is_here(request):
            return _plain(403, "not the address of the app: open the link that the command printed")
        if request.method not in ("GET", "HEAD", "POST"):
            return _plain(405, "only GET and POST are answered")
        if request.path == "/enter" and request.method == "GET":
            entered = web.Response(status=303, headers={"Location": self._start})
            if guard.enter(request.query.get("token", ""), entered) or guard.has_session(request):
                return entered
        if not guard.has_session(request):
            return _plain(403, "no session: open the link that the command printed; it opens one browser, once")
        if request.method == "POST" and not guard.is_of_this_app(request):
            return _plain(403, "only pages of this app may change something")
        return None

    def _refused(self, title: str, error: HarnessError | OSError, status: int = 409) -> web.Response:
        told = os_error_in_words(error) if isinstance(error, OSError) else error
        return self._page(problem(title, told.message, told.remedy), status)

    def _page(self, page: Page, status: int = 200) -> web.Response:
        text = str(page.body) if page.part else whole(page, self._entries, self._project.path.name)
        return web.Response(status=status, text=text, content_type="text/html", charset="utf-8")


def _asset(name: str) -> web.Response:
    if name == "palette.css":
        return web.Response(text=palette(), content_type="text/css", charset="utf-8")
    suffix = name[name.rfind(".") :] if "." in name else ""
    if not re.fullmatch(r"[a-z_]+\.[a-z]+", name) or suffix not in _KINDS:
        return _plain(404, "no such file")
    try:
        text = (files("harness.reports.pages") / "assets" / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        return _plain(404, "no such file")
    return web.Response(text=text, content_type=_KINDS[suffix], charset="utf-8")


def _raw(raw: Raw) -> web.Response:
    headers = {"Content-Type": raw.kind}
    if raw.name is not None:
        safe = re.sub(r"[^A-Za-z0-9._-]", "_", raw.name)[:120]
        headers["Content-Disposition"] = f'attachment; filename="{safe}"'
    return web.Response(body=raw.content, headers=headers)


def _plain(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=text + "\n")


_HOST: Final = "127.0.0.1"
_WORKERS: Final = 4
_MAX_BODY: Final = 256 * 1024


class ViewServer:
    """Serves while the context is entered."""

    def __init__(self, project: Path, pages: Sequence[PageSet], port: int = 0, start: str = "/") -> None:
        """`pages` in the order of the navigation. `port` 0: a free one. `start`: the address within the app to which
        the one-time links lead.
        """
        self._pages = pages
        self._start = start
        self._wanted = port
        self._guard = Guard()
        self._project = Project.stored(project)
        self._loop = asyncio.new_event_loop()
        self._workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="view")
        self._thread = threading.Thread(target=self._serve, name="view", daemon=True)
        self._begun = threading.Event()
        self._ending: asyncio.Event | None = None
        self._refused: OSError | None = None

    @property
    def port(self) -> int:
        return self._guard.port

    @property
    def address(self) -> str:
        """Of the app, for a browser that has a session."""
        return f"http://{self._guard.host}"

    @property
    def url(self) -> str:
        """The one-time link that opens a session."""
        return f"{self.address}/enter?token={self._guard.token}"

    def another_link(self) -> str:
        """A further one-time link; the earlier one, where it was not used, is worthless then."""
        return f"{self.address}/enter?token={self._guard.renew()}"

    def __enter__(self) -> Self:
        """Raises ServiceError where the port is taken."""
        self._thread.start()
        self._begun.wait()
        if self._refused is not None:
            self._thread.join()
            reason = self._refused.strerror or self._refused
            raise ServiceError(
                f"port {self._wanted} of {_HOST} cannot be listened on: {reason}", remedy="choose another --port"
            )
        self._project.index.warm()
        return self

    def __exit__(self, *_: object) -> None:
        self._project.index.close()
        self._project.annotations.close()
        ending = self._ending
        if ending is not None:
            self._loop.call_soon_threadsafe(ending.set)
        self._thread.join()
        self._workers.shutdown(cancel_futures=True)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._until_ended())
        finally:
            self._begun.set()
            self._loop.close()

    async def _until_ended(self) -> None:
        self._ending = asyncio.Event()
        self._loop.set_default_executor(self._workers)
        answering = Answering(self._project, self._guard, self._ending, self._start, self._pages)
        app = web.Application(middlewares=[answering.guarded], client_max_size=_MAX_BODY)
        app.router.add_route("*", "/{path:.*}", answering.answer)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        try:
            site = web.TCPSite(runner, _HOST, self._wanted)
            await site.start()
            self._guard.port = int(runner.addresses[0][1])
            self._begun.set()
            await self._ending.wait()
        except OSError as error:
            self._refused = error
        finally:
            await runner.cleanup()
