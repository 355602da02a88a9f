"""The rule reflector knows its request and its book, and answers on the wire as a model does."""

import re
from pathlib import Path

import pytest

from harness.errors import InvalidDocument
from harness.gateway.models.client import ModelClient
from harness.gateway.models.recordings import ModelClientOptions
from harness.improve.candidates import Component
from harness.improve.reflector import (
    EditRule,
    EditRules,
    ReflectionRequest,
    RuleReflector,
    read_rule_book,
)
from harness.improve.rollouts import Rollout
from harness.judging.calibration_questions import ModelReflector, proposed_text
from harness.judging.settings import JudgeSettings
from harness.suite.models import ModelServer, ModelSpec
from qa.doubles.model_double import DoubleReply, DoubleRequest, ModelDouble

TEXT = "You are the cart agent.\n\n- Add two of each item.\n"
BOOK = EditRules(
    rules=(
        EditRule(text="cart agent", when="quantities", add="Add the quantity that is asked for."),
        EditRule(text="cart agent", when="quantities", drop="of each item"),
        EditRule(text="cart agent", when="within_budget", add="Keep the budget."),
        EditRule(text="search agent", when="", add="Name only what was found."),
    )
)


def request(*feedback: str, text: str = TEXT) -> str:
    failing = tuple(
        Rollout(case=f"c{n}", candidate="c-1", domains={"d": 0.0}, feedback=one) for n, one in enumerate(feedback)
    )
    cart = Component(name="cart", role="Changes the cart.", files=("cart.md",))
    return ReflectionRequest(component=cart, path="cart.md", text=text, failing=failing).prompt


def test_a_request_shows_conversations_as_long_as_its_budget_lasts():
    said = [f"user: number {n}. ``` {'more ' * 1_800}" for n in range(8)]
    failing = tuple(
        Rollout(case=f"c{n}", candidate="c-1", domains={"d": 0.0}, feedback=f"failed {n}", conversation=one)
        for n, one in enumerate(said)
    )
    cart = Component(name="cart", role="Changes the cart.", files=("cart.md",))
    asked = ReflectionRequest(component=cart, path="cart.md", text=TEXT, failing=failing).prompt
    assert ["number 0.", "number 4."] == re.findall(r"number [04567]\.", asked)
    assert 8 == len(re.findall("failed [0-7]", asked))
    assert 2 == asked[: asked.index("# Conversations")].count("```"), "of the text"
    assert "```" not in asked[asked.index("# Conversations") : asked.index("Find out")]


def test_it_edits_by_the_rules_that_the_feedback_is_for():
    reflector = RuleReflector(BOOK)
    answers = {proposed_text(reflector(request("criterion quantities failed"))) for _ in range(20)}
    assert answers == {TEXT + "- Add the quantity that is asked for.\n", "You are the cart agent.\n"}


def test_without_feedback_every_rule_about_the_text_is_tried():
    reflector = RuleReflector(BOOK)
    answers = {proposed_text(reflector(request())) for _ in range(40)}
    assert len(answers) == 3
    assert TEXT + "- Keep the budget.\n" in answers


def test_the_text_stays_where_no_rule_applies():
    assert proposed_text(RuleReflector(BOOK)(request("criterion tone failed"))) == TEXT


def test_a_seed_gives_the_same_answers_again():
    asked = request("criterion quantities failed")
    answers = [
        [reflector(asked) for _ in range(8)] for reflector in (RuleReflector(BOOK, seed=3), RuleReflector(BOOK, seed=3))
    ]
    assert answers[0] == answers[1]
    assert len(set(answers[0])) == 2


class ServedReflector(ModelDouble):
    """The rule reflector behind the wire of a model."""

    async def answer(self, asked: DoubleRequest) -> DoubleReply:
        return DoubleReply(text=RuleReflector(BOOK)(asked.said_by("user")))


def test_a_model_on_the_wire_proposes_what_the_same_reflector_does_in_this_process():
    with ServedReflector(name="rule-reflector") as model:
        spec = ModelSpec(providers={"openai": ModelServer(base_url=model.url)})
        asker = ModelClient(spec, "openai", ModelClientOptions(mode="live"))
        told = ModelReflector(asker=asker, model=model.name)(request("criterion within_budget failed"))
    assert proposed_text(told) == TEXT + "- Keep the budget.\n"
    assert model.requests == 1


class SmallModel(ModelDouble):
    """Real answers of small models: a text that is not finished, and none."""

    def __init__(self, reply: DoubleReply) -> None:
        super().__init__(name="small")
        self.reply = reply
        self.limits: list[object] = []

    async def answer(self, asked: DoubleRequest) -> DoubleReply:
        self.limits.append(asked.body["max_tokens"])
        return self.reply


@pytest.mark.parametrize(
    "reply", [DoubleReply(text="```\nUse this:\n```\nAdd the", cut=True), DoubleReply(text=""), DoubleReply(text="No.")]
)
def test_half_an_answer_and_none_propose_no_text(reply: DoubleReply):
    with SmallModel(reply) as model:
        settings = JudgeSettings.model_validate(
            {"model": "small", "base_url": model.url, "double": True, "sampling": {"max_tokens": 50}}
        )
        assert proposed_text(ModelReflector.of(settings, {})(request("criterion tone failed"))) is None
    assert [100] == model.limits


def test_a_book_with_a_rule_that_edits_nothing_is_refused(tmp_path: Path):
    (tmp_path / "book.yaml").write_text("rules:\n  - {text: cart}\n")
    with pytest.raises(InvalidDocument, match=r"book.yaml:2: .*`add`, `drop` or both"):
        read_rule_book(tmp_path / "book.yaml")


def test_a_book_with_a_broken_expression_is_refused_by_its_line(tmp_path: Path):
    (tmp_path / "book.yaml").write_text("rules:\n  - {text: '(cart', add: Keep the budget.}\n")
    with pytest.raises(InvalidDocument, match=r"book.yaml:2: .*'\(cart'"):
        read_rule_book(tmp_path / "book.yaml")


def test_the_book_of_the_grocery_suite_holds_every_rule_of_its_prompts(project: Path):
    suite = project / "suites/grocery"
    known = {f"- {rule.add}" for rule in read_rule_book(suite / "reflector.yaml").rules if rule.add}
    for path in (suite / "agents/shopper/prompts").glob("*.md"):
        assert {line for line in path.read_text().splitlines() if line.startswith("- ")} <= known
