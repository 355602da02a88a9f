"""How far a trial is that has not ended."""

from harness.values import Frozen


class TrialProgress(Frozen):
    """One trial in flight, as the gateway sees it."""

    case_id: str
    attempt: int
    started_ns: int
    """When it began, in nanoseconds since the epoch."""
    interactions: int
    """Calls, requests and replies that were recorded so far."""
    last: str
    """The name of the last one's span, such as `execute_tool look_up`; "" before the first."""
