"""The one note on a merge request of GitLab: written the first time, replaced later."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from typing import Any, Final
from urllib.parse import quote, urlsplit

from harness.drift.issue import Note
from harness.errors import TrackerError, TrackerUnavailable, UsageError
from harness.gateway.posting import post, refusal
from harness.values import Frozen

# The token is sent to the API's own host alone, and is part of no message or error.

_MAX_BYTES: Final = 16 * 1024 * 1024
_PAGE: Final = 100
_MOST_PAGES: Final = 100
_REMEDIES: Final = {
    401: "check the token: it may have expired",
    403: "the token needs the scope `api`, and the role Reporter or higher in the project",
    404: "check the project and the number of the merge request, and that the token may see them",
}


class MergeRequest(Frozen):
    """A merge request of one GitLab server."""

    api_url: str
    """Address of the server's API, such as `https://gitlab.com/api/v4`."""
    project: str
    """Number of the project, or its path."""
    number: int

    @property
    def host(self) -> str:
        """The server's name. Raises UsageError if it is not an address."""
        try:
            parts = urlsplit(self.api_url)
        except ValueError:
            parts = urlsplit("")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise UsageError(
                "the address of GitLab's API is not usable",
                remedy="expected https://HOST/api/v4 without user and password, as CI_API_V4_URL has it",
            )
        return parts.hostname


def put_note(merge_request: MergeRequest, token: str, note: Note) -> int:
    """Writes the note, or replaces the text of the one with its mark; returns the number of the note.

    Only notes of the token's own user are replaced: anybody can write the mark. Raises UsageError, TrackerUnavailable,
    and TrackerError for an answer that is not GitLab's.
    """
    api = _Api(merge_request, token)
    own = api.ask("GET", "/user")
    notes = f"/projects/{quote(merge_request.project, safe='')}/merge_requests/{merge_request.number}/notes"
    try:
        for there in api.pages(notes):
            if there["author"]["id"] == own["id"] and note.mark in there["body"]:
                if there["body"] != note.comment:
                    api.ask("PUT", f"{notes}/{int(there['id'])}", {"body": note.comment})
                return int(there["id"])
        return int(api.ask("POST", notes, {"body": note.comment})["id"])
    except (KeyError, TypeError, ValueError):
        raise TrackerError(
            f"the server at {merge_request.host} answered with something else than notes",
            remedy="check the address of GitLab's API: it ends with /api/v4",
        ) from None


class _Api:
    def __init__(self, merge_request: MergeRequest, token: str) -> None:
        self._host = merge_request.host
        self._address = merge_request.api_url.rstrip("/")
        self._headers = {"PRIVATE-TOKEN": token, "Content-Type": "application/json"}

    def pages(self, path: str) -> Iterator[Any]:
        """The entries of all pages of a listing, the oldest first."""
        for page in range(1, _MOST_PAGES + 1):
            entries = self.ask("GET", f"{path}?sort=asc&per_page={_PAGE}&page={page}")
            yield from entries
            if len(entries) < _PAGE:
                return

    def ask(self, method: str, path: str, body: Mapping[str, str] | None = None) -> Any:
        """The answer as JSON."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._address}{path}", data=data, headers=self._headers, method=method)
        asked = f"{method} {path.partition('?')[0]}"
        try:
            with post(request) as answer:
                content = answer.read(_MAX_BYTES + 1)
        except urllib.error.HTTPError as error:
            _, reason = refusal(error)
            raise TrackerUnavailable(
                f"GitLab at {self._host} answered {asked} with {reason}", remedy=_REMEDIES.get(error.code)
            ) from None
        except (OSError, ValueError, HTTPException) as error:
            kind = type(getattr(error, "reason", error)).__name__
            raise TrackerUnavailable(f"GitLab at {self._host} cannot be reached: {kind}") from None
        try:
            if len(content) <= _MAX_BYTES:
                return json.loads(content)
        except (ValueError, RecursionError):
            pass
        raise TrackerError(
            f"the server at {self._host} answered {asked} with no JSON of at most {_MAX_BYTES} bytes",
            remedy="check the address of GitLab's API: it ends with /api/v4",
        )
