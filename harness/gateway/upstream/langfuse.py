"""Requests to one project of a Langfuse server: retried if that is safe, bounded, and without secrets.

The keys come from the environment alone (LANGFUSE_HOST, LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY). No redirect is
followed, because every request carries them.
"""

import base64
import hashlib
import json
import math
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from http.client import HTTPException, HTTPResponse
from typing import Any, Final, TypeVar
from urllib.parse import urlencode, urlsplit

from pydantic import JsonValue

from harness.cassettes.redaction import SHORTEST, Redactor
from harness.errors import HarnessError, UsageError
from harness.gateway.posting import post
from harness.values import Frozen, JsonObject

T = TypeVar("T")


def is_json(content: bytes) -> bool:
    """Whether it can be read as JSON."""
    try:
        json.loads(content)
    except ValueError:
        return False
    return True


def storable(value: JsonValue) -> JsonValue:
    """The value without characters that databases refuse; a number that is not finite becomes a text, as in OTLP."""
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case str():
            return value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
        case list():
            return [storable(one) for one in value]
        case dict():
            return {str(storable(name)): storable(one) for name, one in value.items()}
        case _:
            return value


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a finite number")
    return value


_MAX_BYTES: Final = 16 * 1024 * 1024
_TRIES: Final = 4
_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 60.0
_PAGE: Final = 50
_MOST_PAGES: Final = 2000
_VARIABLES: Final = ("LANGFUSE_HOST", "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY")
_REMEDIES: Final = {
    401: "check LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY, and that LANGFUSE_HOST is the server of their project",
    403: "the keys do not permit this: use those of the project, with write access",
    429: "the rate limit of the project is reached: repeat the command later; what was sent is not sent twice",
}


class LangfuseError(HarnessError):
    """A request to Langfuse failed; `status` is that of its answer, None if it gave none."""

    def __init__(self, message: str, *, remedy: str | None = None, status: int | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.status = status


class AnswerLimits(Frozen):
    """How much a server may answer, however often a part comes."""

    answer_s: float = 300.0
    """Of one answer."""
    listed_bytes: int = 256 * 1024 * 1024
    """Of all pages of a listing."""


class LangfuseClient:
    """Sends requests to one server with the keys of one project."""

    def __init__(
        self,
        host: str,
        public_key: str,
        secret_key: str,
        *,
        secrets: Mapping[str, str] | None = None,
        limits: AnswerLimits | None = None,
    ) -> None:
        """`secrets` are removed from what is sent. Raises UsageError if the host is not an HTTP address."""
        _check_host(host)
        self._limits = limits or AnswerLimits()
        self.host = host.rstrip("/")
        keys = {"LANGFUSE_SECRET_KEY": secret_key, "LANGFUSE_PUBLIC_KEY": public_key}
        known = {name: key for name, key in keys.items() if len(key) >= SHORTEST}
        self._redactor = Redactor({**(secrets or {}), **known})
        token = base64.b64encode(f"{public_key}:{secret_key}".encode()).decode()
        self._headers = {"Authorization": f"Basic {token}", "Content-Type": "application/json"}

    @classmethod
    def from_environment(cls, secrets: Mapping[str, str] | None = None) -> "LangfuseClient":
        """Raises UsageError that names the variables that are missing."""
        found = [os.environ.get(name, "") for name in _VARIABLES]
        missing = [name for name, value in zip(_VARIABLES, found, strict=True) if not value]
        if missing:
            raise UsageError(
                f"the environment variables {', '.join(missing)} are not set",
                remedy="set the address of the Langfuse server and the API keys from the settings of its project",
            )
        return cls(*found, secrets=secrets)

    def get(self, path: str, **query: str | int) -> Any:
        """The answer as JSON. Raises LangfuseError."""
        return _parsed(self._get(path, query), f"GET {path}")

    def post(self, path: str, body: JsonValue, headers: Mapping[str, str] | None = None) -> Any:
        """The answer as JSON; sent again if the server was busy or failed, so it must have the same effect twice.

        Raises LangfuseError.
        """
        return _parsed(self._request("POST", path, self.encoded(body), headers), f"POST {path}")

    def pages(self, path: str, **query: str | int) -> Iterator[JsonObject]:
        """The entries of every page of a listing. Raises LangfuseError for an answer of another shape."""
        page, last, size = 1, 1, 0
        while page <= last:
            entries, meta, size = self._page(path, {**query, "page": page, "limit": _PAGE}, page, size)
            try:
                last = int(meta["totalPages"])
            except (KeyError, TypeError, ValueError):
                raise _no_listing(path) from None
            yield from entries
            page += 1

    def listed(self, path: str, **query: str | int) -> Iterator[JsonObject]:
        """The entries of a listing whose pages each name the next one by a cursor. Raises LangfuseError."""
        page, size, cursors = 1, 0, {""}
        asked = {**query, "limit": _PAGE}
        while True:
            entries, meta, size = self._page(path, asked, page, size)
            yield from entries
            cursor = str(meta.get("cursor") or "")
            if not cursor:
                return
            if cursor in cursors:
                raise LangfuseError(f"Langfuse lists pages in a circle at {path}")
            cursors.add(cursor)
            asked, page = {**asked, "cursor": cursor}, page + 1

    def _page(
        self, path: str, query: Mapping[str, str | int], page: int, size: int
    ) -> tuple[list[JsonObject], dict[str, Any], int]:
        """Entries, facts about the page, and the bytes of all pages so far."""
        if page > _MOST_PAGES or size > self._limits.listed_bytes:
            most = f"{_MOST_PAGES * _PAGE} entries or {self._limits.listed_bytes} bytes"
            raise LangfuseError(f"Langfuse lists more than {most} at {path}")
        content = self._get(path, query)
        answer = _parsed(content, f"GET {path}")
        try:
            return [dict(one) for one in answer["data"]], dict(answer["meta"]), size + len(content)
        except (KeyError, TypeError, ValueError):
            raise _no_listing(path) from None

    def encoded(self, body: JsonValue) -> bytes:
        """The body as it is sent: without the known secrets, and without characters that databases refuse."""
        plain = json.dumps(storable(body), allow_nan=False)
        sent = self._redactor.known(plain.encode())
        if sent == plain.encode() or is_json(sent):
            return sent
        numbers = json.loads(plain, parse_int=self._number_or_text, parse_float=self._number_or_text)
        return self._redactor.known(json.dumps(numbers).encode())

    def _number_or_text(self, text: str) -> JsonValue:
        """The number; a text if it contains a secret, whose name is not a number."""
        shown = self._redactor.known(text.encode()).decode()
        number: JsonValue = json.loads(text) if shown == text else shown
        return number

    def _get(self, path: str, query: Mapping[str, str | int]) -> bytes:
        return self._request("GET", f"{path}?{urlencode(query)}" if query else path)

    def _request(
        self, method: str, path: str, data: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> bytes:
        for failed in range(1, _TRIES + 1):
            try:
                return self._response_to(method, path, data, headers)
            except _Busy as busy:
                if failed == _TRIES:
                    raise busy.error from None
                time.sleep(busy.pause_s if busy.pause_s is not None else _FIRST_PAUSE_S * 2 ** (failed - 1))
        raise AssertionError("the last try returns or raises")

    def _response_to(self, method: str, path: str, data: bytes | None, headers: Mapping[str, str] | None) -> bytes:
        request = urllib.request.Request(
            f"{self.host}{path}", data=data, headers={**self._headers, **(headers or {})}, method=method
        )
        try:
            with post(request) as response:
                return _response_body(response, f"{method} {path.partition('?')[0]}", self._limits.answer_s)
        except urllib.error.HTTPError as error:
            raise self._request_error(method, path, error) from None
        except (OSError, ValueError, HTTPException) as error:
            said = self._redactor.text(str(error))[:300]
            unreachable = LangfuseError(
                f"Langfuse at {self.host} cannot be reached: {said}",
                remedy="check LANGFUSE_HOST, and that the server can be reached from here",
            )
            raise (_Busy(unreachable) if _was_cut_off(error) else unreachable) from None

    def _request_error(self, method: str, path: str, error: urllib.error.HTTPError) -> Exception:
        with error:
            said = self._redactor.text(_error_body(error))[:300]
        remedy = _REMEDIES.get(error.code)
        if 300 <= error.code < 400:
            remedy = "redirects are not followed: give the server's own address in LANGFUSE_HOST"
        refused = LangfuseError(
            f"Langfuse answered {method} {path.partition('?')[0]} with status {error.code}: {said}",
            remedy=remedy,
            status=error.code,
        )
        return _Busy(refused, _pause_s(error)) if error.code == 429 or error.code >= 500 else refused


def batches(things: Iterable[T], most: int, size_of: Callable[[T], int]) -> Iterator[list[T]]:
    """The things in their order, in lists of at most that size; a larger one is alone."""
    batch, size = list[T](), 0
    for one in things:
        length = size_of(one)
        if batch and size + length > most:
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += length
    if batch:
        yield batch


class _Busy(Exception):
    """A failure after which the same request may be sent again."""

    def __init__(self, error: LangfuseError, pause_s: float | None = None) -> None:
        self.error = error
        self.pause_s = pause_s


def _no_listing(path: str) -> LangfuseError:
    return LangfuseError(f"Langfuse answered GET {path} with no listing of pages")


def _parsed(content: bytes, asked: str) -> Any:
    """The answer as JSON that can be stored; None for an empty one. Raises LangfuseError."""
    try:
        value = json.loads(content, parse_float=_finite, parse_constant=_finite) if content.strip() else None
        return storable(value)
    except (ValueError, RecursionError):
        raise LangfuseError(
            f"Langfuse answered {asked} with no JSON", remedy="check LANGFUSE_HOST: another server may answer there"
        ) from None


def _was_cut_off(error: Exception) -> bool:
    """Whether a server was there: one that cannot be found or refuses connections will not be there in a second."""
    return isinstance(getattr(error, "reason", error), ConnectionResetError | HTTPException | TimeoutError)


def _check_host(host: str) -> None:
    try:
        parts = urlsplit(host)
    except ValueError:
        parts = urlsplit("")
    if parts.username is not None or parts.password is not None:
        raise UsageError("LANGFUSE_HOST: expected an address without user and password")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"LANGFUSE_HOST: expected an http(s) URL, found {host!r}")


def _response_body(response: HTTPResponse, asked: str, most_s: float) -> bytes:
    """All of an answer. Raises LangfuseError if it is too large, or takes too long however often a part comes."""
    deadline, parts, size = time.monotonic() + most_s, list[bytes](), 0
    while part := response.read1(_MAX_BYTES):
        parts.append(part)
        size += len(part)
        if size > _MAX_BYTES:
            raise LangfuseError(f"Langfuse answered {asked} with more than {_MAX_BYTES} bytes")
        if time.monotonic() > deadline:
            raise LangfuseError(f"Langfuse's answer to {asked} took more than {most_s:g} s")
    return b"".join(parts)


def _error_body(error: urllib.error.HTTPError) -> str:
    try:
        return error.read(4096).decode("utf-8", "replace")
    except (OSError, HTTPException):
        return ""


def _pause_s(error: urllib.error.HTTPError) -> float | None:
    told = str(error.headers["Retry-After"] or "") if error.headers is not None else ""
    return min(float(told), _LONGEST_PAUSE_S) if told.isdecimal() else None


_MOST_BYTES: Final = 500_000
"""Of one request."""
_LONGEST_COMMENT: Final = 2000
_LONGEST_COUNT: Final = 18
"""In digits."""
_LAST_MS: Final = 253_402_300_799_000
"""The end of the year 9999."""


def langfuse_score(identity: str, name: str, value: float | bool, comment: str) -> JsonObject:
    """The body of a score without its subject. A score that is sent again with the same identity replaces it."""
    score: JsonObject = {
        "id": hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:32],
        "name": name,
        "value": int(value) if isinstance(value, bool) else value,
        "dataType": "BOOLEAN" if isinstance(value, bool) else "NUMERIC",
    }
    return score | ({"comment": comment[:_LONGEST_COMMENT]} if comment else {})


def langfuse_instant(time_ns: int) -> str:
    """The time, or the first or last that has a date, for a trace of others with any number as time."""
    at = datetime.fromtimestamp(min(max(time_ns // 1_000_000, 0), _LAST_MS) / 1000, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def send_langfuse_scores(client: LangfuseClient, scores: Sequence[JsonObject]) -> None:
    """Sends all of them in batches. Raises LangfuseError, also if the server rejected some of them."""
    rejected, reasons = 0, list[str]()
    for batch in batches(scores, _MOST_BYTES, lambda one: len(json.dumps(one)) + 2):
        answer = client.post("/api/public/scores", list(batch))
        rejected += rejected_by_langfuse(answer, "rejected")
        errors = answer.get("errors") if isinstance(answer, dict) else None
        listed = errors if isinstance(errors, list) else []
        reasons += [str(one.get("message"))[:200] for one in listed if isinstance(one, dict)]
    if rejected:
        raise LangfuseError(
            f"Langfuse rejected {rejected} of {len(scores)} scores: {'; '.join(reasons[:3])}",
            remedy="a score that has a configuration in Langfuse must keep to its type and range",
        )


def rejected_by_langfuse(answer: object, *path: str) -> int:
    """The number at a place of an answer; 0 if there is none. Raises LangfuseError for what is not a number."""
    for name in path:
        answer = answer.get(name) if isinstance(answer, dict) else None
    if answer is None:
        return 0
    count = str(answer) if isinstance(answer, int | str) else ""
    if not count.isascii() or not count.isdecimal() or len(count) > _LONGEST_COUNT:
        raise LangfuseError(f"Langfuse answered with no number as {'.'.join(path)!r}")
    return int(count)
