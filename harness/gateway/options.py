"""The options of a gateway besides its suite and its mode."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from harness.case import ModelMode
from harness.gateway.contract import ServiceOpener
from harness.gateway.user import UserSource
from harness.trace import Tracing
from harness.upstream import Budget, RateLimiter


class GatewayOptions(TypedDict, total=False):
    """Each has a default."""

    secrets: Mapping[str, str]
    """Secret name -> value: never stored, and filled into the servers' headers."""
    services: ServiceOpener | None
    tracing: Tracing | None
    """The tracer provider of the trials and its additional span processors; None stores spans without
    exporting them.
    """
    refresh: bool
    """In `record` mode, an answer that differs replaces the recorded one."""
    lenient: bool
    """In `replay` mode, a call that was not recorded in this state is answered as at an earlier one."""
    live_cassettes: Path | None
    """The folder for answers of `live` tools, with one cassette per trial; None stores none."""
    model_mode: ModelMode | None
    """None selects the suite's setting."""
    budget: Budget | None
    """What the run may spend."""
    users: UserSource | None
    """Opens the users of the trials; None: the scripts of the cases."""
    limiter: RateLimiter
    """Enforces the rate limits of live calls, also over other gateways with the same limiter."""
