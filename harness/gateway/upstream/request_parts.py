"""The parts of an HTTP request that choose its answer, in a form that does not depend on the client.

Every header is a part, except a named list of noise: what a client adds by itself, and what belongs to one connection
or one trace. A header that the answer's `Vary` names is a part of the key in any case. `Accept` and its relatives are
compared by their meaning: by weight, then in their order, and no header at all is `*/*`. One that takes everything
alike, and names no more than JSON and plain text, is what clients send by default, and noise. Credentials are
pseudonyms of their values: see `harness.cassettes.redaction`.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Final
from urllib.parse import unquote

from pydantic import JsonValue

from harness.cassettes.credentials import holds_issued_key
from harness.cassettes.redaction import Redactor
from harness.gateway.upstream.transport import Refusal
from harness.suite.tools import Rule
from harness.values import JsonObject, NotJson, canonical_json, parse_json, plain_name

_CONNECTION: Final = """
connection http2-settings keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer
transfer-encoding upgrade
"""
OF_A_CONNECTION: Final = frozenset(_CONNECTION.split())
NOT_FORWARDED: Final = OF_A_CONNECTION | {
    "accept-encoding",  # requests are sent without it, so that cassettes contain readable text
    "baggage",
    "content-encoding",  # undone when the body was read
    "content-length",
    "expect",
    "host",
    "traceparent",
    "tracestate",
}
"""Headers that no host receives: they choose no answer, whatever a `Vary` says."""
_NOISE: Final = """
x-goog-api-client x-ms-useragent x-client-info x-client-source x-firebase-client x-meilisearch-client x-weaviate-client
auth0-client x-elastic-client-meta x-ms-lib-capability x-client-sku x-client-ver x-client-os x-client-cpu x-box-ua
x-algolia-agent upgrade-insecure-requests priority dnt sec-gpc
date x-amz-date x-ms-date grpc-timeout x-request-start
b3 traceresponse x-cloud-trace-context sentry-trace newrelic elastic-apm-traceparent grpc-trace-bin jaeger-debug-id
jaeger-baggage langsmith-trace x-honeycomb-trace x-dynatrace singularityheader x-ot-span-context request-context
correlation-context ms-cv x-opaque-id sw8 x-transaction-id x-global-transaction-id
"""
"""The client itself; times; traces and correlation."""
_NOISY_NAMES: Final = frozenset(_NOISE.split())
_BEGINNINGS: Final = """
x-stainless- x-fern- amz-sdk- sec-ch-ua sec-fetch- x-upstash-telemetry- apollographql-client- x-b3- x-datadog-
x-newrelic- x-instana- uberctx- ot-tracer- sw8- pinpoint-
"""
_NOISY_BEGINNINGS: Final = tuple(_BEGINNINGS.split())
_NOISY_WORDS: Final = re.compile(
    "(x|ms|amzn?|uber|return|client|correlation)*(request|correlation|trace|span)(root)?id|.*useragent(extended)?"
    "|.*telemetry|(x|langfuse)*sdk(name|version|language|platform)|hostos|runtimeenvironment"
)
"""By the letters alone, because each framework spells the same words in its own way."""
_PREFERENCES: Final = ("accept", "accept-language", "accept-charset")
_EVERYTHING: Final = frozenset({"*", "*/*"})
_USUAL: Final = frozenset({"application/json", "text/plain"})
"""What clients name beside everything without being told to; servers choose a type that is named before others."""
_OF_ONE_CALL: Final = re.compile("idempoten|^paypal-request-id$")
"""New for every call by intention: they stand for the first call that was made with the value."""
_SECRET_HEADER: Final = re.compile(
    "auth|bearer|cookie|credential|csrf|jwt|key|passphrase|passw|pwd|secret|session|sid|sign|token|xsrf"
)
_SECRET_FIELD: Final = re.compile("auth$|csrf|jwt|^key$|^sig$|passw|secret|session|^sid$|signature|xsrf")
_SHOWN_BYTES: Final = 262_144
_TEXT_BYTES: Final = 32_768
_MOST_PAIRS: Final = 1000
_PARAMETER: Final = re.compile(r';\s*([\w-]+)\*?=(?:"((?:[^"\\]|\\.)*)"|([^;\s]*))', re.IGNORECASE)
_OF_A_FIELD: Final = frozenset({"content-disposition", "content-length", "content-type"})
_NAMES: Final = frozenset({"name", "filename"})
_FRACTION: Final = re.compile(rb"[0-9]+(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)")
_BARE_PERCENT: Final = re.compile("%(?![0-9A-Fa-f]{2})")
_EXACT: Final = 16
"""Characters of a fraction up to which every float keeps it."""
_FORM: Final = "application/x-www-form-urlencoded"


@lru_cache(maxsize=4096)
def is_noise(name: str) -> bool:
    """Whether a header, by its name in lower case, says nothing about the answer that is wanted."""
    named = name in _NOISY_NAMES or name in NOT_FORWARDED or name.startswith(_NOISY_BEGINNINGS)
    return named or _NOISY_WORDS.fullmatch(plain_name(name)) is not None


@dataclass(frozen=True, kw_only=True)
class Headers:
    """The headers of one request, in lower case."""

    chosen: dict[str, str]
    cookies: dict[str, JsonValue]
    idle: dict[str, str] = field(default_factory=dict)
    """Noise that the host receives: it counts if the answer's `Vary` names it."""


def headers_of(headers: Mapping[str, str], own: Iterable[str], calls: dict[str, int]) -> Headers:
    """`own`: names of headers that the gateway sets itself. `calls`: the trial's idempotency keys so far."""
    joined: dict[str, list[str]] = {}
    for name, value in headers.items():
        joined.setdefault(name.lower(), []).append(value.strip())
    unsent = {*own, *NOT_FORWARDED, *named_by_connection(headers)}
    found = Headers(chosen={}, cookies={})
    for name, values in joined.items():
        if name in unsent or name in {"content-type", "cookie"}:
            continue
        text = ", ".join(values)
        if _OF_ONE_CALL.search(name):
            found.chosen[name] = f"of call {calls[text]}" if text in calls else "new"
            calls.setdefault(text, len(calls) + 1)
        elif name in _PREFERENCES:
            text, prefers = _preference(text)
            (found.chosen if prefers else found.idle)[name] = text
        else:
            (found.idle if is_noise(name) else found.chosen)[name] = text
    if "cookie" not in unsent:
        pairs = (pair.strip().partition("=") for line in joined.get("cookie", ()) for pair in line.split(";"))
        found.cookies.update(_by_name((name, value.strip('"')) for name, _, value in pairs if name or value))
    return found


def named_by_connection(headers: Mapping[str, str]) -> set[str]:
    """The headers that belong to this connection, by any line of `Connection`."""
    lines = (value for name, value in headers.items() if name.lower() == "connection")
    return {name.strip().lower() for line in lines for name in line.split(",")}


def _preference(value: str) -> tuple[str, bool]:
    """The ranges by weight, and whether some are preferred; "" for the ranges that take everything."""
    ranges: dict[str, float] = {}
    for part in filter(None, map(str.strip, value.split(","))):
        kind, *parameters = [one.strip() for one in part.split(";")]
        weight = next((one[2:] for one in parameters if one[:2] in {"q=", "Q="}), "1")
        kept = ";".join([kind.lower(), *(one for one in parameters if one[:2] not in {"q=", "Q="})])
        try:
            ranges[kept] = float(weight)
        except ValueError:
            return value, True
    takes_all = not ranges.keys().isdisjoint(_EVERYTHING) and len({*ranges.values()}) == 1
    prefers = bool(ranges) and not (takes_all and ranges.keys() <= _EVERYTHING | _USUAL)
    ordered = sorted(ranges.items(), key=lambda one: -one[1])
    text = ", ".join(kind if weight == 1.0 else f"{kind};q={weight:g}" for kind, weight in ordered)
    return "" if text in {"*", "*/*"} else text, prefers


def vary_names(vary: str, ignored: Iterable[Rule]) -> tuple[str, ...]:
    """The noise that a `Vary` names, unless it is ignored; `*`: all of it."""
    names = {name.strip().lower() for name in vary.split(",")} - NOT_FORWARDED
    counts = (name for name in names if name == "*" or name in _PREFERENCES or is_noise(name))
    return tuple(sorted(name for name in counts if f"/headers/{name}" not in set(ignored)))


def hidden(asked: JsonObject, redactor: Redactor) -> JsonObject:
    """The parts of a request with pseudonyms in place of its credentials: values with the name of a secret, or of an
    issuer's shape.
    """
    found = dict(asked)
    for part in ("headers", "cookies", "query", "form"):
        values = found.get(part)
        if isinstance(values, dict):
            found[part] = {name: _hidden(name, value, redactor, part) for name, value in values.items()}
    return found


def _hidden(name: str, value: JsonValue, redactor: Redactor, part: str) -> JsonValue:
    if isinstance(value, list):
        return [_hidden(name, one, redactor, part) for one in value]
    if not isinstance(value, str) or not value or _OF_ONE_CALL.search(name):
        return value
    names = _SECRET_HEADER if part in {"headers", "cookies"} else _SECRET_FIELD
    return redactor.pseudonym(name, value) if names.search(plain_name(name)) or holds_issued_key(value) else value


def names_a_credential(name: str) -> bool:
    """Whether a header or a cookie is a credential by its name."""
    return _SECRET_HEADER.search(plain_name(name)) is not None


def _by_name(pairs: Iterable[tuple[str, JsonValue]]) -> JsonObject:
    """Values by name, with values of the same name in order: the redactor recognises secrets by name."""
    found = dict[str, list[JsonValue]]()
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def query_of(query: str) -> JsonValue:
    """The fields of a query by name; its text if it cannot be decoded. Raises Refusal for too many."""
    if not query:
        return None
    pairs = _decoded_pairs(query)
    return query if pairs is None else _by_name(pairs)


def _decoded_pairs(text: str) -> Sequence[tuple[str, JsonValue]] | None:
    """A name without `=` has no value. None if the text contains bytes that are not UTF-8, or a bare percent sign."""
    pieces = [piece.replace("+", " ").partition("=") for piece in text.split("&") if piece]
    if len(pieces) > _MOST_PAIRS:
        raise Refusal(400, "bad_request", f"the query has more than {_MOST_PAIRS} fields")
    decoded = partial(unquote, errors="strict")
    try:
        pairs = [(decoded(name), decoded(value) if equals else None) for name, equals, value in pieces]
    except UnicodeDecodeError:
        return None
    return None if _BARE_PERCENT.search(text) else pairs


def body_of(body: bytes, content_type: str | None, redactor: Redactor) -> tuple[JsonObject, str | None]:
    """The body as parts, and its content type if the parts do not tell it; "": the body came without one."""
    if not body:
        return {}, None
    kind, parameters = _media_type(content_type or "")
    if kind == _FORM:
        pairs = _decoded_pairs(body.decode("utf-8", "surrogateescape")) if len(body) <= _SHOWN_BYTES else None
        return (
            _digest(body, redactor) if pairs is None else {"form": _by_name(pairs)}
        ), content_type if parameters else None
    if kind.startswith("multipart/"):
        boundary = next(
            (two or three for name, two, three in _PARAMETER.findall(content_type or "") if name.lower() == "boundary"),
            "",
        )
        fields = _multipart(body, boundary.encode("utf-8", "surrogateescape"), redactor)
        plain = body.replace(boundary.encode("utf-8", "surrogateescape"), b"boundary") if boundary else body
        told = None if (kind, parameters) == ("multipart/form-data", "") else kind + parameters
        return (_digest(plain, redactor) if fields is None else {"multipart": fields}), told
    as_json = _json(body, redactor)
    if as_json is not None:
        return as_json, None if (kind, parameters) == ("application/json", "") else kind + parameters
    return _text_or_digest(body, redactor), kind + parameters


def _media_type(content_type: str) -> tuple[str, str]:
    """The type in lower case, and its parameters but the usual ones."""
    kind, *rest = [part.strip() for part in content_type.split(";")]
    plain = (part.lower() if part[:8].lower() == "charset=" else part for part in rest)
    odd = [part for part in plain if part and part[:9].lower() != "boundary=" and part not in _UTF8]
    return kind.lower(), "".join(f";{part}" for part in odd)


_UTF8: Final = frozenset({"charset=utf-8", 'charset="utf-8"', "charset=utf8"})


def _multipart(body: bytes, boundary: bytes, redactor: Redactor) -> JsonObject | None:
    """The fields of a form by name; None if it is not one that can be read."""
    head, *parts = (b"\r\n" + body).split(b"\r\n--" + boundary) if boundary else [body]
    if head.strip() or len(parts) < 2 or not parts[-1].startswith(b"--"):
        return None
    fields: list[tuple[str, JsonValue]] = []
    for part in parts[:-1]:
        lines, separator, content = part.lstrip(b" \t").removeprefix(b"\r\n").partition(b"\r\n\r\n")
        told = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines.decode("utf-8", "replace").split("\r\n"))
        }
        known = {
            name.lower(): two or three for name, two, three in _PARAMETER.findall(told.get("content-disposition", ""))
        }
        kind = told.get("content-disposition", "").partition(";")[0].strip().lower()
        if (
            not separator
            or kind != "form-data"
            or "name" not in known
            or not told.keys() <= _OF_A_FIELD
            or not known.keys() <= _NAMES
        ):
            return None
        kind = told.get("content-type", "").lower()
        shown = _text_or_digest(content, redactor)
        plain = "filename" not in known and _media_type(kind) in {("", ""), ("text/plain", "")}
        fields.append(
            (
                known["name"],
                shown.get("text", shown) if plain else {"filename": known.get("filename"), "type": kind, **shown},
            )
        )
    return _by_name(fields)


def _json(body: bytes, redactor: Redactor) -> JsonObject | None:
    """The value, unless readers understand it differently; None for what is no JSON."""
    try:
        value = parse_json(body)
    except NotJson:
        return None
    try:
        parse_json(body, once=True)
    except NotJson:
        return _digest(body, redactor)
    if any(len(one) > _EXACT and repr(float(one)).encode() != one for one in _FRACTION.findall(body)):
        return _digest(body, redactor)  # some readers know more digits than a float has
    text = canonical_json(value).encode("utf-8", "surrogatepass")
    return {"json": value} if len(text) <= _SHOWN_BYTES else {"json_sha256": _sha256(text)}


def _text_or_digest(body: bytes, redactor: Redactor) -> JsonObject:
    if len(body) > _TEXT_BYTES:
        return _digest(body, redactor)
    try:
        return {"text": body.decode("utf-8")}
    except UnicodeDecodeError:
        return _digest(body, redactor)


def _digest(body: bytes, redactor: Redactor) -> JsonObject:
    plain = redactor.content(body)
    return {"sha256": _sha256(plain), "bytes": len(plain)}


def _sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
