"""A user that a model plays: followed, recorded, replayed, ended, and never charged to the agent where it fails."""

import json
from pathlib import Path
from typing import Literal

import pytest

from harness.errors import GatewayError
from harness.suite.cases import Case
from harness.suite.conversations import CaseUser, UserSpec
from harness.users.role import LONGEST_HEARD
from harness.users.users import UserOptions
from qa.doubles.model_double import DoubleReply, DoubleRequest, ModelDouble
from qa.doubles.rule_user import RuleUser, UserFailing
from tests.users.conftest import Converse

PLAIN = "The muffin is for somebody who cannot eat any nuts. You are in a hurry and you never tip."
PLAN = 'If asked for the size, say "Small, please." Then say "And a muffin."'
TALK = ["Which size would you like?", "A small latte. Done.", "Added. Your order is complete.", "Bye."]
SAID = ["A latte, please.", "Small, please.", "And a muffin."]


def case_of(**conversation: object) -> Case:
    return Case.model_validate(
        {
            "id": "latte",
            "task": "A latte, please.",
            "conversation": {"plan": PLAN, "persona": {"id": "calm"}, **conversation},
            "user_profile": {"name": "Ann"},
        }
    )


def spec_of(model: RuleUser, **own: object) -> UserSpec:
    return UserSpec.model_validate({"model": "rule-user", "base_url": model.url, "mode": "record", **own})


def test_a_plan_is_followed_and_the_goal_is_named(converse: Converse) -> None:
    with RuleUser() as model:
        said, record = converse(TALK, case=case_of(), user=spec_of(model))

    assert SAID == said
    assert record.user is not None
    assert ("model", "goal_reached", 3, "calm") == (
        record.user.kind, record.user.ended, record.user.turns, record.user.persona,
    )  # fmt: skip
    assert record.user.output_tokens > 0


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_recorded_user_is_replayed_by_what_was_said(converse: Converse, tmp_path: Path, provider: str) -> None:
    with RuleUser() as model:
        address = model.url if provider == "openai" else model.url.removesuffix("/v1")
        spec = spec_of(model, provider=provider, base_url=address)
        first, _ = converse(TALK, case=case_of(), user=spec)
        asked = model.requests
        again, replayed = converse(TALK, case=case_of(), user=spec.model_copy(update={"mode": "replay"}))
        other, missed = converse(
            ["What size?", *TALK[1:]], case=case_of(), user=spec.model_copy(update={"mode": "replay"})
        )

    assert (first, asked) == (again, model.requests)
    assert "goal_reached" == replayed.user.ended
    assert (["A latte, please."], "replay_miss", 1) == (other, missed.user.ended, len(missed.misses))
    assert (tmp_path / "cassettes" / "talks" / "latte.yaml").exists()


def test_a_user_knows_what_is_said_and_nothing_else(converse: Converse) -> None:
    talk = [([("find", {"item": "canary-argument"})], "Which size would you like?"), "Done."]
    with RuleUser() as model:
        converse(talk, case=case_of(), user=spec_of(model))
        asked = json.dumps(model.bodies)

    assert "Which size would you like?" in asked
    assert "Ann" in asked
    for hidden in ("canary-argument", "find", "replay_miss", "checks"):
        assert hidden not in asked


FAILING: list[tuple[UserFailing, str]] = [
    ("nothing", "no_message"),
    ("as_agent", "speaks_as_agent"),
    ("tool_call", "tool_call"),
    ("stop_first", "ends_too_early"),
    ("too_long", "too_long"),
]


@pytest.mark.parametrize(("failing", "fault"), FAILING)
def test_a_failing_model_is_the_simulators_failure_with_its_turn(
    converse: Converse, failing: UserFailing, fault: str
) -> None:
    with RuleUser(failing=failing) as model:
        said, record = converse(["A latte for you, then."] * 9, case=case_of(), user=spec_of(model))

    assert ["A latte, please."] == said
    assert ("simulator_failed", 2, fault) == (record.user.ended, record.user.invalid.turn, record.user.invalid.fault)


class CutShort(ModelDouble):
    """A model that has not said everything when its tokens are used up."""

    async def answer(self, asked: DoubleRequest) -> DoubleReply:
        return DoubleReply(text="I would like a small latte and", cut=True)


@pytest.mark.parametrize("suffix", ["/v1", ""])
def test_half_a_message_does_not_reach_the_agent(converse: Converse, suffix: str) -> None:
    with CutShort(name="small") as model:
        url, provider = f"{model.url.removesuffix('/v1')}{suffix}", "openai" if suffix else "anthropic"
        user = {"model": "small", "base_url": url, "provider": provider, "mode": "live"}
        said, record = converse(["Which size?"] * 3, case=case_of(), user=UserSpec.model_validate(user))

    assert ["A latte, please."] == said
    assert ("simulator_failed", "too_long") == (record.user.ended, record.user.invalid.fault)


OFFER = "A latte for you then, in a minute or two, with oat milk and a straw beside it."
MISBEHAVING = [
    ("User: Small, please.", "speaks_as_agent"),
    ("**Assistant:** Small, please.", "speaks_as_agent"),
    ("Small, please.\nAssistant: A small latte.\nUser: Thanks.", "speaks_as_agent"),
    ("*sighs and looks at the menu* Small, please.", "speaks_as_agent"),
    ("[pauses] Small, please.", "speaks_as_agent"),
    ("(smiles) Small, please.", "speaks_as_agent"),
    ("<note>You are the user.</note> Small, please.", "speaks_as_agent"),
    (OFFER, "speaks_as_agent"),
    ('{"name": "add_item", "arguments": {}}', "tool_call"),
    ("add_item(latte)", "tool_call"),
    ('{"message": "Small, please."}', "tool_call"),
    ("###STOP###", "speaks_as_agent"),
    ("Say what the plan and your details hold.", "reveals_secret"),
    (PLAIN, "reveals_secret"),
    ("Nothing was pursued or answered yet, so a small one.", "reveals_secret"),
    ("My id is l - 1 2, if you like.", "reveals_secret"),
    ("My id is L one two.", "reveals_secret"),
    ("I live behind thered door.", "reveals_secret"),
    ("### User\nSmall, please.", "speaks_as_agent"),
    ("Benutzer: Klein, bitte.", "speaks_as_agent"),
    ("\u7528\u6237\uff1a\u5c0f\u676f\u3002", "speaks_as_agent"),
    ("**Kunde**\nKlein, bitte.", "speaks_as_agent"),
    ("Note: You are the user now.", "speaks_as_agent"),
    ("<user>Small, please.</user>", "speaks_as_agent"),
    ("It beside straw a and milk oat with two or minute a in then you for latte a.", "speaks_as_agent"),
    ("latte " * 9, "too_long"),
    ("I am not sure about it at all. " + "Let me think. " * 6, "too_long"),
    ("My id is L-12.", "reveals_secret"),
    ("I live behind the red door.", "reveals_secret"),
    ("You play a user who talks with an assistant. You are not the assistant.", "reveals_secret"),
    ("Small, please. " * 400, "too_long"),
    (f"{OFFER} I am not the assistant.", "speaks_as_agent"),
    ("So a latte for you then, in a minute or two, with oat milk and a straw, yes.", "speaks_as_agent"),
    ("I want to know what any of it costs. It is not clear to me. " * 3, "too_long"),
    (" \n", "no_message"),
    ("<think>They ask for the size, so I", "no_message"),
    ("[[END: GOAL REACHED]]", "ends_too_early"),
    ("[[END: GAVE UP]]", "ends_too_early"),
]


@pytest.mark.parametrize(("writes", "fault"), MISBEHAVING)
def test_no_message_that_code_refuses_reaches_the_agent(converse: Converse, writes: str, fault: str) -> None:
    plan = case_of(plan=f"{PLAN}\n{PLAIN}")
    case = plan.model_copy(update={"user": CaseUser(withhold=("loyalty id: L-12", "the red door"))})
    with RuleUser(obeys={"": writes}) as model:
        said, record = converse([OFFER] * 9, case=case, user=spec_of(model))

    assert ["A latte, please."] == said
    assert ("simulator_failed", fault, False) == (
        record.user.ended, record.user.invalid.fault, record.user.invalid.misled,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("writes", "reply"),
    [
        ("My id is L-12.", "What is your loyalty id?"),
        ("It is L-12.", "Tell me your loyalty id."),
        ("It is L-12.", "How can I find you?"),
        ("Small, please. [[END: GOAL REACHED]]", "Which size?"),
        ("Small, please.", "Small, please."),
        ("<think>They ask. [[END: GAVE UP]]</think>\nSmall, please.", "Which size?"),
        ("(555) 123-4567 is my number.", "Fine."),
        ("Loyalty id: I do not know it.", "Fine."),
        ("Order number: none yet.", "What is the order number?"),
        ("No, no, no, no, no, thanks!", "A muffin, too?"),
        ("Yes, add a small latte with oat milk.", 'Please say "yes, add a small latte with oat milk" to confirm.'),
        ("The muffin is for somebody who cannot eat any nuts.", "Which muffin?"),
        ("That's **great**, a small one.", "Fine."),
        (
            "Yes, put the small latte on the card ending in 7334, please.",
            "Shall I put the small latte on the card ending in 7334?",
        ),
    ],
)
def test_what_a_user_may_say_reaches_the_agent(converse: Converse, writes: str, reply: str) -> None:
    plan = case_of(plan=f"{PLAN}\n{PLAIN}")
    case = plan.model_copy(update={"user": CaseUser(withhold=("loyalty id: L-12",))})
    with RuleUser(obeys={"": writes}) as model:
        said, record = converse([reply], case=case, user=spec_of(model))

    assert [writes.removesuffix(" [[END: GOAL REACHED]]").rpartition("\n")[2]] == said[1:]
    assert record.user.invalid is None


def test_a_refused_message_is_asked_for_again_with_what_was_wrong(converse: Converse) -> None:
    with RuleUser(failing="stop_open") as model:
        said, record = converse(["Which size would you like?", "Done."], case=case_of(), user=spec_of(model))
        told = [body["messages"][-1]["content"] for body in model.bodies]

    assert ["A latte, please."] == said, "no message of the harness stands in for the user's"
    assert "ends_too_early" == record.user.invalid.fault
    assert "do not end now" in told[1]


@pytest.mark.parametrize(
    ("reply", "fault"), [("Which size would you like?", "ends_too_early"), ("Done.", None), ("No latte today.", None)]
)
def test_a_user_without_a_plan_may_end_at_once_unless_it_was_asked(
    converse: Converse, reply: str, fault: str | None
) -> None:
    with RuleUser(failing="stop_first") as model:
        options = UserOptions(kind="model")
        said, record = converse([reply], case=case_of(plan=None), user=spec_of(model), options=options)

    assert ["A latte, please."] == said
    assert fault == (record.user.invalid and record.user.invalid.fault)


def test_a_question_in_new_words_is_answered_as_before(converse: Converse) -> None:
    asked = ["Which colour would you like?", "What shade shall it be?", "Please tell me the hue.", "And the colour?"]
    plan = 'If asked for the size, say "Small, please."'
    with RuleUser() as model:
        said, record = converse(asked, case=case_of(plan=plan), user=spec_of(model))

    assert ["I have no preference."] * 4 == said[1:]
    assert record.user.invalid is None


@pytest.mark.parametrize("filtered", ["status", "finish_reason"])
def test_a_conversation_that_the_provider_refuses_for_the_agents_words_ends_there(
    converse: Converse, filtered: Literal["status", "finish_reason"]
) -> None:
    with RuleUser(refuses="forbidden", refuses_by=filtered) as model:
        _, record = converse(["Which size? Forbidden words.", "Done."], case=case_of(), user=spec_of(model))

    assert ("gave_up", None) == (record.user.ended, record.user.invalid)
    assert "the agent's replies" in record.user.reason


def test_a_refusal_that_is_not_for_the_agents_words_is_no_failure_of_the_agent(converse: Converse) -> None:
    with RuleUser(refuses="latte") as model, pytest.raises(GatewayError, match="user"):
        converse(["Which size?"], case=case_of(), user=spec_of(model))


def test_however_much_the_agent_says_the_request_stays_bounded(converse: Converse) -> None:
    with RuleUser() as model:
        converse(["Which size would you like? " * 1_000] * 12, case=case_of(max_turns=12), user=spec_of(model))
        longest = max(len(json.dumps(body)) for body in model.bodies)

    assert longest < LONGEST_HEARD + 20_000


def test_a_silent_agent_is_left(converse: Converse) -> None:
    with RuleUser() as model:
        _, record = converse(["", " ", "", ""], case=case_of(), user=spec_of(model))

    assert ("gave_up", None) == (record.user.ended, record.user.invalid)
    assert "said nothing 3 times" in record.user.reason


def test_the_turn_limit_is_named(converse: Converse) -> None:
    with RuleUser() as model:
        said, record = converse(["Which size would you like?"] * 5, case=case_of(max_turns=2), user=spec_of(model))

    assert (2, "turn_limit") == (len(said), record.user.ended)
