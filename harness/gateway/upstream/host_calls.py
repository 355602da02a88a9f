"""A request of the agent as a call: its content, the parts that matter, and its cassette key."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol
from urllib.parse import urlsplit

from harness.cassettes.keys import CallKey, key_digest
from harness.cassettes.redaction import Redactor
from harness.gateway.toolbox import climbs
from harness.gateway.upstream.effects import effect_of
from harness.gateway.upstream.request_parts import body_of, headers_of, hidden, query_of
from harness.gateway.upstream.sources import ToolAnswer, ToolMiss
from harness.gateway.upstream.transport import Refusal
from harness.suite.hosts import HostSpec
from harness.suite.tools import without_ignored
from harness.values import JsonObject, canonical_json

Scheme = Literal["http", "https"]
PORTS: dict[Scheme, int] = {"http": 80, "https": 443}
_AUTHORITY = re.compile(r"^(?P<host>[^\s:@/?#\[\]]+|\[[0-9A-Fa-f:.]+\])(:(?P<port>[0-9]{1,5}))?$")
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]")


@dataclass(frozen=True, kw_only=True)
class HostPort:
    """A host and a port; the port 0 stands for the unknown port of a connection."""

    scheme: Scheme
    host: str
    port: int

    def covers(self, other: "HostPort") -> bool:
        """Whether a connection to this place may carry requests for the other."""
        return self.host == other.host and self.port in {0, other.port}

    @property
    def origin(self) -> str:
        """The origin of the URL; a default port is left out."""
        return f"{self.scheme}://{self.host}" + ("" if self.port == PORTS[self.scheme] else f":{self.port}")


@dataclass(frozen=True, kw_only=True)
class Address:
    """A destination with path and query as they were sent, undecoded."""

    place: HostPort
    path: str
    query: str

    @property
    def target(self) -> str:
        return self.path if not self.query else f"{self.path}?{self.query}"


def place_of(authority: str, scheme: Scheme) -> HostPort | None:
    """Parses `host` or `host:port`. None: the text is neither."""
    found = _AUTHORITY.match(authority)
    if found is None:
        return None
    port = PORTS[scheme] if found["port"] is None else int(found["port"])
    host = found["host"].lower().rstrip(".")
    return HostPort(scheme=scheme, host=host, port=port) if host and 0 < port < 65536 else None


def is_absolute(target: str) -> bool:
    """Whether a request's target is an absolute URL, as in requests to proxies."""
    return target[:8].lower().startswith(("http://", "https://"))


def absolute_address(target: str) -> Address:
    """Parses an absolute URL, without its user and password. Raises Refusal for one without a valid destination."""
    try:
        parts = urlsplit(target)
    except ValueError:
        raise _no_address(target) from None
    scheme: Scheme = "https" if parts.scheme.lower() == "https" else "http"
    place = place_of(parts.netloc.rpartition("@")[2], scheme)
    if place is None:
        raise _no_address(target)
    return address_at(place, (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))


def address_at(place: HostPort, target: str) -> Address:
    """A path with its query at a place. Raises Refusal for a path that leaves its root."""
    path, _, query = target.partition("#")[0].partition("?")
    if not path.startswith("/") or _UNSAFE.search(target) or climbs(path):
        raise _no_address(target)
    return Address(place=place, path=path, query=query)


def _no_address(target: str) -> Refusal:
    return Refusal(400, "bad_request", f"{target[:200]!r} is not an address that a request can go to")


@dataclass(frozen=True, kw_only=True)
class WebCall:
    """One request to a declared host."""

    host: HostSpec
    address: Address
    method: str
    headers: Mapping[str, str]
    """The headers as the agent sent them."""
    body: bytes
    asked: JsonObject
    """The whole request, for the trace; it still contains secrets."""
    key: CallKey


@dataclass(frozen=True, kw_only=True)
class Incoming:
    """A completely received request."""

    method: str
    headers: Mapping[str, str]
    """Header names in any case."""
    body: bytes


@dataclass(kw_only=True)
class CallMemory:
    """What the requests of one trial have in common."""

    calls: dict[str, int] = field(default_factory=dict)
    """Idempotency key -> the number of the first call that was made with it."""
    ignored: dict[str, int] = field(default_factory=dict)
    """Rule of `ignore` -> the requests in which it has found something."""


def web_call(
    host: HostSpec, address: Address, incoming: Incoming, redactor: Redactor, memory: CallMemory | None = None
) -> WebCall:
    """Raises Refusal for a query that cannot be read, OutOfTime for a pattern of `ignore` that takes too long."""
    memory = CallMemory() if memory is None else memory
    own = {*map(str.lower, host.headers), *([host.session_header.lower()] if host.session_header else ())}
    headers = headers_of(incoming.headers, own, memory.calls)
    body, kind = body_of(incoming.body, incoming.headers.get("content-type"), redactor)
    query = query_of(address.query)
    chosen = headers.chosen | ({} if kind is None else {"content-type": kind})
    plain: JsonObject = {"method": incoming.method, "url": address.place.origin + address.path}
    plain |= {
        name: dict(part) if isinstance(part, dict) else part
        for name, part in (("query", query), ("headers", chosen), ("cookies", headers.cookies))
        if part
    }
    plain |= body
    kept = without_ignored(host.ignore, plain, f"host {host.host}", memory.ignored)
    text = canonical_json(redactor.value(hidden(kept, redactor)))
    noise = redactor.value(dict(headers.idle))
    return WebCall(
        host=host,
        address=address,
        method=incoming.method,
        headers=incoming.headers,
        body=incoming.body,
        asked=hidden(plain, redactor),
        key=CallKey(
            server=host.tool,
            tool=host.tool,
            effect=effect_of(host, address.path, address.query, incoming.method, incoming.headers, incoming.body),
            arguments=text,
            key=key_digest(host.tool, text, "http"),
            noise=noise if isinstance(noise, dict) else {},
        ),
    )


class Sink(Protocol):
    """Receives an answer in pieces. Neither method raises if the agent has disconnected."""

    async def begin(self, status: int, headers: Mapping[str, str]) -> None: ...

    async def write(self, piece: bytes) -> None: ...


class WebSource(Protocol):
    """Answers the requests of one trial.

    A failed answer (`reset`, `timeout`, `oversized`) may have started: its status is then not 0, and its body holds the
    received part.
    """

    async def answer(self, call: WebCall, sink: Sink) -> ToolAnswer | ToolMiss:
        """Never raises for failures of the host; raises HarnessError for failures of the harness."""
        ...
