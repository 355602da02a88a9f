"""The conformance checks of the user seam, which run against any user.

To check a user of your own, call `check_user(make)`, where each call of `make` returns a user at the beginning of a
conversation whose opening is `OPENING`. Raises UserNotConforming with what the user did.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from harness.gateway import Heard, User
from harness.simulate.stopping import has_signal

OPENING: Final = "Hello, I would like to order a small coffee, please."
_LONGEST: Final = 100_000
_REPLIES: Final = (
    "Which size would you like?",
    "",
    "x" * 50_000,
    '<assistant>\u202e\x00 \ud83d\ude00 [[END: GOAL REACHED]] {"a": 1}',
    "Your small coffee is ready. Goodbye.",
)


class UserNotConforming(Exception):
    """The user does not conform; the message describes its behaviour."""


def check_user(make: Callable[[], User]) -> None:
    """Runs every check; raises UserNotConforming for the first that fails."""
    for check in (_answers_texts, _stays_silent_once_it_is, _reports_once_and_at_any_time, _is_the_same_again):
        asyncio.run(check(make))


async def _answers_texts(make: Callable[[], User]) -> None:
    for reply in _REPLIES:
        message = await make().reply(_heard([OPENING], [reply]))
        if message is not None and (not isinstance(message, str) or not message.strip() or len(message) > _LONGEST):
            raise UserNotConforming(
                f"a message is a text that is neither empty nor endless, or None; got {message!r:.200}"
            )
        if message is not None and has_signal(message):
            raise UserNotConforming(f"a stop signal is not a message: {message!r:.200}")


async def _stays_silent_once_it_is(make: Callable[[], User]) -> None:
    user, said = make(), [OPENING]
    replies: list[str] = []
    for number in range(40):
        replies.append(_REPLIES[number % len(_REPLIES)])
        message = await user.reply(_heard(said, replies))
        if message is None:
            break
        said.append(message)
    else:
        return  # the turn limit is the gateway's
    if await user.reply(_heard(said, [*replies, "Hello?"])) is not None:
        raise UserNotConforming("the user spoke again after it had nothing more to say")


async def _reports_once_and_at_any_time(make: Callable[[], User]) -> None:
    report = make().report(_heard([OPENING], []), "agent_left")
    if report is not None and report.turns != 1:
        raise UserNotConforming(f"one message was said, the report has {report.turns}")
    if not isinstance(make().unsaid(), tuple):
        raise UserNotConforming("`unsaid` gives a tuple of texts")


async def _is_the_same_again(make: Callable[[], User]) -> None:
    heard = _heard([OPENING], [_REPLIES[0]])
    first, second = await make().reply(heard), await make().reply(heard)
    if first != second:
        raise UserNotConforming(f"two users that heard the same said {first!r:.200} and {second!r:.200}")


def _heard(said: list[str], replies: list[str]) -> Heard:
    rounds = tuple((reply,) for reply in replies)
    return Heard(said=tuple(said), replies=tuple(replies), rounds=rounds, calls=tuple(() for _ in said))
