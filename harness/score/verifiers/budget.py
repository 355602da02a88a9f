"""Checks that the trial stayed within its budget."""

from typing import ClassVar

from pydantic import Field

from harness.score.evidence import Evidence
from harness.score.metrics.consumption import Tokens
from harness.values import Frozen, JsonObject


class MaxTokens(Frozen):
    """Input and output tokens of all model replies, at most `limit` or the case's `limits.tokens`.

    The gateway's counts are used: where a reply did not report its tokens, they are estimated from its length, and a
    trial without model replies used none. For an imported trial, only the reported tokens are known. Without a limit,
    or where an imported trial reports none, the check is undecided.
    """

    version: ClassVar[str] = "2"

    limit: int | None = Field(default=None, gt=0)
    """The most tokens that pass; None: the case's `limits.tokens`."""

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        limit = evidence.case.limits.tokens if self.limit is None else self.limit
        used, why = _tokens(evidence)
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
    """The most decisions that pass; None: the case's `limits.steps`."""

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        limit = evidence.case.limits.steps if self.limit is None else self.limit
        steps = [step for step in evidence.trial.trajectory.steps if step.source == "agent"]
        made = sum(bool(step.calls) or step.message is not None or step.model is not None for step in steps)
        return made <= limit, f"{made} of {limit} iterations", {"iterations": made}


def _tokens(evidence: Evidence) -> tuple[float | None, str]:
    """The gateway's count, else the count from the trajectory."""
    trial = evidence.trial
    if trial.model_use is not None:
        return float(trial.model_use.input_tokens + trial.model_use.output_tokens), "as the gateway counted"
    used, why = Tokens().measure(evidence)
    if used is None and trial.exit is not None:  # we ran it, and no model replied
        return 0.0, "no model replied"
    return used, why
