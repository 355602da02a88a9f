"""The options of a gateway besides its suite and its mode."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from harness.case import ModelMode
from harness.gateway.contract import ServiceOpener
from harness.gateway.user import UserSource
from harness.trace import Tracing
from harness.upstream import Budget, RateLimiter


class GatewayOptions(TypedDict, total=False):
    """Every option has a default."""

    secrets: Mapping[str, str]
    """Secret name -> value: never stored, and filled into the servers' headers."""
    services: ServiceOpener | None
    tracing: Tracing | None
    """The tracer provider of the trials and its additional span processors; None stores spans without
    exporting them.
    """
    refresh: bool
    """In `record` mode, an answer that differs replaces the recorded one."""
    volatile: Mapping[str, Sequence[str]]
    """In `record` mode, tool -> JSON pointers to values that were observed to change by themselves, in addition to what
    the suite declares.
    """
    lenient: bool
    """In `replay` mode, a call that was not recorded in this state gets the answer of an earlier state."""
    live_cassettes: Path | None
    """The folder for answers of `live` tools, with one cassette per trial; None: they are not stored."""
    model_mode: ModelMode | None
    """None selects the suite's setting."""
    budget: Budget | None
    """The run's budget."""
    users: UserSource | None
    """Opens the users of the trials; None: the scripts of the cases."""
    limiter: RateLimiter
    """Enforces the rate limits of live calls, also over other gateways with the same limiter."""
