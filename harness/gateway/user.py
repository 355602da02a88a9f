"""The user that an agent talks to: the seam, and the scripted user."""

import asyncio
import re
from dataclasses import dataclass
from typing import Protocol

from harness.case import Conversation, UserTurn, When
from harness.validation import finds, is_quick


@dataclass(frozen=True, kw_only=True)
class Heard:
    """The information that a user has before their next message."""

    said: tuple[str, ...]
    """Their own messages so far, the opening first."""
    replies: tuple[str, ...]
    """The agent's replies so far; at least one."""
    called: frozenset[str]
    """Tools that the agent has called without an error."""


class User(Protocol):
    """The user whom the agent serves."""

    async def reply(self, heard: Heard) -> str | None:
        """The next message; None where there is nothing more to say, now and later."""
        ...

    def unsaid(self) -> tuple[str, ...]:
        """Messages that this user would have sent but did not, for the report."""
        ...


class ScriptedUser:
    """Sends the turns of a conversation when their conditions become true, each at most once."""

    def __init__(self, conversation: Conversation) -> None:
        self._turns = conversation.turns
        self._left = list(range(len(conversation.turns)))
        self._plan = conversation.plan
        self._over = False

    async def reply(self, heard: Heard) -> str | None:
        place = None if self._over else await self._found(heard)
        if place is None:
            self._over = True
            return None
        self._left.remove(place)
        self._over = self._turns[place].end
        return self._turns[place].say

    async def _found(self, heard: Heard) -> int | None:
        """The turn to send now. While an expression is evaluated, the gateway serves the other trials."""
        expressions = [when.regex for turn in self._turns if (when := turn.when) is not None and when.regex is not None]
        if all(is_quick(expression, len(heard.replies[-1])) for expression in expressions):
            return self._next(heard)
        return await asyncio.to_thread(self._next, heard)

    def _next(self, heard: Heard) -> int | None:
        return next((place for place in self._left if self._holds(place, heard)), None)

    def unsaid(self) -> tuple[str, ...]:
        """Turns whose condition never held during the conversation, and a plan that a script cannot follow."""
        turns = (self._turns[place] for place in self._left)
        left = [_words(turn) for turn in turns if turn.say is not None and not turn.optional]
        if self._plan is not None:
            left.append(f"the plan, which needs a user who is no script: {self._plan}")
        return tuple(left)

    def _holds(self, place: int, heard: Heard) -> bool:
        when = self._turns[place].when
        if when is None:
            return True
        return _holds_plainly(when, heard) and (
            when.regex is None
            or finds(
                when.regex, heard.replies[-1], field=f"conversation.turns[{place}].when.regex", flags=re.IGNORECASE
            )
        )


def _holds_plainly(when: When, heard: Heard) -> bool:
    """Everything but the expression."""
    folded = heard.replies[-1].casefold()
    return all(
        (
            all(text.casefold() in folded for text in _several(when.contains)),
            not any(text.casefold() in folded for text in _several(when.lacks)),
            set(_several(when.called)) <= heard.called,
            not set(_several(when.not_called)) & heard.called,
        )
    )


def _several(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value


def _words(turn: UserTurn) -> str:
    if turn.when is None:
        return f"{turn.say}"
    return f"{turn.say} (when {turn.when.model_dump(exclude_defaults=True)})"
