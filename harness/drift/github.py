"""The tracker `github`, through PyGithub: listing by label and marker, never by the search API, which lags.

Duplicates are prevented as follows. A write with an unknown outcome is searched for by its marker and never sent again.
An issue that was created without its labels (the process died, or the token may not label) is found among the recently
changed ones and labelled. If two processes filed the same issue at once, the next report closes the younger one.
"""

import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from functools import cached_property
from http import HTTPStatus
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import urlsplit

import requests
from github import Auth, BadAttributeException, Consts, GithubException
from github.GithubObject import NotSet
from github.Issue import Issue
from github.Repository import Repository
from github.Requester import Requester
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt
from typing_extensions import override

from harness.cassettes.redaction import SHORTEST, Redactor
from harness.drift.issue import LABEL, Note, TrackedIssue, TrackerOptions, key_in
from harness.errors import TrackerError, TrackerUnavailable, UsageError
from harness.runs.store.drift_report import IssueDraft
from harness.text import shortened
from harness.values import Frozen

# Requests to GitHub: which are retried, how long the pauses are, and which error each failure becomes.

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


class WriteUnknown(TrackerUnavailable):
    """A write was sent, and its outcome is unknown."""


class RetryingClient:
    """Reads and writes with one pace."""

    def __init__(self, repo: str, pace: RequestPace, clean: Callable[[str], str]) -> None:
        """`clean` removes the token from GitHub's messages."""
        self._clean = clean
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
                    remedy="give it the permission `issues: write`",
                )
            case 404 | 410:
                return TrackerUnavailable(
                    f"{self._repo} is not there, has no issues, or the token may not see it ({error.status})",
                    remedy="check GITHUB_REPOSITORY=owner/name, and the token's permission `issues: write`",
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

    def __init__(self, auth: Auth.Auth, base_url: str, *, timeout_s: int, between_writes_s: float) -> None:
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


API_URL = "https://api.github.com"

_RECENT = timedelta(days=2)
_MOST_RECENT = 300
_WORKFLOW = "github-actions[bot]"
"""The login of GITHUB_TOKEN in a workflow."""
_OURS = ("OWNER", "MEMBER", "COLLABORATOR")


class GithubTracker:
    """The issues of one repository. `token` is held in memory only."""

    name = "github"

    def __init__(self, options: TrackerOptions, token: str, pace: RequestPace | None = None) -> None:
        if options.repo is None or not re.fullmatch(r"[\w.-]+/[\w.-]+", options.repo):
            raise UsageError(f"invalid repository {options.repo!r}", remedy="expected GITHUB_REPOSITORY=owner/name")
        url = options.api_url or API_URL
        _refuse_open_line(url)
        self._pace = pace = pace or RequestPace()
        clean = Redactor({"GITHUB_TOKEN": token} if len(token) >= SHORTEST else {}).text
        self._asking = RetryingClient(options.repo, pace, clean)
        requester = CheckedRequester(
            Auth.Token(token), url, timeout_s=options.timeout_s, between_writes_s=pace.between_writes_s
        )
        self._requester = requester
        self._repo = Repository(requester, url=f"/repos/{options.repo}")

    def exclusive(self) -> AbstractContextManager[None]:
        """GitHub has no lock."""
        return nullcontext()

    def find(self) -> Sequence[TrackedIssue]:
        listed, recent = self._labelled_issues(), self._recent()
        found = self._asking.read(lambda: _own_issues(listed, recent))
        return sorted((issue for issue in found if key_in(issue.body) is not None), key=lambda issue: issue.number)

    def file(self, draft: IssueDraft) -> TrackedIssue:
        made = self._create_issue(draft)
        missing = set(draft.labels) - set(self._tracked(made).labels)
        if missing:
            self._asking.write(lambda: made.add_to_labels(*draft.labels))
        return self._tracked(made)

    def update(
        self, issue: TrackedIssue, draft: IssueDraft, note: Note | None, *, reopen: bool = False
    ) -> TrackedIssue:
        changed = self._update_issue(issue, draft, note, ("open", "reopened") if reopen else None)
        if LABEL not in issue.labels:
            self._asking.write(lambda: changed.add_to_labels(*draft.labels))
        return self._tracked(changed)

    def close(self, issue: TrackedIssue, draft: IssueDraft, note: Note | None) -> TrackedIssue:
        return self._tracked(self._update_issue(issue, draft, note, ("closed", "completed")))

    def comment(self, number: int, note: Note, *, replace: bool) -> str:
        """Writes the comment once, identified by the note's mark, on an issue or pull request; returns its address.

        Only comments of the token's own login count: anybody can write the mark. `replace`: the text of an existing
        comment is replaced.
        """
        issue = self._asking.read(lambda: self._repo.get_issue(number))
        there = self._asking.read(lambda: [one for one in issue.get_comments() if note.mark in (one.body or "")])
        there = self._asking.read(lambda: [one for one in there if getattr(one.user, "login", None) == self._login])
        if not there:
            return self._asking.write(lambda: issue.create_comment(note.comment).html_url)
        if replace and there[0].body != note.comment:
            self._asking.write(lambda: there[0].edit(note.comment))
        return there[0].html_url

    @cached_property
    def _login(self) -> str:
        """Who writes with the token. An app's token, such as that of a workflow, has no user: GraphQL names its bot."""
        try:
            return str(self._requester.requestJsonAndCheck("GET", "/user")[1]["login"])
        except GithubException as error:
            if error.status not in (403, 404):
                raise
        try:
            return str(self._requester.graphql_query("{viewer{login}}", {})[1]["data"]["viewer"]["login"])
        except (GithubException, KeyError, TypeError):
            return _WORKFLOW

    def _tracked(self, issue: Issue) -> TrackedIssue:
        return self._asking.read(lambda: _tracked(issue))

    def _create_issue(self, draft: IssueDraft) -> Issue:
        try:
            return self._asking.write(
                lambda: self._repo.create_issue(title=draft.title, body=draft.body, labels=list(draft.labels))
            )
        except WriteUnknown:
            made = next((one for one in self._everywhere() if one.body == draft.body), None)
            if made is None:
                raise
            return made

    def _update_issue(
        self, issue: TrackedIssue, draft: IssueDraft, note: Note | None, state: tuple[str, str] | None
    ) -> Issue:
        """Writes the comment first, because a crash after the other change would lose it. Its id prevents
        duplicates.
        """
        if note is not None:
            self.comment(issue.number, note, replace=False)
        target = self._asking.read(lambda: self._repo.get_issue(issue.number))
        value, reason = (NotSet, NotSet) if state is None else state
        self._asking.write(lambda: target.edit(title=draft.title, body=draft.body, state=value, state_reason=reason))
        return target

    def _labelled_issues(self) -> list[Issue]:
        listed = self._repo.get_issues(state="all", labels=[LABEL], sort="created", direction="asc")
        return self._asking.read(lambda: _issues(listed))

    def _recent(self) -> list[Issue]:
        since = datetime.now(UTC) - _RECENT
        listed = self._repo.get_issues(state="all", since=since, sort="created", direction="desc")
        return self._asking.read(lambda: _issues(islice(listed, _MOST_RECENT)))

    def _everywhere(self) -> Iterator[Issue]:
        yield from self._labelled_issues()
        yield from self._recent()


def _issues(listed: Iterable[Issue]) -> list[Issue]:
    """All listed issues without pull requests. A failed page fails the whole reading."""
    return [issue for issue in listed if issue.pull_request is None]


def _own_issues(listed: Sequence[Issue], recent: Sequence[Issue]) -> list[TrackedIssue]:
    """The labelled issues, and recent ones that lack their labels."""
    labelled = {issue.number: issue for issue in listed}
    orphans = [issue for issue in recent if issue.number not in labelled and _is_orphan(issue)]
    return [_tracked(issue) for issue in (*labelled.values(), *orphans)]


def _is_orphan(issue: Issue) -> bool:
    """Whether the harness created the issue without labels; anybody can write a marker, so the author must be allowed
    to label.
    """
    if key_in(issue.body or "") is None or any(label.name.startswith(("drift:", "online:")) for label in issue.labels):
        return False
    return issue.author_association in _OURS or issue.user.type == "Bot"


def _tracked(issue: Issue) -> TrackedIssue:
    return TrackedIssue(
        number=issue.number,
        reference=f"#{issue.number}",
        url=issue.html_url,
        title=issue.title,
        body=issue.body or "",
        is_open=issue.state == "open",
        closed=issue.closed_at,
        labels=tuple(label.name for label in issue.labels),
        declined=issue.state_reason == "not_planned",
    )


def _refuse_open_line(url: str) -> None:
    """Rejects URLs that would send the token unencrypted."""
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        raise UsageError(f"{url!r} would carry the token in the clear", remedy="an https address")
