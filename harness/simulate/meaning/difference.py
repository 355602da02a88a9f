"""What differs between two turns of an agent."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class MeaningDifference:
    """The first thing that is not the same."""

    kind: Literal["calls", "slots", "act", "meaning"]
    reason: str
    of_wording: bool = False
    """Whether only words or the form of a sentence differ, so that a model may find that the meaning does not."""
