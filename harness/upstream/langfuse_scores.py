"""Scores of Langfuse: their bodies, and how many of them are sent."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from harness.upstream.langfuse import LangfuseClient, LangfuseError, batches
from harness.values import JsonObject

_MOST_BYTES: Final = 500_000
"""Of one request."""
_LONGEST_COMMENT: Final = 2000
_LONGEST_COUNT: Final = 18
"""In digits."""
_LAST_MS: Final = 253_402_300_799_000
"""The end of the year 9999."""


def langfuse_score(identity: str, name: str, value: float | bool, comment: str) -> JsonObject:
    """The body of a score without its subject. A score that is sent again with the same identity replaces it."""
    score: JsonObject = {
        "id": hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:32],
        "name": name,
        "value": int(value) if isinstance(value, bool) else value,
        "dataType": "BOOLEAN" if isinstance(value, bool) else "NUMERIC",
    }
    return score | ({"comment": comment[:_LONGEST_COMMENT]} if comment else {})


def langfuse_instant(time_ns: int) -> str:
    """The time, or the first or last that has a date, for a trace of others with any number as time."""
    at = datetime.fromtimestamp(min(max(time_ns // 1_000_000, 0), _LAST_MS) / 1000, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def send_langfuse_scores(client: LangfuseClient, scores: Sequence[JsonObject]) -> None:
    """Sends all of them in batches. Raises LangfuseError, also where the server rejected some of them."""
    rejected, reasons = 0, list[str]()
    for batch in batches(scores, _MOST_BYTES):
        answer = client.post("/api/public/scores", list(batch))
        rejected += rejected_by_langfuse(answer, "rejected")
        errors = answer.get("errors") if isinstance(answer, dict) else None
        listed = errors if isinstance(errors, list) else []
        reasons += [str(one.get("message"))[:200] for one in listed if isinstance(one, dict)]
    if rejected:
        raise LangfuseError(
            f"Langfuse rejected {rejected} of {len(scores)} scores: {'; '.join(reasons[:3])}",
            remedy="a score that has a configuration in Langfuse must keep to its type and range",
        )


def rejected_by_langfuse(answer: object, *path: str) -> int:
    """The number at a place of an answer; 0 where there is none. Raises LangfuseError for what is not a number."""
    for name in path:
        answer = answer.get(name) if isinstance(answer, dict) else None
    if answer is None:
        return 0
    count = str(answer) if isinstance(answer, int | str) else ""
    if not count.isascii() or not count.isdecimal() or len(count) > _LONGEST_COUNT:
        raise LangfuseError(f"Langfuse answered with no number as {'.'.join(path)!r}")
    return int(count)
