"""A conversation: the user's first message, and the user's messages in reply to the agent."""

from pydantic import Field, field_validator, model_validator

from harness.case.conversation.persona import Persona
from harness.validation import check_expression
from harness.values import Frozen


class When(Frozen):
    """A condition on the agent's last reply and on its actions; all given parts must hold."""

    contains: str | tuple[str, ...] = ()
    """Texts that the last reply must all contain, in upper or lower case."""
    lacks: str | tuple[str, ...] = ()
    """Texts of which the last reply must contain none."""
    regex: str | None = None
    """Found somewhere in the last reply; upper and lower case are one."""
    called: str | tuple[str, ...] = ()
    """Tools that have been called without an error so far."""
    not_called: str | tuple[str, ...] = ()
    """Tools that have not been called without an error so far."""

    @field_validator("regex")
    @classmethod
    def _compiles(cls, value: str | None) -> str | None:
        if value is not None:
            check_expression(value)
        return value


class UserTurn(Frozen):
    """A message that the user may send once; without `say`, the turn only ends the conversation."""

    when: When | None = None
    """None: at any time."""
    say: str | None = Field(default=None, min_length=1)
    """The user's message."""
    optional: bool = False
    """Marks a turn that need not occur; the report does not mention it where it was not sent."""
    end: bool = False
    """Marks the user's last message."""

    @model_validator(mode="after")
    def _does_something(self) -> "UserTurn":
        if self.say is None and not self.end:
            raise ValueError("a turn needs `say`, or `end: true`")
        return self


class Conversation(Frozen):
    """A scripted user. After each reply, the user sends the first unused turn whose condition holds; without one, the
    conversation ends.
    """

    opening: str | None = Field(default=None, min_length=1)
    """The first message; it replaces the case's `task`."""
    turns: tuple[UserTurn, ...] = ()
    """The messages that the user may send after the opening."""
    max_turns: int = Field(default=20, ge=1, le=1000)
    """Messages of the user at most, the opening included."""
    plan: str | None = None
    """What a simulated user pursues; a scripted user does not follow it, and reports that."""
    persona: str | Persona | None = None
    """Who pursues the plan: `EXPERT`, `NOVICE`, `EVALUATOR`, a file of `personas/`, or a persona in full."""
