"""Who may enter.

The server listens on the loopback interface, where programs of other users and pages of the network that a browser
shows can still reach it. So each request must name this machine in `Host`, and carry the cookie that the one-time link
of the command set. A request that changes something must come from a page of the app (`Origin`).
"""

import hmac
import secrets
from typing import Final

from aiohttp import web

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
        self.port = 0

    def is_here(self, request: web.Request) -> bool:
        """Whether the request names this machine, and not another name that leads here."""
        return request.headers.get("Host", "") in self._hosts

    def is_of_this_app(self, request: web.Request) -> bool:
        """Whether a page of the app sends the request."""
        return request.headers.get("Origin", "") in {f"http://{host}" for host in self._hosts}

    def has_session(self, request: web.Request) -> bool:
        return _same(request.cookies.get(self._cookie, ""), self._session)

    def enter(self, token: str, answer: web.StreamResponse) -> bool:
        """Sets the session's cookie for the right token, once."""
        if not self.token or not _same(token, self.token):
            return False
        self.token = ""
        answer.set_cookie(self._cookie, self._session, httponly=True, samesite="Strict", path="/")
        return True

    def renew(self) -> str:
        """Another one-time link, for a further browser."""
        self.token = secrets.token_urlsafe(24)
        return self.token

    @property
    def _cookie(self) -> str:
        """Cookies are shared by all ports of a machine: two apps at once must not take each other's place."""
        return f"{COOKIE}_{self.port}"

    @property
    def _hosts(self) -> set[str]:
        return {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}


def _same(shown: str, own: str) -> bool:
    return hmac.compare_digest(shown.encode("utf-8", "replace"), own.encode())
