"""A request to a host as its client sent it, rebuilt from the data in a cassette.

Secrets, and the parts that the suite excludes from the key, are missing; a body that was stored as a digest cannot be
rebuilt.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from harness.values import JsonObject, JsonValue, canonical_json


@dataclass(frozen=True, kw_only=True)
class SentRequest:
    """The request as an HTTP client would have sent it."""

    method: str
    uri: str
    headers: Mapping[str, str]
    body: str | None


def sent_request(arguments: str) -> SentRequest | None:
    """The request in the canonical JSON of a call to a host; None: the JSON describes no request."""
    asked = json.loads(arguments)
    if not isinstance(asked, dict) or not isinstance(asked.get("url"), str):
        return None
    stored = asked.get("headers")
    headers = {name: str(value) for name, value in stored.items()} if isinstance(stored, dict) else {}
    kind, body = _body(asked)
    return SentRequest(
        method=str(asked.get("method")),
        uri=str(asked["url"]) + _query(asked.get("query")),
        headers=headers | ({} if kind is None else {"content-type": kind}),
        body=body,
    )


def _query(query: JsonValue) -> str:
    match query:
        case dict():
            return "?" + _pairs(query, plus=False)
        case str():
            return f"?{query}"
        case _:
            return ""


def _body(asked: JsonObject) -> tuple[str | None, str | None]:
    """Content type and body."""
    form = asked.get("form")
    if "json" in asked:
        return "application/json", canonical_json(asked["json"])
    if isinstance(form, dict):
        return "application/x-www-form-urlencoded", _pairs(form, plus=True)
    text = asked.get("text")
    return None, text if isinstance(text, str) else None


def _pairs(values: JsonObject, *, plus: bool) -> str:
    pairs = [
        (name, str(one)) for name, value in values.items() for one in (value if isinstance(value, list) else [value])
    ]
    return urlencode(pairs) if plus else urlencode(pairs, quote_via=quote)
