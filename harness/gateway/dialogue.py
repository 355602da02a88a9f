"""The user's side of a trial: the next message, and the time at which it is chosen."""

import asyncio
from collections.abc import Callable, Collection

from harness.case import Case
from harness.gateway.user import Heard, ScriptedUser, User


class Dialogue:
    """The messages of one trial's user; belongs to the gateway's own thread.

    A message after the first is decided when the agent has replied to the one before: until then `/turn` waits.
    """

    def __init__(self, case: Case, called: Collection[str], user: User | None = None) -> None:
        """`called` holds the tools that were called without an error; it is read when the user's next message is
        requested.
        """
        conversation = case.conversation
        self._opening = case.task
        self._user = user or (None if conversation is None else ScriptedUser(conversation))
        self._most = 1 if conversation is None else conversation.max_turns
        self._called = called
        self._said: list[str] = []
        self._replies: list[str] = []
        self._turn = asyncio.Lock()
        self._replied = asyncio.Event()
        self._over = False

    async def next(self, gone: Callable[[], bool]) -> str | None:
        """The user's next message; None where the conversation is over. `gone` returns whether the client has stopped
        waiting.
        """
        async with self._turn:
            if not self._said:
                return self._say(self._opening)
            if self._user is None or len(self._said) >= self._most:
                self._over = True
            if not self._over:
                await self._replied.wait()
            if self._over or gone() or self._user is None:
                return None
            self._replied.clear()
            heard = Heard(said=tuple(self._said), replies=tuple(self._replies), called=frozenset(self._called))
            message = await self._user.reply(heard)
            self._over = message is None
            return None if message is None else self._say(message)

    def hear(self, reply: str) -> None:
        """Notes a message of the agent."""
        self._replies.append(reply)
        self._replied.set()

    def close(self) -> None:
        """Releases all waiting requests."""
        self._over = True
        self._replied.set()

    def unsaid(self) -> tuple[str, ...]:
        """See User.unsaid."""
        return () if self._user is None else self._user.unsaid()

    def _say(self, message: str) -> str:
        self._said.append(message)
        return message
