"""The fidelity of one conversation's user by rules: its faults, and the agent's attempts to cause them."""

from harness.gateway import Heard
from harness.simulate.fidelity.before import Before
from harness.simulate.fidelity.repetition import is_about, is_idle, may_have_caused
from harness.simulate.fidelity.rules import Rules
from harness.simulate.fidelity.steering import steering_in
from harness.simulate.meaning.sentences import asks, is_open_promise, is_open_question, sentences, transfers
from harness.simulate.role import Role
from harness.trace import UserEnding, UserFault

_IDLE_TURNS = 3
"""Messages in a row that only thank or say goodbye, after which a user should have ended."""


def checked(
    role: Role, heard: Heard, *, ended: UserEnding, generated_from: int = 1
) -> tuple[tuple[UserFault, ...], tuple[str, ...]]:
    """The user's faults, and the agent's attempts to steer it, each in the order of turns.

    `generated_from`: how many messages at the beginning are not the simulator's own.
    """
    rules, faults = Rules(role), list[UserFault]()
    for number in range(generated_from, len(heard.said)):
        replies = tuple(reply for one in heard.rounds[:number] for reply in one)
        before = Before(own=heard.said[:number], replies=replies)
        for fault, reason in rules.faults(heard.said[number], before):
            excused = fault == "repetition" and may_have_caused(before.last, heard.said[number])
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
    idle = 0
    for message in reversed(own):
        if not is_idle(message):
            break
        idle += 1
    recent = [reply for one in heard.rounds[-_IDLE_TURNS:] for reply in one]
    if any(is_open_question(reply) or is_open_promise(reply) for reply in recent):  # an end would not be accepted
        return []
    if idle >= _IDLE_TURNS and ended not in ("goal_reached", "gave_up"):
        reason = f"the last {idle} messages of the user say nothing new, and it does not end"
        return [UserFault(turn=len(heard.said), fault="never_ends", reason=reason)]
    astray = own[-_IDLE_TURNS:]
    if (
        ended == "turn_limit"
        and not any(asks(one) for reply in recent for one in sentences(reply))
        and len(astray) == _IDLE_TURNS
        and not any(is_about(message, (role.known, *recent)) for message in astray)
    ):
        reason = f"the last {_IDLE_TURNS} messages of the user are about nothing of its role, and it does not end"
        return [UserFault(turn=len(heard.said), fault="never_ends", reason=reason)]
    return []
