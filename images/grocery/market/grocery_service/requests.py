"""What a request must look like, checked by hand: small bodies and queries need no schema library to start with."""

import json
from typing import Any
from urllib.parse import parse_qs

from grocery_service.refusal import Refusal, invalid
from grocery_service.store import Line

MAX_QUANTITY = 50
MAX_RESULTS = 10
_DEFAULT_RESULTS = 5
_LINE_FIELDS = ("product_id", "store_id", "quantity")


def search_of(query_string: str) -> tuple[str, str | None, int]:
    """(query, store id, limit) of a search; raises Refusal."""
    given = _query(query_string)
    return _words(given), given.get("store_id") or None, _limit(given)


def words_of(query_string: str) -> str:
    """The query of a search without further parameters; raises Refusal."""
    return _words(_query(query_string))


def limit_of(query_string: str) -> int:
    """How many at most; raises Refusal."""
    return _limit(_query(query_string))


def line_of(body: bytes, fewest: int) -> Line:
    """The cart line that a body describes; raises Refusal that names the field."""
    given = _object(body)
    for field in given:
        if field not in _LINE_FIELDS:
            raise invalid(field, "is not a field of a cart line")
    return Line(
        product_id=_text(given, "product_id"), store_id=_text(given, "store_id"), quantity=_quantity(given, fewest)
    )


def _query(query_string: str) -> dict[str, str]:
    given = parse_qs(query_string, keep_blank_values=True, max_num_fields=20)
    return {name: values[-1].strip() for name, values in given.items()}


def _words(given: dict[str, str]) -> str:
    query = given.get("query", "")
    if not query:
        raise invalid("query", "is missing or empty")
    if len(query) > 200:
        raise invalid("query", "is longer than 200 characters")
    return query


def _limit(given: dict[str, str]) -> int:
    limit = given.get("limit", str(_DEFAULT_RESULTS))
    if not (limit.isascii() and limit.isdigit() and 1 <= int(limit[:4]) <= MAX_RESULTS):
        raise invalid("limit", f"is no whole number from 1 to {MAX_RESULTS}")
    return int(limit)


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
        raise invalid(field, "is missing or no text")
    return value


def _quantity(given: dict[str, Any], fewest: int) -> int:
    value = given.get("quantity")
    if not isinstance(value, int) or isinstance(value, bool) or not fewest <= value <= MAX_QUANTITY:
        raise invalid("quantity", f"is no whole number from {fewest} to {MAX_QUANTITY}")
    return value
