"""Which sub-agents a turn of the conversation should reach."""

from pydantic import Field, model_validator

from harness.values import Frozen


class Route(Frozen):
    """The sub-agents that should act in the turns that it names: by number, or by what the user says in them."""

    agents: tuple[str, ...]
    """Names of sub-agents; the order does not matter. Empty: the main agent answers by itself."""
    turn: int | None = Field(default=None, ge=1)
    """Number of the user's message, from 1."""
    says: str | None = Field(default=None, min_length=1)
    """A text within the user's message, in upper or lower case."""

    @model_validator(mode="after")
    def _names_turns(self) -> "Route":
        if (self.turn is None) == (self.says is None):
            raise ValueError("a route needs exactly one of `turn` and `says`")
        return self

    def fits(self, turn: int, message: str) -> bool:
        """Whether the user's message of that number is meant."""
        return turn == self.turn or (self.says is not None and self.says.casefold() in message.casefold())
