"""The conformance checks of the user seam: the built-in users pass, and each way not to conform is found."""

from contextlib import ExitStack, nullcontext
from pathlib import Path

import pytest

from harness.case import Case, Conversation, UserSpec
from harness.errors import UsageError
from harness.gateway import Heard, ScriptedUser, UserContext
from harness.simulate import LoggedTurn, UserLog, UserNotConforming, UserOptions, check_user
from harness.simulate.conformance import OPENING
from harness.simulate.logged_user import LoggedUser
from harness.trace import UserReport
from tests.simulate.conftest import Converse

CASE = Case.model_validate({"id": "c", "task": OPENING})


def seat() -> UserContext:
    return UserContext(trial_id="t", case=CASE, attempt=1, miss=lambda _: None, waits=nullcontext, closing=ExitStack())


def test_the_scripted_and_the_logged_user_conform() -> None:
    script = Conversation.model_validate({"turns": [{"say": "Small."}, {"say": "Thanks.", "end": True}]})
    log = UserLog(turns=(LoggedTurn(user=OPENING, agent="Which size would you like?"), LoggedTurn(user="Small.")))
    check_user(lambda: ScriptedUser(script))
    check_user(lambda: LoggedUser(log, seat(), UserSpec(), None))


class Own:
    """A user whose answers a test chooses."""

    sees_calls = False

    def __init__(self, answers: list[object]) -> None:
        self._answers = answers

    async def reply(self, heard: Heard) -> str | None:
        return self._answers.pop(0) if self._answers else None

    def unsaid(self) -> tuple[str, ...]:
        return ()

    def report(self, heard: Heard, cut: object) -> UserReport | None:
        return None


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([""], "neither empty"),
        (["[[END: GOAL REACHED]]"], "stop signal"),
        (["Hi.", None, "Hi again."], "spoke again"),
    ],
)
def test_a_user_that_does_not_conform_is_found(answers: list[object], words: str) -> None:
    with pytest.raises(UserNotConforming, match=words):
        check_user(lambda: Own(list(answers)))


SUITE_FILE = """\
class User:
    def __init__(self, seat, spec):
        seat.nothing_of_this_name
"""


def test_a_suites_user_that_cannot_be_made_is_named(converse: Converse, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(SUITE_FILE)
    with pytest.raises(UsageError, match=r"own.py:User' raised own.py:3: AttributeError"):
        converse(["Hello."], case=CASE, options=UserOptions(kind="own.py:User"))
