"""The reward that a foreign run's own file gave it."""

from typing import ClassVar

from pydantic import Field

from harness.score.evidence import Evidence
from harness.values import Frozen, JsonObject

REWARD = "reward"
"""Name of the state that holds it."""


class Reward(Frozen):
    """The imported reward is at least `at_least`. Without a reward in the file the check is undecided."""

    version: ClassVar[str] = "1"

    at_least: float = Field(default=1.0, allow_inf_nan=False)
    """The smallest imported reward that passes."""

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        reward = evidence.trial.states.get(REWARD)
        if isinstance(reward, bool) or not isinstance(reward, int | float):
            return None, "the imported file gave no reward", {}
        return reward >= self.at_least, f"the imported reward is {reward:g}", {"reward": reward}
