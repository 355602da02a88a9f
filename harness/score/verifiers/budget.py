"""The trial kept within what it may use up."""

from typing import ClassVar

from pydantic import Field

from harness.frozen import Frozen, JsonObject
from harness.score.metrics.consumption import Tokens
from harness.score.values import Evidence


class MaxTokens(Frozen):
    """Input and output tokens of all model replies, at most `limit` or the case's `limits.tokens`.

    Without a limit, or where no reply told its tokens, it cannot tell.
    """

    version: ClassVar[str] = "1"

    limit: int | None = Field(default=None, gt=0)

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        limit = evidence.case.limits.tokens if self.limit is None else self.limit
        used, why = Tokens().measure(evidence)
        if limit is None:
            return None, "neither the check nor the case has a limit of tokens", {}
        if used is None:
            return None, why, {}
        return used <= limit, f"{used:.0f} of {limit} tokens", {"tokens": used}


class MaxIterations(Frozen):
    """Decisions of the agent, at most `limit` or the case's `limits.steps`.

    A decision is a model's reply with all its parallel calls; where no model is seen, a call or a reply to the user.
    """

    version: ClassVar[str] = "1"

    limit: int | None = Field(default=None, gt=0)

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        limit = evidence.case.limits.steps if self.limit is None else self.limit
        steps = [step for step in evidence.trial.trajectory.steps if step.source == "agent"]
        made = sum(bool(step.calls) or step.message is not None or step.model is not None for step in steps)
        return made <= limit, f"{made} of {limit} iterations", {"iterations": made}
