"""A conversation: what the user says first, and what they say to what the agent answers."""

from pydantic import Field, field_validator, model_validator

from harness.validation import check_expression
from harness.values import Frozen


class When(Frozen):
    """A condition on the agent's last reply and on what it has done; everything that is given must hold."""

    contains: str | tuple[str, ...] = ()
    """Texts that all stand in the last reply, in upper or lower case."""
    lacks: str | tuple[str, ...] = ()
    """Texts of which none stands in the last reply."""
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
    """Something that the user may say once; without `say` it only ends the conversation."""

    when: When | None = None
    """None: at any time."""
    say: str | None = Field(default=None, min_length=1)
    """The user's message."""
    optional: bool = False
    """Nothing is missing where it is never said; the report does not mention it."""
    end: bool = False
    """The user has nothing more to say after this."""

    @model_validator(mode="after")
    def _does_something(self) -> "UserTurn":
        if self.say is None and not self.end:
            raise ValueError("a turn needs `say`, or `end: true`")
        return self


class Conversation(Frozen):
    """A scripted user. After each reply the first turn not yet said whose condition holds is said; none: it is over."""

    opening: str | None = Field(default=None, min_length=1)
    """The first message; stands for the case's `task`."""
    turns: tuple[UserTurn, ...] = ()
    """What the user may say after the opening."""
    max_turns: int = Field(default=20, ge=1, le=1000)
    """Messages of the user at most, the opening included."""
    plan: str | None = None
    """What a user who is no script is to do, in words; a scripted user does not follow it, and says so."""
