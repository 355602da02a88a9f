"""What brings a live server back to a known state before each trial."""

from typing import Literal

from pydantic import Field, model_validator

from harness.values import Frozen, JsonValue


class Reset(Frozen):
    """A request to the server (`path`), or a program that is run on this machine (`command`); exactly one of them.

    Trials of a suite that resets a server run one after the other: a reset would change the server under the others.
    """

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "POST"
    """Of the request."""
    path: str | None = Field(default=None, pattern="^/")
    """Put behind the server's `base_url`; the server's `headers` are sent. A status below 300 counts as done; a
    redirect, which is not followed, does not."""
    body: JsonValue = None
    """Sent as JSON; None: no body."""
    command: tuple[str, ...] = ()
    """Run in the suite's folder with PATH, HOME and the locale of this environment; status 0 counts as done."""
    timeout_s: float = Field(default=60.0, gt=0)
    """Seconds within which it must be done."""

    @model_validator(mode="after")
    def _one_way(self) -> "Reset":
        if (self.path is None) == (not self.command):
            raise ValueError("needs exactly one of `path` (a request) and `command` (a program)")
        return self
