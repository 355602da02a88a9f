"""Faults that code finds in a message of a simulated user, planted in the messages of real conversations."""

from collections.abc import Callable, Mapping
from typing import Final

from harness.gateway.user import Heard
from harness.traces.trial import FaultClass
from harness.users.checks import LONGEST
from harness.users.log import UserLog
from harness.users.role import TOLD, Role


def as_heard(log: UserLog, number: int) -> Heard:
    """What the user of a log has heard before its message of that number."""
    turns = log.turns[:number]
    rounds = tuple((turn.agent,) if turn.agent else () for turn in turns)
    return Heard(
        said=tuple(turn.user for turn in turns), replies=tuple(one for every in rounds for one in every), rounds=rounds
    )


def _early_end(_: str, heard: Heard, role: Role) -> str | None:
    return "[[END: GOAL REACHED]]" if len(heard.said) == 1 and role.plan else None


FAULTS: Final[Mapping[FaultClass, Callable[[str, Heard, Role], str | None]]] = {
    "no_message": lambda text, heard, role: " \n",
    "too_long": lambda text, heard, role: (text or "so ") * LONGEST,
    "tool_call": lambda text, heard, role: f'{text}\n{{"name": "book", "arguments": {{"id": 1}}}}',
    "speaks_as_agent": lambda text, heard, role: f"User: {text}",
    "reveals_secret": lambda text, heard, role: f"{text} {TOLD.splitlines()[0]}",
    "ends_too_early": _early_end,
}
