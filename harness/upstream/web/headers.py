"""Decides which headers pass, and which belong to one connection, to one time, or to the gateway."""

from collections.abc import Mapping

from multidict import CIMultiDict

from harness.cassette import Redactor
from harness.upstream.client import clean_header

_OF_A_CONNECTION = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_NOT_FORWARDED = _OF_A_CONNECTION | {
    "accept-encoding",  # requests are sent without it, so that cassettes contain readable text
    "content-encoding",  # undone when the body was read
    "content-length",
    "expect",
    "host",
    "traceparent",
    "tracestate",
    "baggage",
}
_OF_A_PART = frozenset({"if-range", "range", "request-range"})
"""They could be used to fetch a secret in pieces. A complete answer is a valid answer to a range request, too."""
_NOT_PASSED_BACK = _OF_A_CONNECTION | {
    "age",
    "alt-svc",  # would lead the client past the proxy
    "cf-ray",
    "content-encoding",
    "date",
    "expires",
    "nel",
    "report-to",
    "server",
    "server-timing",
    "strict-transport-security",  # has no effect after the trial, and prevents plain HTTP in it
    "via",
    "x-request-id",
    "x-runtime",
}
"""The headers are the same in every mode, so that a replayed answer has the headers of the recorded one."""
_OF_THE_BYTES = frozenset(
    {"accept-ranges", "content-digest", "content-length", "content-md5", "digest", "repr-digest", "want-content-digest"}
)
"""Headers that are valid only for a body from which no secret was removed."""


def forwarded(headers: Mapping[str, str], more: Mapping[str, str], *, whole: bool) -> CIMultiDict[str]:
    """The headers for a host: the agent's, overridden by the gateway's. `whole` removes requests for a part."""
    left_out = _NOT_FORWARDED | (_OF_A_PART if whole else frozenset())
    named = {name.strip().lower() for name in headers.get("connection", "").split(",")}
    passed = CIMultiDict[str]()
    for name, value in headers.items():
        if name.lower() not in left_out | named:
            passed.add(name, value)
    for name, value in more.items():
        passed[name] = value
    passed.setdefault("Accept", "*/*")
    passed["Accept-Encoding"] = "identity"
    return passed


def is_part(status: int, headers: Mapping[str, str]) -> bool:
    """Whether the body is a part of the resource."""
    kind = headers.get("content-type", "").lower()
    return status == 206 or "content-range" in headers or kind.startswith("multipart/byteranges")


def passed_back(
    headers: CIMultiDict[str] | Mapping[str, str], *, decoded: bool, redactor: Redactor, bodiless: bool = False
) -> CIMultiDict[str]:
    """The headers for the agent, in lower case, without known secrets. `decoded` states that the length has changed.

    Headers of the same name are joined into one line, except for cookies, each of which is a header of its own.
    `bodiless` marks the answer to HEAD, whose length does not describe a sent body.
    """
    named = {name.strip().lower() for name in headers.get("connection", "").split(",")}
    dropped = set() if bodiless or redactor.search is None else _OF_THE_BYTES
    back = CIMultiDict[str]()
    for name, value in headers.items():
        low = name.lower()
        if low in _NOT_PASSED_BACK | named | dropped or (decoded and low == "content-length"):
            continue
        if redactor.text(name) != name or redactor.text(low) != low:
            continue
        clean = clean_header(value, redactor)
        if low == "set-cookie":
            back.add(low, clean)
        else:
            back[low] = f"{back[low]}, {clean}" if low in back else clean
    return back
