"""Messages about drift elsewhere: the one note on a merge request of GitLab, and a chat's incoming webhook."""

import ipaddress
import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from typing import Any, Final
from urllib.parse import SplitResult, quote, urlsplit

from harness.drift.issue import Note
from harness.errors import TrackerError, TrackerUnavailable, UsageError
from harness.gateway.posting import post, refusal
from harness.text import one_line
from harness.values import Frozen

# The one note on a merge request of GitLab: written the first time, replaced later.
#
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


# Messages to a chat through an incoming webhook, in Slack's form, which Mattermost, Rocket.Chat and others accept too.
#
# The address is a credential: whoever knows it may post. It is read from the environment, sent to its own host alone,
# and is part of no message or error.

_MOST_CHARACTERS = 30_000  # Slack refuses more than 40,000
_READ_BYTES = 200
_BREAK = "\u200b"
_EFFECT = re.compile(r"@(?=\w)|:(?=//)|\](?=\()|\bwww(?=\.)", re.IGNORECASE)


def send_message(environment: Mapping[str, str], variable: str, text: str) -> str:
    """Posts `text` to the address in the variable; returns the host.

    Raises UsageError for a missing or unsafe address, TrackerUnavailable for every answer but 2xx: redirects are not
    followed.
    """
    url = environment.get(variable, "")
    host = _checked_host(url, variable)
    body = json.dumps({"text": _shortened(text)}).encode()
    request = urllib.request.Request(url, data=body, headers={"Content-Type": "application/json"}, method="POST")
    try:
        with post(request) as answer:
            answer.read(_READ_BYTES)
    except urllib.error.HTTPError as error:
        _, reason = refusal(error)
        raise TrackerUnavailable(f"the webhook at {host} answered {reason}", remedy=f"check {variable}") from None
    except (OSError, ValueError, HTTPException) as error:
        kind = type(getattr(error, "reason", error)).__name__
        raise TrackerUnavailable(f"the webhook at {host} cannot be reached: {kind}") from None
    return host


def escaped(text: str) -> str:
    """Untrusted text on one line and without effect: no mention, address, link, image or channel-wide alert, in
    Slack's form or in the Markdown of others, which know `@channel` in plain text.
    """
    return _EFFECT.sub(lambda found: found[0] + _BREAK, escaped_markup(one_line(text)))


def escaped_markup(text: str) -> str:
    """The user's own text, whose addresses become links."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _checked_host(url: str, variable: str) -> str:
    if not url:
        raise UsageError(f"{variable} is not set", remedy=f"export {variable}=https://... of an incoming webhook")
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        raise UsageError(f"the address in {variable} cannot be read", remedy="expected https://HOST/PATH") from None
    is_plain = all(letter.isprintable() and letter != " " for letter in url)
    if not host or not is_plain or not _is_safe(parts, host):
        raise UsageError(
            f"the address in {variable} is not safe to send to",
            remedy="expected https://HOST/PATH without user or password; http only for this machine's own loopback",
        )
    return host


def _is_safe(parts: SplitResult, host: str) -> bool:
    if parts.username is not None:
        return False
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return parts.scheme == "https" or (parts.scheme == "http" and host == "localhost")
    if address.is_link_local or address.is_multicast or address.is_unspecified:
        return False  # among them the metadata services of clouds
    return parts.scheme == "https" or (parts.scheme == "http" and address.is_loopback)


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}\n… cut here"
