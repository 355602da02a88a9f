"""Errors that an answer tells without being flagged as one: `{"error": "..."}`, `{"success": false}`, "Error: ...".

A read that tells of a thing's own status ("failed") tells no error of its own.
"""

import json
import re
from typing import Final

from harness.trace import Observation
from harness.values import JsonValue

_SAYS_ERROR: Final = re.compile(r"\s{0,8}(?:error|exception|failed|failure)\s?[:!]", re.I)
_ERROR: Final = frozenset({"error"})
_FAILED: Final = frozenset({"error", "failed", "failure", "rejected", "denied"})
_TELLING: Final = ('"error"', '"success"', '"ok"')


def told_error(seen: Observation, writes: bool) -> str | None:
    """What an answer says that failed, flagged or not; None: nothing."""
    if seen.error is not None:
        return seen.error.message
    content = seen.content
    if isinstance(content, str):
        told = _SAYS_ERROR.match(content) or (content.lstrip()[:1] == "{" and _may_tell(content, writes))
        return content if told and says_error(content, writes) else None
    return json.dumps(content) if isinstance(content, dict) and says_error(content, writes) else None


def says_error(content: JsonValue, writes: bool) -> bool:
    """Whether an answer that is not flagged as an error says that it is one."""
    content = opened(content)
    if isinstance(content, str):
        return _SAYS_ERROR.match(content) is not None
    if not isinstance(content, dict):
        return False
    status = content.get("status")
    says_no = content.get("success") is False or content.get("ok") is False
    return bool(content.get("error")) or says_no or (isinstance(status, str) and status.casefold() in _failing(writes))


def _failing(writes: bool) -> frozenset[str]:
    """What a failed call's status is; what a read tells of a thing is the thing's own status."""
    return _FAILED if writes else _ERROR


def _may_tell(content: str, writes: bool) -> bool:
    """Whether text can be JSON that tells an error: most has a status, and is long to read."""
    if any(word in content for word in _TELLING):
        return True
    if '"status"' not in content:
        return False
    folded = content.casefold()
    return any(word in folded for word in _failing(writes))


def opened(content: JsonValue) -> JsonValue:
    """Text that is JSON as JSON."""
    if not isinstance(content, str) or content.lstrip()[:1] not in ("{", "["):
        return content
    try:
        found: JsonValue = json.loads(content)
    except (ValueError, RecursionError):
        return content
    return found
