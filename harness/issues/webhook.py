"""Messages to a chat through an incoming webhook, in Slack's form, which Mattermost, Rocket.Chat and others accept too.

The address is a credential: whoever knows it may post. It is read from the environment, sent to its own host alone, and
is part of no message or error.
"""

import ipaddress
import json
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from urllib.parse import SplitResult, urlsplit

from harness.errors import TrackerUnavailable, UsageError
from harness.online.posting import post, refusal
from harness.visible_text import one_line

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
    host = _checked(url, variable)
    body = json.dumps({"text": _cut(text)}).encode()
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


def _checked(url: str, variable: str) -> str:
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


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}\n… cut here"
