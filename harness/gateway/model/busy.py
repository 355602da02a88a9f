"""A provider that is busy says so to one caller; all the others should hear it."""

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Final

from harness.gateway.rate import RateLimiter

_BUSY: Final = frozenset({429, 529})
"""Too many requests, and Anthropic's word for being overloaded."""
_UNTOLD_S: Final = 0.5


def hold_where_busy(limiter: RateLimiter, server: str, status: int, headers: Mapping[str, str]) -> None:
    """Holds back the calls of all trials to a provider that answered one of them so, as long as it says."""
    if status in _BUSY:
        limiter.hold(server, told_to_wait_s(headers) or _UNTOLD_S)


def told_to_wait_s(headers: Mapping[str, str]) -> float:
    """What `Retry-After` says, in seconds or as a date; 0 where it says nothing that can be read."""
    told = next((value for name, value in headers.items() if name.lower() == "retry-after"), "")
    try:
        return max(float(told), 0.0)
    except ValueError:
        pass
    try:
        return max(parsedate_to_datetime(told).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return 0.0
