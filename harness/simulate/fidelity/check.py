"""The fidelity of one conversation's user by rules: its faults, and the agent's attempts to cause them."""

import re
from collections.abc import Sequence

from harness.gateway import Heard
from harness.simulate.fidelity.before import Before
from harness.simulate.fidelity.message import MessageProblem
from harness.simulate.fidelity.reading_text import plain_words
from harness.simulate.fidelity.repetition import is_about, is_idle, may_have_caused
from harness.simulate.fidelity.rules import RoleRules
from harness.simulate.fidelity.steering import steering_in
from harness.simulate.meaning.sentences import asks, is_open_promise, is_open_question, sentences, transfers
from harness.simulate.role import Role
from harness.trace import FaultClass, UserEnding, UserFault

_IDLE_TURNS = 3
"""Messages in a row that only thank or say goodbye, after which a user should have ended."""


def checked(
    role: Role, heard: Heard, *, ended: UserEnding, generated_from: int = 1
) -> tuple[tuple[UserFault, ...], tuple[str, ...]]:
    """The user's faults, and the agent's attempts to steer it, each in the order of turns.

    `generated_from`: how many messages at the beginning are not the simulator's own.
    """
    rules, faults = RoleRules(role), list[UserFault]()
    for number in range(generated_from, len(heard.said)):
        replies = tuple(reply for one in heard.rounds[:number] for reply in one)
        before = Before(own=heard.said[:number], replies=replies)
        for fault, reason in rules.faults(heard.said[number], before):
            excused = is_excused(fault, before, heard.said[number])
            faults.append(UserFault(turn=number + 1, fault=fault, reason=reason, excused=excused))
    faults += _of_the_end(role, heard, ended, generated_from)
    steered = tuple(
        f"turn {number}: {attempt}"
        for number, replies in enumerate(heard.rounds, start=1)
        for reply in replies
        if (attempt := steering_in(reply)) is not None
    )
    return tuple(faults), steered


def _of_the_end(role: Role, heard: Heard, ended: UserEnding, generated_from: int) -> list[UserFault]:
    rounds = heard.rounds[len(heard.said) - 1 :]
    last = rounds[-1][-1] if rounds and rounds[-1] else ""
    if (
        ended in ("goal_reached", "gave_up")
        and not transfers(last)
        and (is_open_question(last) or is_open_promise(last))
    ):
        reason = f"the user ended although the agent has something open: {last[-100:]!r}"
        return [UserFault(turn=len(heard.said) + 1, fault="ends_too_early", reason=reason)]
    own = heard.said[generated_from:]
    recent = [reply for one in heard.rounds[-_IDLE_TURNS:] for reply in one]
    if ended in ("goal_reached", "gave_up"):
        return []
    goes_on = _endless(role, own, recent, at_limit=ended == "turn_limit")
    return [] if goes_on is None else [UserFault(turn=len(heard.said), fault="never_ends", reason=goes_on)]


def is_excused(fault: FaultClass, before: Before, message: str) -> bool:
    """Whether the agent's reply may have caused a fault by itself: one that ignores a message has it repeated."""
    return fault == "repetition" and may_have_caused(before.last, message)


def endless(role: Role, heard: Heard, message: str, generated_from: int, *, is_last: bool) -> MessageProblem | None:
    """Why a message, with those before it, goes on although nothing is left; None where it does not. `is_last`: no
    further message is allowed.
    """
    recent = [reply for one in heard.rounds[-_IDLE_TURNS:] for reply in one]
    reason = _endless(role, (*heard.said[generated_from:], message), recent, at_limit=is_last)
    if reason is None:
        return None
    note = "Nothing new is said. Go on with what is left of your plan, or write the end signal."
    return MessageProblem(fault="never_ends", reason=reason, note=note)


def _endless(role: Role, own: Sequence[str], recent: Sequence[str], *, at_limit: bool) -> str | None:
    if any(is_open_question(reply) or is_open_promise(reply) for reply in recent):  # an end would not be accepted
        return None
    idle = len(own) - next((place for place in range(len(own), 0, -1) if not is_idle(own[place - 1])), 0)
    if idle >= _IDLE_TURNS:
        return f"the last {idle} messages of the user say nothing new, and it does not end"
    last = own[-_IDLE_TURNS:]
    if not at_limit or len(last) < _IDLE_TURNS or any(asks(one) for reply in recent for one in sentences(reply)):
        return None
    brought_up = _long_words(last[-1]) - _long_words(role.known)
    caused = any(brought_up & _long_words(reply) for reply in recent)
    if len({*map(_skeleton, last)}) == 1 and len(_skeleton(last[0]).split()) > 1 and not caused:
        return f"the last {_IDLE_TURNS} messages of the user differ in numbers alone, and it does not end"
    if not any(is_about(message, (role.known, *recent)) for message in last):
        return f"the last {_IDLE_TURNS} messages of the user are about nothing of its role, and it does not end"
    return None


def _long_words(text: str) -> set[str]:
    return {word for word in plain_words(text).split() if len(word) > 3}


def _skeleton(message: str) -> str:
    """A message without numbers, by which a demand that is only raised is the same."""
    return plain_words(re.sub(r"\d+", "", message))
