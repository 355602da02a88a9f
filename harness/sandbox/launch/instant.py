"""The instant at which a sandbox's clock is pinned."""

from datetime import UTC, datetime, timedelta

from harness.errors import SandboxError


def instant_ns(instant: str) -> int:
    """Nanoseconds since 1970 of an ISO 8601 instant, taken as UTC where it names no zone. Raises SandboxError."""
    try:
        moment = datetime.fromisoformat(instant)
    except ValueError as error:
        raise SandboxError(f"the clock {instant!r} is not an ISO 8601 instant: {error}") from None
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1) * 1000
