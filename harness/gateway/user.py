"""The user that an agent talks with: the seam, and the user who follows a script."""

import re
from dataclasses import dataclass
from typing import Protocol

from harness.case import Conversation, UserTurn, When


@dataclass(frozen=True, kw_only=True)
class Heard:
    """What a user knows when it is their turn."""

    said: tuple[str, ...]
    """Their own messages so far, the opening first."""
    replies: tuple[str, ...]
    """The agent's replies so far; at least one."""
    called: frozenset[str]
    """Tools that the agent has called without an error."""


class User(Protocol):
    """Somebody whom the agent serves."""

    async def reply(self, heard: Heard) -> str | None:
        """The next message; None: nothing more to say, now and later."""
        ...

    def unsaid(self) -> tuple[str, ...]:
        """What this user would have said and never came to say, for the report."""
        ...


class ScriptedUser:
    """Says the turns of a conversation as their conditions come true, each at most once."""

    def __init__(self, conversation: Conversation) -> None:
        self._left = list(conversation.turns)
        self._plan = conversation.plan
        self._over = False

    async def reply(self, heard: Heard) -> str | None:
        turn = None if self._over else next((one for one in self._left if _holds(one.when, heard)), None)
        if turn is None:
            self._over = True
            return None
        self._left.remove(turn)
        self._over = turn.end
        return turn.say

    def unsaid(self) -> tuple[str, ...]:
        """Turns whose condition never held while the conversation went on; and a plan that no script can follow."""
        left = [_words(turn) for turn in self._left if turn.say is not None and not turn.optional]
        if self._plan is not None:
            left.append(f"the plan, which needs a user who is no script: {self._plan}")
        return tuple(left)


def _holds(when: When | None, heard: Heard) -> bool:
    if when is None:
        return True
    reply = heard.replies[-1]
    folded = reply.casefold()
    return all(
        (
            all(text.casefold() in folded for text in _several(when.contains)),
            not any(text.casefold() in folded for text in _several(when.lacks)),
            when.regex is None or re.search(when.regex, reply, re.IGNORECASE) is not None,
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
