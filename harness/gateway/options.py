"""What a gateway may be given beside its suite and its mode."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from harness.case import ModelMode
from harness.gateway.budget import Budget
from harness.gateway.contract import ServiceOpener
from harness.gateway.rate import RateLimiter
from harness.trace import Tracing


class GatewayOptions(TypedDict, total=False):
    """Each has a default."""

    secrets: Mapping[str, str]
    """Secret name -> value: never stored, and filled into the servers' headers."""
    services: ServiceOpener | None
    tracing: Tracing | None
    """What trials' spans are made with, and who else is given them; None: they are stored, and go nowhere else."""
    refresh: bool
    """In `record` mode, an answer that differs replaces the recorded one."""
    lenient: bool
    """In `replay` mode, a call that was not recorded in this state is answered as at an earlier one."""
    live_cassettes: Path | None
    """Where the answers of `live` tools are kept, a cassette a trial; None: nowhere."""
    model_mode: ModelMode | None
    """None: as the suite says."""
    budget: Budget | None
    """What the run may spend."""
    limiter: RateLimiter
    """Keeps live calls within their rate limits, also those of other gateways that are given the same."""
