"""A logged conversation: played back while the agent does the same, played on by the persona after that."""

from pathlib import Path

import pytest

from harness.errors import InvalidDocument
from harness.gateway.user import HeardCall
from harness.suite.cases import Case
from harness.suite.conversations import UserSpec
from harness.users.comparison import AgentTurn, difference
from harness.users.log import LoggedTurn, UserLog, read_user_log
from harness.users.users import UserOptions
from qa.doubles.rule_user import RuleUser
from qa.simulate_eval.changes import CHANGED, UNCHANGED
from tests.users.conftest import Converse

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


def test_the_same_words_get_the_log_and_another_price_does_not(converse: Converse) -> None:
    talk = ["which size  would you like ?", (ADD, "A small latte is $5.50. Anything else?"), "Goodbye."]
    said, record = converse(talk, case=CASE, options=OPTIONS)

    assert ["A latte, please.", "Small."] == said
    assert (1, 3, "words") == (record.user.replayed, record.user.divergence.turn, record.user.divergence.kind)
    assert "the log has '$4.50. anything else?', the agent '$5.50." in record.user.divergence.reason
    assert "user_diverged" == record.user.ended


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


TURNS = [
    AgentTurn(said=text, calls=calls)
    for text, calls in (
        ("No, the 2 flights to Boston on May 5, 2024 cost $1,200.50 per passenger. Shall I book all of them?", ()),
        ("Your order #W12 has been shipped. It weighs 2.5 kg, 10 % less than before. Which day suits you, Ann?", ()),
        ("The one-way flight HAT123 leaves at 9 am from Denver. It takes 3 hours and is not refundable.", ()),
        ("Sure. The balance is -5 USD in total, and only Ben can pay it by Monday. It was -7.", ()),
        (
            "I have added both.",
            (
                HeardCall(name="add", arguments={"item": "latte", "size": "small"}),
                HeardCall(name="add", arguments={"item": "tea"}),
                HeardCall(name="find", arguments={"item": "tea"}, effect="read"),
            ),
        ),
    )
]


@pytest.mark.parametrize("kind", CHANGED)
def test_a_turn_that_tells_another_thing_is_no_turn_of_the_log(kind: str) -> None:
    changed = [(then, now) for turn in TURNS if (now := CHANGED[kind](then := turn)) is not None]

    assert changed, "no turn has what the change is about"
    assert all(difference(then, now) is not None for then, now in changed)


@pytest.mark.parametrize("kind", UNCHANGED)
def test_a_turn_that_is_written_otherwise_is(kind: str) -> None:
    assert [None] * len(TURNS) == [difference(turn, UNCHANGED[kind](turn) or turn) for turn in TURNS]


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ("No, refunds are possible.", "No refunds are possible."),
        ("Sold out: latte. Mocha and tea are left.", "Sold out. Latte, mocha and tea are left."),
        ("It is 10\u00b2 metres.", "It is 102 metres."),
        ("It is 1\u00bd cups.", "It is 11/2 cups."),
        ("The balance is (5.00).", "The balance is 5.00."),
        ("A fee \u2014 5 USD.", "A fee -5 USD."),
        ('A 15" screen.', "A 15 screen."),
    ],
)
def test_a_mark_that_carries_meaning_is_no_typography(then: str, now: str) -> None:
    assert difference(AgentTurn(said=then), AgentTurn(said=now)) is not None


def test_a_divergence_shows_the_first_differing_words() -> None:
    same = "The flight leaves Boston at nine and lands in Denver at noon, as you wanted. " * 9
    found = difference(AgentTurn(said=f"{same}It has been booked."), AgentTurn(said=f"{same}It will be booked."))

    assert found is not None
    assert "after 'as you wanted. it' the log has 'has been booked', the agent 'will be booked'" == found.reason


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
