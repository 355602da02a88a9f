"""A logged conversation: played back while the agent does the same, played on by the persona after that."""

from pathlib import Path

import pytest

from harness.errors import InvalidDocument
from harness.gateway.user import HeardCall
from harness.suite.cases import Case
from harness.suite.conversations import UserSpec
from harness.users.log import LoggedTurn, UserLog, read_user_log
from harness.users.meaning.turn import AgentTurn, difference
from harness.users.users import UserOptions
from qa.doubles.rule_user import RuleUser
from tests.simulate.conftest import Converse

LOG = UserLog(
    turns=(
        LoggedTurn(user="A latte, please.", agent="Which size would you like?"),
        LoggedTurn(
            user="Small.",
            calls=(HeardCall(name="add", arguments={"item": "latte"}, effect="write", failed=True),),
            agent="A small latte is $4.50. Anything else?",
        ),
        LoggedTurn(user="No, thanks.", agent="Goodbye."),
    ),
    source="run-1",
)
CASE = Case.model_validate({"id": "latte", "task": "A latte, please."})
OPTIONS = UserOptions(kind="logged", logs={"latte": LOG})
ADD = [("add", {"item": "latte"})]


def test_the_same_agent_gets_every_turn(converse: Converse) -> None:
    talk = ["Which size would you like?", (ADD, "A small latte is $4.50. Anything else?"), "Goodbye."]
    said, record = converse(talk, case=CASE, options=OPTIONS)

    assert ["A latte, please.", "Small.", "No, thanks."] == said
    assert (2, None, "script_over") == (record.user.replayed, record.user.divergence, record.user.ended)


def test_another_wording_gets_the_log_and_another_price_does_not(converse: Converse) -> None:
    talk = ["What size do you want?", (ADD, "A small latte is $5.50. Anything else?"), "Goodbye."]
    said, record = converse(talk, case=CASE, options=OPTIONS)

    assert ["A latte, please.", "Small."] == said
    assert (1, 3, "slots") == (record.user.replayed, record.user.divergence.turn, record.user.divergence.kind)
    assert "5.5" in record.user.divergence.reason
    assert "replay_miss" == record.user.ended


def test_a_missing_write_is_a_divergence_by_calls(converse: Converse) -> None:
    talk = ["Which size would you like?", "A small latte is $4.50. Anything else?"]
    _, record = converse(talk, case=CASE, options=OPTIONS)

    assert "calls" == record.user.divergence.kind
    assert "add" in record.user.divergence.reason


def test_after_a_divergence_the_persona_plays_on_and_stays(converse: Converse) -> None:
    talk = ["We have no latte. A tea?", "Which size would you like?", "Done."]
    with RuleUser() as model:
        user = UserSpec.model_validate({"model": "rule-user", "base_url": model.url, "mode": "live"})
        _, record = converse(talk, case=CASE, user=user, options=OPTIONS)
        system = model.bodies[0]["messages"][0]["content"]

    assert ("logged", 0, 2) == (record.user.kind, record.user.replayed, record.user.divergence.turn)
    assert record.user.generated >= 1
    assert "- Small." in system
    assert "add" not in system


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ("Please provide your user ID.", "Could you please give me your user ID?"),
        ("The total is $12.50.", "The price comes to $12.50, then."),
        ("Your order has been cancelled.", "Your order was canceled."),
        ("It arrives on May 5, 2024.", "It arrives on 5 May 2024."),
        ("I found two flights. Which one do you want?", "I was able to find 2 flights. Which do you want?"),
    ],
)
def test_paraphrases_mean_the_same(then: str, now: str) -> None:
    assert difference(AgentTurn(said=then), AgentTurn(said=now)) is None


@pytest.mark.parametrize(
    ("then", "now", "kind"),
    [
        ("I added two muffins.", "I added three muffins.", "slots"),
        ("I added a muffin.", "I added a bagel.", "slots"),
        ("The total is $12.50.", "The total is $12.40.", "slots"),
        ("It arrives on May 5.", "It arrives on May 6.", "slots"),
        ("It is refundable.", "It is not refundable.", "act"),
        ("The order is placed.", "Is the order placed?", "act"),
        ("The small one is $2 and the large one is $3.", "The small one is $3 and the large one is $2.", "slots"),
        ("Yes, that works.", "No, that works.", "act"),
    ],
)
def test_changes_do_not(then: str, now: str, kind: str) -> None:
    found = difference(AgentTurn(said=then), AgentTurn(said=now))
    assert found is not None
    assert kind == found.kind


@pytest.mark.parametrize(
    ("text", "line", "field"),
    [
        ("source: x\nturns: []\n", 2, "turns"),
        ("source: x\n", None, "turns"),
        ("turns:\n  - user: Hello.\n  - user: '  '\n    agent: Goodbye.\n", 3, "turns.1.user"),
        ("turns:\n  - agent: How can I help?\n", 2, "turns.0.user"),
    ],
)
def test_a_log_without_a_users_turn_is_named_by_file_line_and_field(
    tmp_path: Path, text: str, line: int | None, field: str
) -> None:
    file = tmp_path / "log.yaml"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(InvalidDocument) as refused:
        read_user_log(file)
    assert (file, field) == (refused.value.path, refused.value.field)
    assert line is None or line == refused.value.line
