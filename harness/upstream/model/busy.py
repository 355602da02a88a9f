"""Shares a busy provider's back-off with all trials of a run."""

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Final

from harness.upstream.rate import RateLimiter

_BUSY: Final = frozenset({429, 529})
"""Too many requests, and Anthropic's status for overload."""
_UNTOLD_S: Final = 0.5


def hold_where_busy(limiter: RateLimiter, server: str, status: int, headers: Mapping[str, str]) -> None:
    """Delays the calls of all trials to a provider whose answer to one of them requests it, for the requested time."""
    if status in _BUSY:
        limiter.hold(server, requested_wait_s(headers) or _UNTOLD_S)


def requested_wait_s(headers: Mapping[str, str]) -> float:
    """The value of `Retry-After` in seconds, from seconds or a date; 0 where it cannot be read."""
    retry_after = next((value for name, value in headers.items() if name.lower() == "retry-after"), "")
    try:
        return max(float(retry_after), 0.0)
    except ValueError:
        pass
    try:
        return max(parsedate_to_datetime(retry_after).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return 0.0
