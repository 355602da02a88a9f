"""Two texts of an agent, compared by slots, acts and words."""

from typing import Literal

Kind = Literal["slots", "act", "meaning"]


def texts_differ(then: str, now: str) -> tuple[Kind, str] | None:
    """What differs first, and in which words; None where both mean the same."""
    if " ".join(then.split()).casefold() == " ".join(now.split()).casefold():
        return None
    return "meaning", f"the log says {then[:100]!r}, the agent {now[:100]!r}"
