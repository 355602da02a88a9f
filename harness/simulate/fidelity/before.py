"""What was said before a message of a simulated user."""

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, kw_only=True)
class Before:
    """What was said before a message of the user."""

    own: tuple[str, ...]
    """The user's messages."""
    replies: tuple[str, ...]
    """The agent's, the last one directly before the message."""

    @cached_property
    def last(self) -> str:
        return self.replies[-1] if self.replies else ""
