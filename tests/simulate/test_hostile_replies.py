"""Whatever an agent says is read in little time: replies are read on the thread that serves all trials."""

import time
from typing import Any

import pytest

from harness.gateway.user import Heard
from harness.suite.cases import Case
from harness.suite.conversations import UserSpec
from harness.users.fidelity.check import checked
from harness.users.log import LoggedTurn, UserLog
from harness.users.role import Role
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
def test_a_plan_of_opening_marks_is_read_in_little_time() -> None:
    plan = "“" * 30_000
    heard = Heard(said=("Hello.", "A latte."), replies=("Which one?",), rounds=(("Which one?",),))
    began = time.process_time()

    checked(Role(opening="Hello.", plan=plan), heard, ended="agent_left")

    assert time.process_time() - began < 5
