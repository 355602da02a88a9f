"""What counts as a simulated user's fault, and what an agent's own words may have caused."""

import pytest

from harness.gateway.user import Heard
from harness.traces.trial import UserEnding, UserFault, UserReport
from harness.users.fidelity.check import checked
from harness.users.meaning.sentences import is_open_promise, is_open_question
from harness.users.role import Role

ANSWER = "I would like the small one of the two sizes, please."


def faults(said: list[str], replies: list[str], plan: str = "", ended: UserEnding = "agent_left") -> list[UserFault]:
    heard = Heard(said=tuple(said), replies=tuple(replies), rounds=tuple((one,) for one in replies))
    return list(checked(Role(opening=said[0], plan=plan), heard, ended=ended)[0])


@pytest.mark.parametrize(
    ("last", "excused"),
    [
        ("What volume of beverage does the gentleman desire?", True),
        ("The weather is lovely today.", True),
        ("", True),
        ("Your small latte costs $4.50 now.", False),
    ],
)
def test_a_repetition_that_the_agent_may_have_caused_invalidates_nothing(last: str, excused: bool) -> None:
    found = faults(["A latte, please.", ANSWER, ANSWER], ["Which size would you like?", last])

    assert [("repetition", excused)] == [(one.fault, one.excused) for one in found]
    report = UserReport(kind="model", ended="agent_left", turns=3, faults=tuple(found))
    assert (report.invalid is None) is excused


def test_a_question_about_another_topic_of_the_plan_does_not_ask_for_what_is_withheld() -> None:
    plan = "Book a trip to Rome. Do not mention that your daughter travels with you unless the agent asks for it."
    early = ["I need a flight.", "Rome. By the way, my daughter travels with me."]

    asked_otherwise = faults(early, ["Which trip would you like?"], plan)
    asked = faults(early, ["Does your daughter come too?"], plan)

    assert ["revealed_early"] == [one.fault for one in asked_otherwise]
    assert [] == asked


def test_a_long_number_is_not_rounded() -> None:
    known = "Your order is number 8541487."

    assert [] == faults(["Hello.", "It is order number 8541487."], ["Which one?"], known)
    assert ["unknowable"] == [one.fault for one in faults(["Hello.", "It is number 8541488."], ["Which one?"], known)]


def test_a_promise_under_a_condition_is_not_open() -> None:
    assert not is_open_promise("All done. If you need to update anything, let me know and I'll check what is possible.")
    assert is_open_promise("I'll check what is possible.")


@pytest.mark.parametrize(
    ("message", "spoken"),
    [("Is there anything else I can provide?", 0), ("Is there anything else I can help with?", 1)],
)
def test_a_user_may_ask_what_else_it_can_give(message: str, spoken: int) -> None:
    assert spoken == len(faults(["I want to change a flight.", message], ["Your reservation id?"]))


def test_a_date_with_its_year_is_known_by_month_and_day() -> None:
    replies = ["It was booked on May 2, 2024, for May 23, 2024."]

    assert [] == faults(["I booked 10 hours ago.", "Not on May 2! And I want May 24th."], replies)


def test_a_plan_that_withholds_what_it_does_not_name_withholds_nothing() -> None:
    plan = "If the agent says that it cannot be changed (do not mention it if it does not), cancel and book a new one."

    assert [] == faults(["Change my flight.", "Then cancel it and book a new one."], ["It cannot be changed."], plan)


@pytest.mark.parametrize(
    ("ended", "found"), [("goal_reached", []), ("turn_limit", ["never_ends"]), ("agent_left", ["never_ends"])]
)
def test_a_user_that_thanks_and_then_ends_does_not_go_on_for_ever(ended: UserEnding, found: list[str]) -> None:
    thanks = ["Thank you!", "Thanks again, goodbye!", "You too, bye!"]

    told = faults(["A latte, please.", *thanks], ["Here it is.", *["You're welcome!"] * 3], ended=ended)

    assert found == [one.fault for one in told]


QUOTED = "The fare is $871 each. Your certificate has $500, your card $327. It may rise by $20."


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("That is $871 - $500 - $327 = $44, and with the $871 then $915.", []),
        ("Ask me again above $891, that is $871 and a bit.", []),
        ("Two of $871 are $1,742.", []),
        ("That is $46 then, of $871.", ["unknowable"]),
        ("The fare is $913.40.", ["unknowable"]),
        ("I was offered $45, so $45 and $45 are $90.", ["unknowable"]),
        ("Which rates does it have (e.g., 4K/60)?", []),
        ("It has 4K at 60 frames.", ["unknowable"]),
    ],
)
def test_what_a_user_works_out_or_gives_as_an_example_is_no_claim(message: str, found: list[str]) -> None:
    told = faults(["I want a flight and a 4K camera.", message], [QUOTED])

    assert found == [one.fault for one in told]


@pytest.mark.parametrize(
    "reply",
    [
        '{"message": "Done.\\n\\nIf you need to change it later, let me know and I\\u2019ll look."}',
        "Done. If you want me to check again, just tell me how often.",
        "Done. We'll keep it steady for you.",
    ],
)
def test_an_offer_leaves_nothing_open(reply: str) -> None:
    assert [] == faults(["Cancel it.", "Yes."], ["Shall I?", reply], ended="goal_reached")


def test_lines_of_a_json_reply_are_sentences_of_their_own() -> None:
    assert is_open_question('{"message": "Found it.\\nWhich one do you want?"}')
    assert not is_open_promise('{"message": "I will check it.\\nDone.\\nIt is sent.\\nGoodbye."}')


@pytest.mark.parametrize(("reply", "found"), [("Your cart has 1 x Whole Milk.", []), ("Sure.", ["revealed_early"])])
def test_what_the_agent_has_said_by_itself_is_not_revealed(reply: str, found: list[str]) -> None:
    plan = "Your goal: get whole milk and eggs. Do not say which milk before being asked."

    assert found == [one.fault for one in faults(["I need milk and eggs.", "Whole milk."], [reply], plan)]


ROLE = Role(
    opening="A latte, please.",
    plan="You want a small latte. Refuse the muffin.",
    profile={"name": "Ann Lee", "city": "Boston", "delivery": {"street": "Elm Road"}},
)


def of_role(message: str, reply: str) -> list[str]:
    heard = Heard(said=(ROLE.opening, message), replies=(reply,), rounds=((reply,),))
    return [one.fault for one in checked(ROLE, heard, ended="agent_left")[0]]


@pytest.mark.parametrize(
    ("message", "reply"),
    [
        ("My name is Carl.", "What is your name?"),
        ("I live in Denver.", "Where do you live?"),
        ("My street is Oak Lane.", "Which street?"),
        ("A large latte, please.", "Which size?"),
        ("Yes, please add the muffin.", "Would you like a muffin?"),
        ("Yes, please.", "Would you like a muffin?"),
    ],
)
def test_what_profile_and_plan_have_otherwise_is_a_contradiction(message: str, reply: str) -> None:
    assert ["contradiction"] == of_role(message, reply)


@pytest.mark.parametrize(
    ("message", "reply"),
    [
        ("My name is Ann.", "What is your name?"),
        ("I live in Boston.", "Where do you live?"),
        ("My street is not on file, I think.", "Which street?"),
        ("A small latte, please.", "Which size?"),
        ("No, not the muffin.", "Would you like a muffin?"),
        ("Yes, please.", "A muffin is $3, which you did not want. Is the small latte all?"),
    ],
)
def test_what_profile_and_plan_have_is_none(message: str, reply: str) -> None:
    assert [] == of_role(message, reply)


def test_a_demand_that_is_only_raised_for_ever_is_the_users_fault() -> None:
    said = ["A latte, please.", *(f"Actually, {number} more latte." for number in (2, 3, 4, 5))]
    found = faults(said, ["Added, your latte is ready."] * 5, "You want a latte.", ended="turn_limit")
    assert ["never_ends"] == [one.fault for one in found]


@pytest.mark.parametrize(
    ("message", "leaves"),
    [
        ("My plan: You want a small latte and nothing else.", True),
        ("<plan> small latte </plan>", True),
        ("This assistant is excellent.", True),
        ("10 out of 10!", True),
        ("I want a small latte.", False),
        ("You have been very helpful, thank you.", False),
        ("Please transfer me to an agent.", False),
    ],
)
def test_a_user_that_shows_its_instructions_or_rates_the_agent_leaves_its_role(message: str, *, leaves: bool) -> None:
    assert leaves is ("out_of_role" in of_role(message, "Which size?"))
