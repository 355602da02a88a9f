"""PyGithub's requests, with an error for invalid answers: PyGithub reads a redirect that it does not follow,
and any other answer without content, as an empty list of issues.
"""

from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from github import Consts
from github.Auth import Auth
from github.Requester import Requester
from typing_extensions import override

from harness.errors import TrackerUnavailable

_ADDRESS = "give the server's own address by --api-url or GITHUB_API_URL, and the repository's present name by --repo"

_NOTHING = ("", "{}", "null")


class CheckedRequester(Requester):
    """Sends the requests of one client; raises TrackerUnavailable for a redirect, and where content is missing.

    A redirect within the server is followed by PyGithub where its status is 301, as for a repository that was renamed.
    """

    def __init__(self, auth: Auth, base_url: str, *, timeout_s: int, between_writes_s: float) -> None:
        super().__init__(
            auth,
            base_url,
            timeout_s,
            user_agent=Consts.DEFAULT_USER_AGENT,
            per_page=100,
            verify=True,
            retry=0,
            pool_size=None,
            seconds_between_requests=None,
            seconds_between_writes=between_writes_s or None,
            lazy=True,
        )

    @override
    def requestJson(self, verb: str, url: str, *args: Any, **more: Any) -> tuple[int, dict[str, Any], str]:
        status, headers, body = super().requestJson(verb, url, *args, **more)
        asked = f"{verb} {urlsplit(url).path}"
        if 300 <= status < 400:
            raise TrackerUnavailable(
                f"GitHub answered {asked} with a redirect ({_named(status)}) to {_target(headers)}", remedy=_ADDRESS
            )
        if verb == "GET" and status < 300 and body.strip() in _NOTHING:  # of a write it would not tell what was done
            raise TrackerUnavailable(f"GitHub answered {asked} with {_named(status)} and no content", remedy=_ADDRESS)
        return status, headers, body


def _named(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _target(headers: dict[str, Any]) -> str:
    """The target without user, password and query, which may be keys; shortened, because the server chose it."""
    try:
        parts = urlsplit(str(headers.get("location", "")))
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "an address that cannot be read"
    text = f"{parts.scheme}://{host}{parts.path}" if host else parts.path
    shown = "".join(letter for letter in text if letter.isprintable())[:200]
    return repr(shown) if shown else "no address"
