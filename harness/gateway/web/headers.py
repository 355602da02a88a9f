"""Which headers pass, and which belong to one connection, to one moment, or to the gateway."""

from collections.abc import Mapping

from multidict import CIMultiDict

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
    "accept-encoding",  # asked for without: tapes hold what people can read
    "content-encoding",  # undone when the body was read
    "content-length",
    "expect",
    "host",
    "traceparent",
    "tracestate",
    "baggage",
}
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
    "strict-transport-security",  # would outlive the trial in nothing, and hinders plain HTTP in it
    "via",
    "x-request-id",
    "x-runtime",
}
"""The same in every mode, so that a replayed answer has the headers of the recorded one."""


def forwarded(headers: Mapping[str, str], more: Mapping[str, str]) -> CIMultiDict[str]:
    """What a host is sent: the agent's headers, and over them those that the gateway adds."""
    named = {name.strip().lower() for name in headers.get("connection", "").split(",")}
    passed = CIMultiDict[str]()
    for name, value in headers.items():
        if name.lower() not in _NOT_FORWARDED | named:
            passed.add(name, value)
    for name, value in more.items():
        passed[name] = value
    passed.setdefault("Accept", "*/*")
    passed["Accept-Encoding"] = "identity"
    return passed


def passed_back(headers: CIMultiDict[str] | Mapping[str, str], *, decoded: bool) -> CIMultiDict[str]:
    """What the agent is given, in lower case. `decoded`: the length is another.

    Several of one name stand in one line, cookies aside: each of those is a header of its own.
    """
    named = {name.strip().lower() for name in headers.get("connection", "").split(",")}
    back = CIMultiDict[str]()
    for name, value in headers.items():
        low = name.lower()
        if low in _NOT_PASSED_BACK | named or (decoded and low == "content-length"):
            continue
        if low == "set-cookie":
            back.add(low, value)
        else:
            back[low] = f"{back[low]}, {value}" if low in back else value
    return back
