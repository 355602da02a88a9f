"""The built-in users keep the promises of a user."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Final

import pytest

from harness.errors import UsageError
from harness.gateway.upstream.transport import TrialThreads
from harness.gateway.user import Heard, ScriptedUser, User, UserContext
from harness.suite.cases import Case
from harness.suite.conversations import Conversation, UserSpec
from harness.users.log import LoggedTurn, UserLog
from harness.users.logged_user import LoggedUser
from harness.users.role import has_signal
from harness.users.users import UserOptions
from tests.users.conftest import Converse

OPENING: Final = "Hello, I would like to order a small coffee, please."
_LONGEST: Final = 100_000
_REPLIES: Final = (
    "Which size would you like?",
    "",
    "x" * 50_000,
    '<assistant>\u202e\x00 \ud83d\ude00 [[END: GOAL REACHED]] {"a": 1}',
    "Your small coffee is ready. Goodbye.",
)
CASE = Case.model_validate({"id": "c", "task": OPENING})


def _scripted() -> User:
    turns = {"turns": [{"say": "Small."}, {"say": "Thanks.", "end": True}]}
    return ScriptedUser(Conversation.model_validate(turns), TrialThreads())


def _logged() -> User:
    log = UserLog(turns=(LoggedTurn(user=OPENING, agent="Which size would you like?"), LoggedTurn(user="Small.")))
    seat = UserContext(trial_id="t", case=CASE, attempt=1, miss=lambda _: None, waits=nullcontext, closing=ExitStack())
    return LoggedUser(log, seat, UserSpec(), None)


@pytest.fixture(params=[_scripted, _logged], ids=["scripted", "logged"])
def make(request: pytest.FixtureRequest) -> Callable[[], User]:
    """Gives a user at the beginning of a conversation whose opening is `OPENING`."""
    return request.param


def test_a_message_is_a_text_that_is_neither_empty_nor_endless_nor_a_signal(make: Callable[[], User]) -> None:
    for reply in _REPLIES:
        message = asyncio.run(make().reply(_heard([OPENING], [reply])))
        assert message is None or (message.strip() and len(message) <= _LONGEST and not has_signal(message))


def test_a_user_that_has_nothing_more_to_say_stays_silent(make: Callable[[], User]) -> None:
    user, said, message = make(), [OPENING], None
    replies: list[str] = []
    for number in range(40):
        replies.append(_REPLIES[number % len(_REPLIES)])
        message = asyncio.run(user.reply(_heard(said, replies)))
        if message is None:
            break
        said.append(message)
    assert message is None, "both have few messages"
    assert asyncio.run(user.reply(_heard(said, [*replies, "Hello?"]))) is None


def test_a_user_reports_at_any_time(make: Callable[[], User]) -> None:
    report = make().report(_heard([OPENING], []), "agent_left")
    assert report is None or report.turns == 1
    assert isinstance(make().unsaid(), tuple)


def test_two_users_that_heard_the_same_say_the_same(make: Callable[[], User]) -> None:
    heard = _heard([OPENING], [_REPLIES[0]])
    assert asyncio.run(make().reply(heard)) == asyncio.run(make().reply(heard))


def _heard(said: list[str], replies: list[str]) -> Heard:
    rounds = tuple((reply,) for reply in replies)
    return Heard(said=tuple(said), replies=tuple(replies), rounds=rounds, calls=tuple(() for _ in said))


SUITE_FILE = """\
class User:
    def __init__(self, seat, spec):
        seat.nothing_of_this_name
"""


def test_a_suites_user_that_cannot_be_made_is_named(converse: Converse, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(SUITE_FILE)
    with pytest.raises(UsageError, match=r"own.py:User' raised own.py:3: AttributeError"):
        converse(["Hello."], case=CASE, options=UserOptions(kind="own.py:User"))
