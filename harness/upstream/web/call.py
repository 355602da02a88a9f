"""A request of the agent as a call: its content, the parts that matter, and its cassette key."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

from harness.case import HostSpec
from harness.case.endpoints.tool import Effect
from harness.case.endpoints.volatile import without
from harness.cassette import CallKey, Redactor, key_digest
from harness.strict_json import NotJson, parse_json
from harness.upstream.refusal import Refusal
from harness.upstream.web.address import Address
from harness.values import JsonObject, JsonValue, canonical_json

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
    asked = _asked(host, address, incoming, ignoring=False)
    text = canonical_json(redactor.value(_asked(host, address, incoming, ignoring=True)))
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
    """`write` where any reading of the request is one: servers decode paths, merge slashes, and obey a method that a
    header or a parameter names in place of the request's own.
    """
    named = [value for name, value in incoming.headers.items() if name.lower() in _OTHER_METHOD]
    named += [value for name, value in _pairs(address.query) or () if name.lower() in _OTHER_METHOD_IN_QUERY]
    methods = {incoming.method, *(value.strip().upper() for value in named)}
    decoded = [address.path, unquote(address.path), unquote(unquote(address.path))]
    paths = {form for path in decoded for form in (path, _SLASHES.sub("/", path))}
    return "write" if any(host.effect_of(method, path) == "write" for method in methods for path in paths) else "read"


def _asked(host: HostSpec, address: Address, incoming: Incoming, *, ignoring: bool) -> JsonObject:
    rules = host.ignore
    query = _query(address.query, rules.query if ignoring else ())
    headers = _headers(incoming.headers, host.match_headers, rules.headers if ignoring else ())
    body = _body(incoming, rules.body if ignoring else ())
    asked: JsonObject = {"method": incoming.method, "url": address.place.origin + address.path}
    return asked | ({"query": query} if query else {}) | ({"headers": headers} if headers else {}) | body


def _query(query: str, ignored: Iterable[str]) -> JsonValue:
    if not query:
        return None
    pairs = _pairs(query)
    return query if pairs is None else _by_name(pairs, ignored)


def _pairs(text: str) -> list[tuple[str, str]] | None:
    """None where the text contains bytes that are not UTF-8."""
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


def _headers(headers: Mapping[str, str], more: Iterable[str], ignored: Iterable[str]) -> JsonObject:
    names = {*_CHOOSING, *more, *(("accept",) if "*/*" not in headers.get("accept", "*/*") else ())} - set(ignored)
    return {name: headers[name] for name in sorted(names) if name in headers}


def _body(incoming: Incoming, ignored: Iterable[str]) -> JsonObject:
    body, kind = incoming.body, incoming.headers.get("content-type", "").lower()
    if not body:
        return {}
    if kind.startswith("application/x-www-form-urlencoded"):
        pairs = _pairs(body.decode("utf-8", "surrogateescape")) if len(body) <= _SHOWN_BYTES else None
        return _digest(body) if pairs is None else {"form": _by_name(pairs, ())}
    if kind.startswith("multipart/"):
        return _digest(_without_boundary(body, incoming.headers["content-type"]))
    return _json(body, ignored) or _text(body)


def _json(body: bytes, ignored: Iterable[str]) -> JsonObject | None:
    try:
        value = parse_json(body)
    except NotJson:
        return None
    for pointer in ignored:
        value = without(value, pointer)
    text = canonical_json(value).encode("utf-8", "surrogatepass")
    return {"json": value} if len(text) <= _SHOWN_BYTES else {"json_sha256": _sha256(text)}


def _text(body: bytes) -> JsonObject:
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
