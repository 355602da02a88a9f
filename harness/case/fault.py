"""A fault that a case injects between the agent and a tool, to see whether the agent recovers.

A fault is an overlay: no recording is changed by it, and none is made of it.
"""

from typing import Literal

from pydantic import Field, model_validator

from harness.values import Frozen

FaultKind = Literal[
    "latency",
    "timeout",
    "http_status",
    "malformed",
    "empty",
    "missing_field",
    "renamed_field",
    "reset",
    "slow_stream",
]
"""`timeout`, `http_status` and `reset` keep the call from the tool; the others change or delay its answer."""

UNREACHED: frozenset[FaultKind] = frozenset({"timeout", "http_status", "reset"})
"""Faults after which the same call may be made again: the tool never saw it."""

_NEEDED: dict[FaultKind, tuple[str, ...]] = {
    "http_status": ("status",),
    "missing_field": ("field",),
    "renamed_field": ("field", "to"),
    "latency": ("seconds",),
    "slow_stream": ("seconds",),
}


class FaultSpec(Frozen):
    """When it strikes (`call` or `probability`), and what it does.

    Calls are counted per tool, from 1, and only those that are valid and allowed; a call that a fault struck counts.
    The harness's own probes are never struck.
    """

    tool: str
    """Name of a tool, or `*`: any of them, counted together."""
    kind: FaultKind
    """What happens to the call or to its answer."""
    call: int | None = Field(default=None, ge=1)
    """The n-th call is struck."""
    times: int = Field(default=1, ge=1)
    """So many calls in a row, beginning with `call`."""
    probability: float | None = Field(default=None, gt=0, le=1)
    """Each call is struck with this probability, by `seed`: the same calls in every trial."""
    seed: int = 0
    """Of `probability`."""
    status: int | None = Field(default=None, ge=400, le=599)
    """HTTP status of a fault of kind `http_status`."""
    retry_after_s: int | None = Field(default=None, ge=0)
    """The value of the `Retry-After` header; a 429 has 1 where none is set."""
    seconds: float = Field(default=0.0, ge=0, le=3600)
    """How long a latency, a timeout or a slow stream takes."""
    field: str | None = Field(default=None, pattern=r"^(/[^/]*)+$")
    """JSON pointer into the tool's answer; `*` matches every item of a list."""
    to: str | None = None
    """The new name of a renamed field."""

    @model_validator(mode="after")
    def _is_whole(self) -> "FaultSpec":
        if (self.call is None) == (self.probability is None):
            raise ValueError("a fault has exactly one of `call` and `probability`")
        needed = set(_NEEDED.get(self.kind, ()))
        for name in ("status", "field", "to", "seconds"):
            if (name in needed) and getattr(self, name) in {None, 0.0}:
                raise ValueError(f"a fault of kind {self.kind} needs `{name}`")
            if name not in needed and name != "seconds" and getattr(self, name) is not None:
                raise ValueError(f"`{name}` says nothing for a fault of kind {self.kind}")
        return self

    @property
    def words(self) -> str:
        """The fault in a report's words."""
        when = f"call {self.call}" if self.call is not None else f"with probability {self.probability:g}"
        what = f"{self.kind} {self.status}" if self.status is not None else self.kind
        return f"{what} at {self.tool}, {when}"
