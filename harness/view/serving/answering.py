"""Which page answers an address, and how an error is shown."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.resources import files
from typing import Final, TypeVar
from urllib.parse import unquote

from aiohttp import web

from harness.errors import HarnessError, UsageError
from harness.os_errors import os_error_in_words
from harness.palette import palette
from harness.view.asking import Ask, Page, PageSet, Project, Raw, Shows
from harness.view.serving.guard import HEADERS, Guard
from harness.view.serving.live import live_events
from harness.view.shell import problem, whole

_KINDS: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_LIVE: Final = re.compile(r"/live/([^/]+)")
_MAX_FIELDS: Final = 200


_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_Answers = TypeVar("_Answers")


class Answering:
    """The routes of all page sets, behind the guard."""

    def __init__(
        self, project: Project, guard: Guard, ending: asyncio.Event, start: str, pages: Sequence[PageSet]
    ) -> None:
        self._project = project
        self._guard = guard
        self._ending = ending
        self._start = start
        self._entries = [one.entry for one in pages if one.entry is not None]
        self._shows = [(_pattern(path), shows) for one in pages for path, shows in one.shows.items()]
        self._acts = [(_pattern(path), acts) for one in pages for path, acts in one.acts.items()]

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
            return await live_events(request, self._project, _unquoted(live[1]), self._ending, HEADERS)
        found, place = _matching(self._shows, path)
        if found is None:
            return self._page(problem("No such page", "There is no page at this address."), 404)
        ask = Ask(project=self._project, place=place, query=dict(request.query))
        return await self._tried(found, ask)

    async def _tried(self, shows: Shows, ask: Ask) -> web.StreamResponse:
        try:
            shown = await asyncio.to_thread(shows, ask)
        except UsageError as error:
            return self._page(problem("Not found", error.message, error.remedy), 404)
        except HarnessError as error:
            return self._page(problem("Cannot be read", error.message, error.remedy), 409)
        except OSError as error:
            return self._page(problem("Cannot be read", os_error_in_words(error).message), 409)
        return _raw(shown) if isinstance(shown, Raw) else self._page(shown)

    async def _acted(self, request: web.Request, path: str) -> web.StreamResponse:
        found, place = _matching(self._acts, path)
        if found is None:
            return self._page(problem("No such action", "Nothing can be changed at this address."), 404)
        fields = await request.post()
        form = {key: value for key, value in list(fields.items())[:_MAX_FIELDS] if isinstance(value, str)}
        ask = Ask(project=self._project, place=place, query=dict(request.query), form=form)
        try:
            target = await asyncio.to_thread(found, ask)
        except HarnessError as error:
            return self._page(problem("Not done", error.message, error.remedy), 409)
        except OSError as error:
            return self._page(problem("Not done", os_error_in_words(error).message), 409)
        return web.Response(status=303, headers={"Location": str(target)})

    def _refusal(self, request: web.Request) -> web.StreamResponse | None:
        guard = self._guard
        if not guard.is_here(request):
            return _plain(403, "expected the host 127.0.0.1")
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

    def _page(self, page: Page, status: int = 200) -> web.Response:
        text = str(page.body) if page.part else whole(page, self._entries, self._project.path.name)
        return web.Response(status=status, text=text, content_type="text/html", charset="utf-8")


def _pattern(path: str) -> re.Pattern[str]:
    """`/runs/{run}` as a pattern over the quoted path: a quoted slash in a name divides nothing."""
    return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(path)))


def _matching(
    known: Sequence[tuple[re.Pattern[str], _Answers]], path: str
) -> tuple[_Answers | None, Mapping[str, str]]:
    for pattern, found in known:
        if (match := pattern.fullmatch(path)) is not None:
            return found, {name: _unquoted(text) for name, text in match.groupdict().items()}
    return None, {}


def _unquoted(text: str) -> str:
    return unquote(text, errors="replace")


def _asset(name: str) -> web.Response:
    if name == "palette.css":
        return web.Response(text=palette(), content_type="text/css", charset="utf-8")
    suffix = name[name.rfind(".") :] if "." in name else ""
    if not re.fullmatch(r"[a-z_]+\.[a-z]+", name) or suffix not in _KINDS:
        return _plain(404, "no such file")
    try:
        text = (files("harness.view") / "assets" / name).read_text(encoding="utf-8")
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
