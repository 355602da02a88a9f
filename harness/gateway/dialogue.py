"""The user's side of a trial: the next message, and the time at which it is chosen."""

import asyncio
import time
from collections.abc import Callable
from itertools import pairwise

from harness.case import Case
from harness.gateway.ledger import Ledger
from harness.gateway.user import Cut, Heard, ScriptedUser, User
from harness.trace import UserReport


class Dialogue:
    """The messages of one trial's user; belongs to the gateway's own thread.

    A message after the first is decided when the agent has replied to the one before: until then `/turn` waits.
    """

    def __init__(self, case: Case, ledger: Ledger, user: User | None = None) -> None:
        """`ledger` holds the agent's calls, which are passed to users that may see them. `user`: None selects the
        case's script.
        """
        conversation = case.conversation
        self._opening = case.task
        self._user = user or (None if conversation is None else ScriptedUser(conversation))
        self._most = 1 if conversation is None else conversation.max_turns
        if user is not None and conversation is None:
            self._most = MAX_TURNS
        self._ledger = ledger
        self._messages: list[str] = []
        self._rounds: list[list[str]] = []
        self._called_before: list[int] = []
        self._turn = asyncio.Lock()
        self._replied = asyncio.Event()
        self._over = False
        self._ended_by_user = False
        self._waited_s = 0.0
        self._waits_since: float | None = None

    async def next(self, gone: Callable[[], bool]) -> str | None:
        """The user's next message; None where the conversation is over. `gone` returns whether the client has stopped
        waiting.
        """
        async with self._turn:
            if not self._messages:
                return self._say(self._opening)
            if self._user is None or len(self._messages) >= self._most:
                self._over = True
            if not self._over:
                await self._replied.wait()
            if self._over or gone() or self._user is None:
                return None
            self._replied.clear()
            message = await self._next_message(self._user)
            self._over = self._ended_by_user = message is None
            return None if message is None else self._say(message)

    async def _next_message(self, user: User) -> str | None:
        self._waits_since = began = time.monotonic()
        try:
            return await user.reply(self._heard_so_far(user))
        finally:
            self._waits_since = None
            self._waited_s += time.monotonic() - began

    @property
    def waited_s(self) -> float:
        """Seconds that the agent has waited for the user so far; may be read from any thread."""
        since, over = self._waits_since, self._waited_s
        return over if since is None else over + time.monotonic() - since

    def hear(self, reply: str) -> None:
        """Notes a message of the agent."""
        if not self._rounds:  # the agent speaks before it has asked for the opening
            self._rounds.append([])
            self._called_before.append(0)
        self._rounds[-1].append(reply)
        self._replied.set()

    def close(self) -> None:
        """Releases all waiting requests."""
        self._over = True
        self._replied.set()

    def unsaid(self) -> tuple[str, ...]:
        """See User.unsaid."""
        return () if self._user is None else self._user.unsaid()

    def report(self) -> UserReport | None:
        """See User.report; None where the trial has a task but no user."""
        if self._user is None:
            return None
        cut: Cut | None = None
        if not self._ended_by_user:
            cut = "turn_limit" if len(self._messages) >= self._most else "agent_left"
        report = self._user.report(self._heard_so_far(self._user), cut)
        return None if report is None else report.model_copy(update={"waited_s": round(self._waited_s, 3)})

    def _heard_so_far(self, user: User) -> Heard:
        sees, calls = user.sees_calls, self._ledger.heard_calls
        starts = [*self._called_before, len(calls)]
        return Heard(
            said=tuple(self._messages),
            replies=tuple(reply for replies in self._rounds for reply in replies),
            called=frozenset(self._ledger.answered) if sees else frozenset(),
            rounds=tuple(map(tuple, self._rounds)),
            calls=tuple(tuple(calls[a:b]) for a, b in pairwise(starts)) if sees else (),
        )

    def _say(self, message: str) -> str:
        if self._messages or not self._rounds:
            self._rounds.append([])
            self._called_before.append(len(self._ledger.heard_calls) if self._messages else 0)
        self._messages.append(message)
        return message


MAX_TURNS = 20
"""Used for a case without a conversation whose user was selected on the command line."""
