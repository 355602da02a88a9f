"""What a request must look like, checked by hand: one small body and one query need no schema library to start with."""

import json
from typing import Any
from urllib.parse import parse_qs

from menu_service.store import Line, Refusal

MAX_QUANTITY = 50
MAX_RESULTS = 10
_DEFAULT_RESULTS = 5
_LINE_FIELDS = ("item_id", "quantity", "size", "modifiers")


def lookup_of(query_string: str) -> tuple[str, int]:
    """(query, limit) of a lookup; raises Refusal."""
    given = parse_qs(query_string, keep_blank_values=True, max_num_fields=20)
    query = given.get("query", [""])[-1].strip()
    if not query:
        raise _invalid("query", "is missing or empty")
    if len(query) > 200:
        raise _invalid("query", "is longer than 200 characters")
    limit = given.get("limit", [str(_DEFAULT_RESULTS)])[-1]
    if not (limit.isascii() and limit.isdigit() and 1 <= int(limit[:4]) <= MAX_RESULTS):
        raise _invalid("limit", f"is no whole number from 1 to {MAX_RESULTS}")
    return query, int(limit)


def line_of(body: bytes, fewest: int = 1) -> Line:
    """The order line that a body describes; raises Refusal that names the field."""
    given = _object(body)
    for field in given:
        if field not in _LINE_FIELDS:
            raise _invalid(field, "is not a field of an order line")
    return Line(
        item_id=_text(given, "item_id"),
        quantity=_quantity(given, fewest),
        size=_size(given),
        modifiers=_modifiers(given),
    )


def _object(body: bytes) -> dict[str, Any]:
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        raise Refusal(400, "not_json", "the body is not JSON") from None
    if not isinstance(given, dict):
        raise Refusal(400, "not_json", "the body is no JSON object")
    return given


def _text(given: dict[str, Any], field: str) -> str:
    value = given.get(field)
    if not isinstance(value, str) or not value:
        raise _invalid(field, "is missing or no text")
    return value


def _quantity(given: dict[str, Any], fewest: int) -> int:
    value = given.get("quantity")
    if not isinstance(value, int) or isinstance(value, bool) or not fewest <= value <= MAX_QUANTITY:
        raise _invalid("quantity", f"is no whole number from {fewest} to {MAX_QUANTITY}")
    return value


def _size(given: dict[str, Any]) -> str | None:
    return None if given.get("size") is None else _text(given, "size")


def _modifiers(given: dict[str, Any]) -> tuple[str, ...]:
    value = given.get("modifiers", [])
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise _invalid("modifiers", "is no list of texts")
    if len(set(value)) < len(value):
        raise _invalid("modifiers", "names one modifier twice")
    return tuple(value)


def _invalid(field: str, problem: str) -> Refusal:
    return Refusal(422, "invalid_request", f"{field} {problem}", field=field)
