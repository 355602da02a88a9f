"""The fidelity of one conversation's user by rules: its faults, and the agent's attempts to cause them."""

from harness.gateway import Heard
from harness.simulate.fidelity.steering import steering_in
from harness.simulate.role import Role
from harness.trace import UserEnding, UserFault


def checked(
    role: Role, heard: Heard, *, ended: UserEnding, generated_from: int = 1
) -> tuple[tuple[UserFault, ...], tuple[str, ...]]:
    """The user's faults, and the agent's attempts to steer it, each in the order of turns.

    `generated_from`: how many messages at the beginning are not the simulator's own.
    """
    del role, ended, generated_from
    steered = tuple(
        f"turn {number}: {attempt}"
        for number, replies in enumerate(heard.rounds, start=1)
        for reply in replies
        if (attempt := steering_in(reply)) is not None
    )
    return (), steered
