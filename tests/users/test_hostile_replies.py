"""Whatever an agent says is read in little time: replies are read on the thread that serves all trials."""

import time
from typing import Any

import pytest

from harness.gateway.user import Heard
from harness.suite.cases import Case
from harness.suite.conversations import UserSpec
from harness.users.asking import ModelText
from harness.users.checks import problem_with
from harness.users.log import LoggedTurn, UserLog
from harness.users.role import Role, Spoken
from harness.users.users import UserOptions
from qa.doubles.rule_user import RuleUser

CASE = Case.model_validate({"id": "latte", "task": "A latte, please."})
LOG = UserLog(turns=(LoggedTurn(user=CASE.task, agent="A latte is $4.50. Shall I?"), LoggedTurn(user="Yes.")))


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["\n", "\n ", "if you want ", "[", "#", "- ", "1-", "1,", "a.", "a@", ".'"])
def test_a_reply_of_one_repeated_text_is_read_in_little_time(converse: Any, unit: str) -> None:
    reply = (unit * 20_000)[:20_000]
    began = time.process_time()
    with RuleUser() as model:
        user = UserSpec.model_validate({"model": "rule-user", "base_url": model.url, "mode": "live"})
        _, record = converse([reply], case=CASE, user=user, options=UserOptions(kind="logged", logs={"latte": LOG}))
    assert (0, 2) == (record.user.replayed, record.user.divergence.turn)
    assert time.process_time() - began < 5


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["\u201c", "*", "[", "_a", "a(", ".", "a. "])
def test_a_message_and_a_plan_of_one_repeated_text_are_read_in_little_time(unit: str) -> None:
    heard = Heard(said=("Hello.",), replies=("Which one?",), rounds=(("Which one?",),))
    began = time.process_time()

    text = (unit * 30_000)[:30_000]
    problem_with(Role(opening="Hello.", plan=text), heard, ModelText(), Spoken(text=text[:4_000]))

    assert time.process_time() - began < 5
