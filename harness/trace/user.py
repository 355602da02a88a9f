"""The report of a trial's user: how the conversation ended, what was replayed, and the user's faults."""

from typing import Literal

from harness.values import Frozen

UserEnding = Literal[
    "goal_reached", "gave_up", "turn_limit", "script_over", "agent_left", "replay_miss", "simulator_failed"
]
"""`goal_reached`, `gave_up`: the user's own decision. `turn_limit`: `max_turns` messages were sent. `script_over`: a
script or a log has no further turn. `agent_left`: the agent ended, or requested no further message. `replay_miss`: no
recording contains the user's answer. `simulator_failed`: the user itself failed."""

FaultClass = Literal[
    "unknowable",
    "revealed_early",
    "contradiction",
    "repetition",
    "speaks_as_agent",
    "ends_too_early",
    "never_ends",
    "other_language",
    "no_message",
    "tool_call",
    "too_long",
    "out_of_role",
]
"""What a simulated user can do wrong. `unknowable`: says what it could not know. `revealed_early`: says what the plan
withholds before it was asked. `contradiction`: of the plan, the profile or itself. `out_of_role`: shows its
instructions, or speaks of the conversation as a test."""


class UserFault(Frozen):
    """One mistake of a simulated user."""

    turn: int
    """Number of the user's message, from 1 for the opening; that of the missing one where there was none."""
    fault: FaultClass
    reason: str
    """The expected and the actual message."""
    excused: bool = False
    """Whether the agent's own words may have caused it, so that it does not invalidate the conversation."""


class Divergence(Frozen):
    """The point at which a logged conversation no longer matched."""

    turn: int
    """Number of the first message of the user that is not the log's, from 1 for the opening."""
    kind: Literal["calls", "slots", "act", "meaning", "log_over"]
    """What differed first: the calls; items, quantities, prices, dates, ids; statement, question, yes or no; the rest
    of the meaning; or nothing, where the log has no further turn."""
    reason: str
    """The log's content and the agent's action."""


class UserReport(Frozen):
    """The user of one trial."""

    kind: str
    """`script`, `model`, `logged`, or the name of an installed user."""
    ended: UserEnding
    reason: str | None = None
    """The reason for the end."""
    turns: int
    """Messages of the user, including the opening."""
    persona: str | None = None
    model: str | None = None
    """The model that played the user; None: no model did."""
    replayed: int | None = None
    """Messages after the opening that were the log's own; None: no log was used."""
    entailed: int = 0
    """Of these, messages before which the model of `entailment:` found that the agent's other words mean the same."""
    generated: int | None = None
    """Messages after the opening that a model wrote; None where there is no model."""
    divergence: Divergence | None = None
    """None: every message was the log's, or no log was used."""
    faults: tuple[UserFault, ...] = ()
    """The user's faults by the rules; one of them makes the trial `simulator_failed`, unless the agent caused it.
    """
    left_out: tuple[UserFault, ...] = ()
    """Messages that were written without the agent's words, since the user's model failed on them and on nothing else:
    the conversation went on and counts.
    """
    steered: tuple[str, ...] = ()
    """The agent's attempts to steer the user, by turn: such a trial counts, as failed."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """The cost of the user's model; None where no price is known."""
    waited_s: float = 0.0
    """Seconds that the agent waited for the user."""

    @property
    def invalid(self) -> UserFault | None:
        """The first fault that invalidates the conversation; None where it is valid, or the agent caused it."""
        return None if self.steered else next((one for one in self.faults if not one.excused), None)
