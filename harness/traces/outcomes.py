"""Every way in which a trial or a check leaves a denominator, and who can cause it.

The outcome of a trial, whether it is tried again, and what a gate makes of it are read from this table; `reference:
outcomes` is made of it.
"""

from enum import StrEnum
from typing import Literal, Self

Outcome = Literal["finished", "limit_reached", "agent_failed", "inconclusive", "simulator_failed", "harness_failed"]
"""`inconclusive` (a replay miss), `simulator_failed` (the simulated user invalidated the conversation) and
`harness_failed` are "not measured": they are excluded from all denominators.
"""

MEASURED: frozenset[Outcome] = frozenset({"finished", "limit_reached", "agent_failed"})


class Cause(StrEnum):
    """Why a trial did not finish, or is not measured whole: outcome, and who can cause it, `user` being the simulated
    one. Without an outcome: what happens beside the trials that were run.
    """

    outcome: Outcome | None
    by: str

    def __new__(cls, name: str, outcome: Outcome | None, by: str) -> Self:
        """A member, with its columns of the table."""
        member = str.__new__(cls, name)
        member._value_, member.outcome, member.by = name, outcome, by
        return member

    STEERED_USER = "steered_user", "agent_failed", "agent"
    """The agent tried to steer the simulated user."""
    MANY_MISSES = "many_misses", "limit_reached", "agent"
    """More replay misses than `limits.misses` of the case allows."""
    LIMIT = "limit", "limit_reached", "agent"
    """Time, steps, tokens or cost are used up."""
    CRASH = "crash", "agent_failed", "agent"
    """An exit status or a signal; also if the agent ends so because its provider refused what it asked for (a model
    that it chose, a request that is too large or malformed), or failed at it and answers others."""
    UNREADABLE = "unreadable", "agent_failed", "agent"
    """What the agent sent or left cannot be read; every check fails."""
    MEMORY = "memory", "agent_failed", "agent"
    """The sandbox was lost, and its memory limit was reached; every check fails."""
    REPLAY_MISS = "replay_miss", "inconclusive", "agent, suite"
    """No recording answers a call, a model request or a message of a user's model."""
    USER_DIVERGED = "user_diverged", "inconclusive", "agent, suite"
    """The agent left the log of its user, and no model plays on."""
    INVALID_USER = "invalid_user", "simulator_failed", "user"
    """The simulated user's model gave no message that the checks accept, with the agent's words or without them, or its
    answers took the time limit."""
    MISLED_USER = "misled_user", "simulator_failed", "agent, user"
    """The simulated user's model gave no message that the checks accept after the agent's words, and gave one without
    them."""
    MODEL_OUTAGE = "model_outage", "harness_failed", "provider"
    """A model gave no answer or 5xx to the last request of the agent, and to plain requests of the harness."""
    RATE_LIMIT = "rate_limit", "harness_failed", "agent, provider"
    """A model answered 429 to the last request of the agent, and to plain requests of the harness after it."""
    NO_MODEL_ANSWERED = "no_model_answered", "harness_failed", "agent, provider, suite"
    """The provider refused every request of the whole run, as with 401 or 404. The run stops early."""
    TOOL_OUTAGE = "tool_outage", "harness_failed", "agent, tool"
    """A tool server or host outside gave no answer, 429 or 5xx to the last call, and to a plain request of the
    harness."""
    BROKEN_OFF = "broken_off", "harness_failed", "agent, tool, machine"
    """The gateway, a service or the sandbox failed after the agent had begun."""
    MACHINE = "machine", "harness_failed", "machine"
    """A failure before the agent had begun, or the container engine ended the sandbox or does not answer."""
    UNMEASURABLE = "unmeasurable", None, "agent"
    """A check cannot be made of what the agent left: too large, too deep, out of time. The check fails."""
    UNDECIDED = "undecided", None, "agent, tool, suite"
    """A check raises or cannot tell, a probe's service is not there: success is unknown."""
    NOT_RUN = "not_run", None, "agent, person"
    """The run's budget is spent, or the run was stopped."""
    NO_VALUE = "no_value", None, "agent, tool"
    """A metric other than success does not apply, or cannot be told: it is left out of its mean, which says of how many
    it is known. Gate on success too."""

    @property
    def is_tried_again(self) -> bool:
        """Whether the trial is run once more at once: only if no agent can cause it, nor a provider's outage, which
        was waited for.
        """
        return self.by == "machine"

    @property
    def counts_as_failed(self) -> bool:
        """Whether a gate that allows it counts it as failed: an agent can cause it, and must gain nothing."""
        return self.outcome not in MEASURED and "agent" in self.by
