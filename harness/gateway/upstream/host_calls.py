"""A request of the agent as a call: its content, the parts that matter, and its cassette key."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import JsonValue

from harness.cassettes.keys import CallKey, key_digest
from harness.cassettes.redaction import Redactor
from harness.gateway.upstream.sources import ToolAnswer, ToolMiss
from harness.gateway.upstream.transport import Refusal
from harness.suite.hosts import HostSpec
from harness.suite.tools import Effect, without
from harness.values import JsonObject, NotJson, canonical_json, parse_json

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
    if not path.startswith("/") or _UNSAFE.search(target) or _climbs(path):
        raise _no_address(target)
    return Address(place=place, path=path, query=query)


def _climbs(path: str) -> bool:
    # Decoded twice: the path must not leave its root when the next server decodes it once more, either.
    decoded = unquote(unquote(path)).replace("\\", "/")
    return any(part.partition(";")[0] in {".", ".."} for part in decoded.split("/")) or "\x00" in decoded


def _no_address(target: str) -> Refusal:
    return Refusal(400, "bad_request", f"{target[:200]!r} is not an address that a request can go to")


_CHOOSING = (
    "git-protocol",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "range",
    "soapaction",
    "x-http-method-override",
)
"""Request headers on which the answer of a URL depends. `Accept` is one too, unless it accepts every type."""

_OTHER_METHOD = frozenset({"x-http-method", "x-http-method-override", "x-method-override"})
_OTHER_METHOD_IN_QUERY = _OTHER_METHOD | {"_method"}
_SLASHES = re.compile("/{2,}")
_SHOWN_BYTES = 262_144
_TEXT_BYTES = 32_768
_MOST_PAIRS = 1000
_BOUNDARY = re.compile(r'boundary="?([^";,]+)"?', re.IGNORECASE)


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


def web_call(host: HostSpec, address: Address, incoming: Incoming, redactor: Redactor) -> WebCall:
    """Raises Refusal for a query that cannot be read."""
    asked = _call_arguments(host, address, incoming, ignoring=False)
    text = canonical_json(redactor.value(_call_arguments(host, address, incoming, ignoring=True)))
    return WebCall(
        host=host,
        address=address,
        method=incoming.method,
        headers=incoming.headers,
        body=incoming.body,
        asked=asked,
        key=CallKey(
            server=host.tool,
            tool=host.tool,
            effect=_effect(host, address, incoming),
            arguments=text,
            key=key_digest(host.tool, text, "http"),
        ),
    )


def _effect(host: HostSpec, address: Address, incoming: Incoming) -> Effect:
    """`write` if any reading of the request is one: servers decode paths, merge slashes, and obey a method that a
    header or a parameter names in place of the request's own.
    """
    named = [value for name, value in incoming.headers.items() if name.lower() in _OTHER_METHOD]
    named += [value for name, value in _decoded_pairs(address.query) or () if name.lower() in _OTHER_METHOD_IN_QUERY]
    methods = {incoming.method, *(value.strip().upper() for value in named)}
    decoded = [address.path, unquote(address.path), unquote(unquote(address.path))]
    paths = {form for path in decoded for form in (path, _SLASHES.sub("/", path))}
    return "write" if any(host.effect_of(method, path) == "write" for method in methods for path in paths) else "read"


def _call_arguments(host: HostSpec, address: Address, incoming: Incoming, *, ignoring: bool) -> JsonObject:
    rules = host.ignore
    query = _query(address.query, rules.query if ignoring else ())
    headers = _headers(incoming.headers, rules.headers if ignoring else ())
    body = _body_fields(incoming, rules.body if ignoring else ())
    asked: JsonObject = {"method": incoming.method, "url": address.place.origin + address.path}
    return asked | ({"query": query} if query else {}) | ({"headers": headers} if headers else {}) | body


def _query(query: str, ignored: Iterable[str]) -> JsonValue:
    if not query:
        return None
    pairs = _decoded_pairs(query)
    return query if pairs is None else _by_name(pairs, ignored)


def _decoded_pairs(text: str) -> list[tuple[str, str]] | None:
    """None if the text contains bytes that are not UTF-8."""
    try:
        return parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_PAIRS, errors="strict")
    except UnicodeDecodeError:
        return None
    except ValueError:
        raise Refusal(400, "bad_request", f"the query has more than {_MOST_PAIRS} fields") from None


def _by_name(pairs: Iterable[tuple[str, str]], ignored: Iterable[str]) -> JsonObject:
    """Values by name, with values of the same name in order: the redactor recognises secrets by name."""
    left_out, found = set(ignored), dict[str, list[JsonValue]]()
    for name, value in pairs:
        if name not in left_out:
            found.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def _headers(headers: Mapping[str, str], ignored: Iterable[str]) -> JsonObject:
    names = {*_CHOOSING, *(("accept",) if "*/*" not in headers.get("accept", "*/*") else ())} - set(ignored)
    return {name: headers[name] for name in sorted(names) if name in headers}


def _body_fields(incoming: Incoming, ignored: Iterable[str]) -> JsonObject:
    body, kind = incoming.body, incoming.headers.get("content-type", "").lower()
    if not body:
        return {}
    if kind.startswith("application/x-www-form-urlencoded"):
        pairs = _decoded_pairs(body.decode("utf-8", "surrogateescape")) if len(body) <= _SHOWN_BYTES else None
        return _digest(body) if pairs is None else {"form": _by_name(pairs, ())}
    if kind.startswith("multipart/"):
        return _digest(_without_boundary(body, incoming.headers["content-type"]))
    return _json(body, ignored) or _text_or_digest(body)


def _json(body: bytes, ignored: Iterable[str]) -> JsonObject | None:
    try:
        value = parse_json(body)
    except NotJson:
        return None
    for pointer in ignored:
        value = without(value, pointer)
    text = canonical_json(value).encode("utf-8", "surrogatepass")
    return {"json": value} if len(text) <= _SHOWN_BYTES else {"json_sha256": _sha256(text)}


def _text_or_digest(body: bytes) -> JsonObject:
    if len(body) > _TEXT_BYTES:
        return _digest(body)
    try:
        return {"text": body.decode("utf-8")}
    except UnicodeDecodeError:
        return _digest(body)


def _without_boundary(body: bytes, content_type: str) -> bytes:
    """Clients generate a new boundary for every request."""
    found = _BOUNDARY.search(content_type)
    return body if found is None else body.replace(found[1].encode("utf-8", "surrogateescape"), b"boundary")


def _digest(body: bytes) -> JsonObject:
    return {"sha256": _sha256(body), "bytes": len(body)}


def _sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


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
