"""Requests to GitHub: which are retried, how long the pauses are, and which error each failure becomes."""

import math
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import urlsplit

import requests
from github import BadAttributeException, Consts, GithubException
from github.Auth import Auth
from github.Requester import Requester
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt
from typing_extensions import override

from harness.errors import TrackerError, TrackerUnavailable
from harness.text import shortened
from harness.values import Frozen

# A read is retried after a failure of the server or of the network. A write is retried only if GitHub reports that it
# was not performed (a rate limit): after any other failure it may have been performed, and a retry could duplicate it.

T = TypeVar("T")

_TRIES = 4
_UNTOLD_WAIT_S = 60.0
"""GitHub's recommended pause for a secondary rate limit that names no duration."""
_NO_ANSWER = (requests.ConnectionError, requests.Timeout)
_UNUSABLE = (
    BadAttributeException,
    requests.RequestException,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Errors that PyGithub raises for an answer that is truncated, no JSON, or malformed."""


class RequestPace(Frozen):
    """The pace of requests, and the patience with failures."""

    between_writes_s: float = 1.0
    """GitHub's advice against its secondary rate limits."""
    longest_wait_s: float = 120.0
    """The longest rate limit that is waited for."""
    first_pause_s: float = 0.5
    """The pause before a read is retried; doubled for each retry."""
    listed_within_s: float = 20.0
    """How long a new issue may be missing in lists."""


class WriteUnknown(TrackerUnavailable):
    """A write was sent, and its outcome is unknown."""


class RetryingClient:
    """Reads and writes with one pace."""

    def __init__(
        self, repo: str, pace: RequestPace, clean: Callable[[str], str] = str, permission: str = "issues: write"
    ) -> None:
        """`clean` removes the token from GitHub's messages; `permission` is the permission that the token needs."""
        self._clean = clean
        self._permission = permission
        self._repo = repo
        self._pace = pace

    def read(self, work: Callable[[], T]) -> T:
        """Performs a read. Also use it for fields of objects that were read before: PyGithub may request a missing
        field.
        """
        return self._perform(work, self._worth_reading_again)

    def write(self, work: Callable[[], T]) -> T:
        """Performs a write; raises WriteUnknown if it may have taken effect."""
        try:
            return self._perform(work, self._refused_for_now)
        except _Unclear as error:
            raise WriteUnknown(error.message, remedy=error.remedy) from None

    def _perform(self, work: Callable[[], T], again: Callable[[BaseException], bool]) -> T:
        retrying = Retrying(
            retry=retry_if_exception(again),
            wait=self._wait,
            stop=stop_after_attempt(_TRIES),
            sleep=time.sleep,
            reraise=True,
        )
        try:
            return retrying(work)
        except GithubException as error:
            raise self._named(error) from None
        except RuntimeError as error:  # PyGithub's for a redirect to another server, which it does not follow
            said = _shortened(self._clean(str(error)))
            raise TrackerError(f"GitHub redirects to another address: {said}", remedy="give its own address") from None
        except _NO_ANSWER as error:
            raise _Unclear(f"GitHub does not answer: {_shortened(str(error))}", remedy=_LATER) from None
        except _UNUSABLE as error:
            said = _shortened(self._clean(f"{type(error).__name__}: {error}"))
            raise _Unclear(f"GitHub's answer cannot be used: {said}", remedy=_LATER) from None

    def _wait(self, state: RetryCallState) -> float:
        error = None if state.outcome is None else state.outcome.exception()
        limit = None if error is None else limit_of(error)
        return limit if limit is not None else self._pace.first_pause_s * 2 ** (state.attempt_number - 1)

    def _worth_reading_again(self, error: BaseException) -> bool:
        if isinstance(error, GithubException) and error.status >= 500:
            return True
        return isinstance(error, _NO_ANSWER) or self._refused_for_now(error)

    def _refused_for_now(self, error: BaseException) -> bool:
        return isinstance(error, GithubException) and _or_never(limit_of(error)) <= self._pace.longest_wait_s

    def _named(self, error: GithubException) -> TrackerError:
        said = _shortened(self._clean(_message(error)))
        if limit_of(error) is not None:
            wait = f"{limit_of(error):.0f} s"
            return TrackerUnavailable(f"GitHub's rate limit is reached, for another {wait}: {said}", remedy=_LATER)
        match error.status:
            case 401:
                return TrackerUnavailable("GitHub rejected the token (401)", remedy="give a valid GITHUB_TOKEN")
            case 403:
                return TrackerUnavailable(
                    f"the token may not do this in {self._repo} (403): {said}",
                    remedy=f"give it the permission `{self._permission}`",
                )
            case 404 | 410:
                return TrackerUnavailable(
                    f"{self._repo} is not there, has no issues, or the token may not see it ({error.status})",
                    remedy=f"check GITHUB_REPOSITORY=owner/name, and the token's permission `{self._permission}`",
                )
            case status if status >= 500:
                return _Unclear(f"GitHub fails ({status}): {said}", remedy=_LATER)
            case status:
                return TrackerError(f"GitHub refuses this ({status}): {said}")


class _Unclear(TrackerUnavailable):
    """The outcome of the request is unknown."""


_LATER = "the drafts are kept; filing again later files them"


def limit_of(error: BaseException) -> float | None:
    """Seconds to wait if GitHub refused for its rate limit; None: it did not."""
    if not isinstance(error, GithubException) or error.status not in (403, 429):
        return None
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    if headers.get("retry-after", "").isdigit():
        return float(headers["retry-after"])
    if headers.get("x-ratelimit-remaining") == "0" and headers.get("x-ratelimit-reset", "").isdigit():
        return max(0.0, float(headers["x-ratelimit-reset"]) - time.time()) + 1.0
    return _UNTOLD_WAIT_S if error.status == 429 or "rate limit" in _message(error).lower() else None


def _or_never(wait_s: float | None) -> float:
    return math.inf if wait_s is None else wait_s


def _message(error: GithubException) -> str:
    data = error.data
    if isinstance(data, Mapping):
        details = data.get("errors")
        return f"{data.get('message', '')}{'' if not details else f' {details}'}"
    return str(data or "")


def _shortened(text: str) -> str:
    return shortened(" ".join(text.split()), 300, "…")


# PyGithub's requests, with an error for invalid answers: PyGithub reads a redirect that it does not follow, and any
# other answer without content, as an empty list of issues.

_ADDRESS = "set GITHUB_API_URL to the server's own address, and GITHUB_REPOSITORY to the repository's present name"

_NOTHING = ("", "{}", "null")


class CheckedRequester(Requester):
    """Sends the requests of one client; raises TrackerUnavailable for a redirect, and if content is missing.

    A redirect within the server is followed by PyGithub if its status is 301, as for a repository that was renamed.
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
