"""The user that an agent talks to: the interface, and the scripted user."""

import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol

from harness.gateway.budgets import Waits
from harness.gateway.upstream.transport import TrialThreads
from harness.suite.cases import Case
from harness.suite.conversations import Conversation, UserTurn, When
from harness.suite.expressions import finds
from harness.suite.tools import Effect
from harness.traces.trial import UserReport
from harness.values import Frozen, JsonObject

Cut = Literal["turn_limit", "agent_left"]
"""Why no further message of the user was requested: `max_turns` were sent, or the agent has ended."""


class HeardCall(Frozen):
    """A tool call of the agent as its user hears of it, in a trial or in a log."""

    name: str
    arguments: JsonObject | None = {}
    """None if they were not a JSON object."""
    effect: Effect = "write"
    """`read` or `write`. What is not declared counts as a write."""
    failed: bool = False
    """Whether the tool refused or failed."""


@dataclass(frozen=True, kw_only=True)
class Heard:
    """The information that a user has before their next message."""

    said: tuple[str, ...]
    """Their own messages so far, the opening first."""
    replies: tuple[str, ...]
    """The agent's replies so far; at least one."""
    called: frozenset[str] = frozenset()
    """Tools that the agent has called without an error; empty for a user that does not see calls."""
    rounds: tuple[tuple[str, ...], ...] = ()
    """The replies after each of the user's messages; often one."""
    calls: tuple[tuple[HeardCall, ...], ...] = ()
    """The calls after each of the user's messages; empty for a user that does not see calls."""


class User(Protocol):
    """The user whom the agent serves."""

    @property
    def sees_calls(self) -> bool:
        """Whether `Heard` contains the agent's calls: true only for users that compare them and cannot repeat them."""
        ...

    async def reply(self, heard: Heard) -> str | None:
        """The next message; None if there is nothing more to say, now and later.

        Raises OutOfBudget if a model's budget is spent. Other problems are part of `report`.
        """
        ...

    def unsaid(self) -> tuple[str, ...]:
        """Messages that this user would have sent but did not, for the report."""
        ...

    def report(self, heard: Heard, cut: Cut | None) -> UserReport | None:
        """How the conversation went, requested once at its end; `heard` is the whole of it, `replies` may be empty.

        None: nothing to report. `cut`: why no further message was requested; None: the user ended the conversation.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class UserContext:
    """One trial, as its user sees it."""

    trial_id: str
    case: Case
    attempt: int
    miss: Callable[[JsonObject], None]
    """Reports a request of the user that no recording answers: it makes the trial inconclusive, as a tool's miss
    does.
    """
    waits: Waits
    """A context that is entered while an answer from another machine is awaited."""
    closing: ExitStack
    """Closed after the trial."""


class UserSource(Protocol):
    """Opens the users of a run's trials; everything but `open` and `close` runs on the gateway's own thread."""

    def open(self, seat: UserContext) -> User | None:
        """The user of one trial; None: the script of its case. Raises UsageError if this user cannot take part."""
        ...

    def may_wait(self, case: Case) -> bool:
        """Whether the user of a case may take noticeable time to answer; False for a script, and for recordings."""
        ...

    async def close(self) -> None:
        """Ends the connections of all users; awaited on the gateway's own thread."""
        ...


class ScriptedUser:
    """Sends the turns of a conversation when their conditions become true, each at most once."""

    sees_calls = True

    def __init__(self, conversation: Conversation, threads: TrialThreads) -> None:
        self._threads = threads
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
        if not any(turn.when is not None and turn.when.regex is not None for turn in self._turns):
            return self._next(heard)
        return await self._threads.run("user", partial(self._next, heard))

    def _next(self, heard: Heard) -> int | None:
        return next((place for place in self._left if self._condition_holds(place, heard)), None)

    def unsaid(self) -> tuple[str, ...]:
        """Turns whose condition never held during the conversation; the plan, if it has no turns."""
        turns = (self._turns[place] for place in self._left)
        left = [_turn_text(turn) for turn in turns if turn.say is not None]
        if self._plan is not None and not self._turns:
            left.append(f"the plan, which needs a user who is not a script: {self._plan}")
        return tuple(left)

    def report(self, heard: Heard, cut: Cut | None) -> UserReport | None:
        return UserReport(kind="script", ended=cut or "script_over", turns=len(heard.said))

    def _condition_holds(self, place: int, heard: Heard) -> bool:
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
    """Checks all conditions but the expression."""
    folded = heard.replies[-1].casefold()
    return all(
        (
            all(text.casefold() in folded for text in _several(when.contains)),
            set(_several(when.called)) <= heard.called,
            not set(_several(when.not_called)) & heard.called,
        )
    )


def _several(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value


def _turn_text(turn: UserTurn) -> str:
    if turn.when is None:
        return f"{turn.say}"
    return f"{turn.say} (when {turn.when.model_dump(exclude_defaults=True)})"
