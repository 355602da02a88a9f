"""Credentials that a host issues in the headers of its answers: cookies and tokens.

A session needs the real values, and no cassette may have them. The cassette has a placeholder for each, which depends
only on the call that issued it: a recording made again is the same. A replay gives the agent the placeholder, and the
agent sends it back: in a cookie, or as a CSRF token in a header or a field. The recorded request has it there too,
because the redactor knows the real value. If a placeholder is sent while a cassette is recorded again, the host
receives the real value.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from typing import Final
from urllib.parse import quote, unquote

from multidict import CIMultiDict

from harness.cassettes.redaction import SECRET_HEADERS, Redactor, stand_in
from harness.gateway.upstream.host_calls import WebCall
from harness.gateway.upstream.request_parts import names_a_credential

_EXPIRES: Final = re.compile(r"(?i)(?<=;)(\s*expires=)([^;]*)")
_MAX_AGE: Final = re.compile(r"(?i);\s*max-age=\s*(-?[0-9]+)")
_LONG: Final = 16
REPLAYED: Final = ("replayed",)
"""The place of an answer that has placeholders already."""
_SURE: Final = 8
"""Characters from which a value with a digit does not occur in other texts by chance."""


@dataclass(kw_only=True)
class Issued:
    """The credentials of one trial."""

    redactor: Redactor
    _real: dict[str, str] = field(default_factory=dict)
    """Placeholder -> the value of this run."""
    _known: dict[str, str] = field(default_factory=dict)

    def receive(self, headers: Mapping[str, str], place: tuple[object, ...]) -> None:
        """Learns what an answer issues, before the agent has it; `place` identifies the answer."""
        for name, value in headers.items():
            low = name.lower()
            cookie, _, rest = value.partition("=")
            if low == "set-cookie":
                self._learn(
                    cookie.strip(), rest.partition(";")[0].strip().strip('"'), place, deleted=_is_deleted(value)
                )
            elif low in SECRET_HEADERS:
                self._learn(low, value, place)

    def _learn(self, name: str, value: str, place: tuple[object, ...], *, deleted: bool = False) -> None:
        tells, has_digit = names_a_credential(name), any(map(str.isdigit, value))
        sure = len(value) >= (_SURE if has_digit else _LONG)
        if deleted or not value or not (tells or (has_digit and len(value) >= _LONG)) or value in self._real:
            return
        digest = hashlib.sha256("\0".join(map(str, (*place, name))).encode()).hexdigest()
        placeholder = value if place == REPLAYED else stand_in("", digest, _LONG)
        placeholder = self._known.setdefault(value, placeholder)
        self._real[placeholder] = value
        for form in {value, unquote(value), placeholder}:
            self.redactor.bind(form, placeholder, weak=not sure)

    def stored(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The headers of an answer with placeholders; several cookies are lines of one text."""
        found: dict[str, str] = {}
        for name, value in headers.items():
            low = name.lower()
            if low == "set-cookie":
                cookie, _, rest = value.partition("=")
                plain, semicolon, attributes = rest.partition(";")
                text = f"{cookie}={self._known.get(plain.strip().strip(chr(34)), plain)}{semicolon}{attributes}"
                text = _EXPIRES.sub(_relative, text)
                found[low] = f"{found[low]}\n{text}" if low in found else text
            else:
                found[low] = self._known.get(value, value)
        return found

    def sent(self, call: WebCall) -> WebCall:
        """The call with the values of this run in place of placeholders."""
        if not self._real:
            return call
        headers = CIMultiDict(
            (name, self._with_real(value, str if name.lower() == "cookie" else unquote))
            for name, value in call.headers.items()
        )
        form = "urlencoded" in call.headers.get("content-type", "").lower()
        path, query = (self._with_real(text, _quoted) for text in (call.address.path, call.address.query))
        body = call.body.decode("latin-1")
        told = self._with_real(body, _quoted if form else unquote)
        return replace(
            call,
            address=replace(call.address, path=path, query=query),
            headers=headers,
            body=call.body if told == body else told.encode("latin-1", "replace"),
        )

    def _with_real(self, text: str, form: Callable[[str], str]) -> str:
        for given, real in self._real.items():
            if given in text:
                text = text.replace(given, form(real))
        return text


def _quoted(value: str) -> str:
    return quote(unquote(value), safe="")


def given(headers: Mapping[str, str]) -> CIMultiDict[str]:
    """Stored headers as the agent receives them, now."""
    pairs = ((name, line) for name, value in headers.items() for line in value.split("\n"))
    return CIMultiDict((name, _EXPIRES.sub(_absolute, line) if name == "set-cookie" else line) for name, line in pairs)


def _is_deleted(cookie: str) -> bool:
    age, expires = _MAX_AGE.search(cookie), _EXPIRES.search(cookie)
    if age is not None:
        return int(age[1]) <= 0
    seconds = None if expires is None else _seconds_until(expires[2])
    return seconds is not None and seconds <= 0


def _seconds_until(date: str) -> int | None:
    try:
        until = parsedate_to_datetime(date.strip().replace("-", " "))
    except ValueError:
        return None
    return round((until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _relative(found: re.Match[str]) -> str:
    """How long the cookie is valid from now on: a replay is later than its recording."""
    seconds = _seconds_until(found[2])
    return found[0] if seconds is None or seconds <= 0 else f"{found[1]}+{round(seconds, -1)}"


def _absolute(found: re.Match[str]) -> str:
    if not found[2].startswith("+"):
        return found[0]
    until = datetime.now(UTC) + timedelta(seconds=int(found[2]))
    return f"{found[1]}{format_datetime(until, usegmt=True)}"
