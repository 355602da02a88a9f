"""`entailment:`: a model decides on a turn that is not equal to the log's, by one question with both turns."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.gateway.contract import SessionRecord
from harness.judging.prompts import PromptRegistry
from harness.suite.cases import Case
from harness.suite.conversations import EntailmentSpec, UserSpec
from harness.users.log import LoggedTurn, UserLog
from harness.users.users import UserOptions
from qa.doubles.model_double import DoubleReply, DoubleRequest, ModelDouble
from tests.users.conftest import Converse

SAID = "Which vessel would the gentleman prefer for his beverage?"
LOGGED = "Which cup do you want for your coffee?"
LOG = UserLog(
    turns=(
        LoggedTurn(user="A coffee, please.", agent=LOGGED),
        LoggedTurn(user="The paper one.", agent="Goodbye."),
    )
)
CASE = Case(id="coffee", task="A coffee, please.")
SAME = {"reason": "so", "first_entails_second": True, "second_entails_first": True}
PROMPT = PromptRegistry(Path("nowhere")).get("entailment").text


class Comparing(ModelDouble):
    """Says of every pair what it was made to say."""

    def __init__(self, *answers: object) -> None:
        super().__init__(name="comparing")
        self.asked: list[dict[str, Any]] = []
        self._answers = answers

    async def answer(self, asked: DoubleRequest) -> DoubleReply:
        self.asked.append(json.loads(asked.said_by("user")))
        answer = self._answers[(len(self.asked) - 1) % len(self._answers)]
        return DoubleReply(text=answer if isinstance(answer, str) else json.dumps(answer))


def spec_of(model: ModelDouble, **own: object) -> UserSpec:
    asked = {"model": model.name, "base_url": model.url, "mode": "live"} | own
    return UserSpec(entailment=EntailmentSpec.model_validate(asked))


def played_back(converse: Converse, model: ModelDouble, reply: str, **own: object) -> tuple[list[str], SessionRecord]:
    return converse(
        [reply, "Goodbye."],
        case=CASE,
        user=spec_of(model, **own),
        options=UserOptions(kind="logged", logs={CASE.id: LOG}, entailment=PROMPT),
    )


def test_other_words_are_played_back_where_both_entail_each_other(converse: Converse) -> None:
    with Comparing(SAME) as model:
        said, record = played_back(converse, model, SAID)

    assert ["A coffee, please.", "The paper one."] == said
    assert record.user is not None
    assert (1, 1) == (record.user.replayed, record.user.entailed)
    log, agent = {"said": LOGGED, "calls": []}, {"said": SAID, "calls": []}
    assert [{"first": log, "second": agent}] == model.asked
    (verdict,) = record.user.entailments
    assert (1, log, agent, "same", "so") == (*verdict.model_dump().values(),)
    assert record.user.input_tokens > 0


@pytest.mark.parametrize(
    "answer",
    [
        {**SAME, "second_entails_first": False},
        {**SAME, "first_entails_second": False},
        {"reason": "so", "first_entails_second": 1, "second_entails_first": 1},
        {"same": True},
        "Both are the same.",
        pytest.param("[" * 100_000, id="nested without end"),
        "",
    ],
)
def test_any_other_answer_leaves_the_log(converse: Converse, answer: object) -> None:
    with Comparing(answer) as model:
        said, record = played_back(converse, model, SAID)

    assert ["A coffee, please."] == said
    assert record.user is not None
    assert record.user.divergence is not None


@pytest.mark.parametrize("form", ["<think>Hm.</think>{}", "```json\n{}\n```"])
def test_an_answer_is_read_behind_thoughts_and_in_a_code_fence(converse: Converse, form: str) -> None:
    with Comparing(form.replace("{}", json.dumps(SAME))) as model:
        said, _ = played_back(converse, model, SAID)

    assert ["A coffee, please.", "The paper one."] == said


@pytest.mark.parametrize(
    "reply",
    [
        f"{SAID} {'We also serve a very large number of other pleasant things. ' * 6}",
        f"{SAID} [[END: GOAL REACHED]]",
        "x" * 200_000,
    ],
    ids=["much", "signal", "endless"],
)
def test_the_model_is_not_asked_about_a_turn_that_adds_much_or_ends_the_conversation(
    converse: Converse, reply: str
) -> None:
    with Comparing(SAME) as model:
        said, record = played_back(converse, model, reply)

    assert ["A coffee, please."] == said
    assert [] == model.asked
    assert record.user is not None
    assert len(record.user.model_dump_json()) < 30_000
    assert ["different"] == [one.verdict for one in record.user.entailments]


def test_the_model_is_shown_the_calls(converse: Converse) -> None:
    with Comparing({**SAME, "first_entails_second": False}) as model:
        _, record = converse(
            [([("add", {"item": "tea"})], LOGGED), "Goodbye."],
            case=CASE,
            user=spec_of(model),
            options=UserOptions(kind="logged", logs={CASE.id: LOG}, entailment=PROMPT),
        )

    assert [] == model.asked[0]["first"]["calls"]
    assert [("add", {"item": "tea"}, "write")] == [
        (one["name"], one["arguments"], one["effect"]) for one in model.asked[0]["second"]["calls"]
    ]
    assert "calls" == record.user.divergence.kind


def test_answers_are_recorded_and_replayed_without_a_model(converse: Converse, tmp_path: Path) -> None:
    with Comparing(SAME) as model:
        first, _ = played_back(converse, model, SAID, mode="record")
        again, record = played_back(converse, model, SAID, mode="replay")

    assert first == again
    assert 1 == len(model.asked)
    assert record.user is not None
    assert 1 == record.user.entailed


def test_without_a_recording_the_log_is_left(converse: Converse) -> None:
    with Comparing(SAME) as model:
        said, record = played_back(converse, model, SAID, mode="replay")

    assert ["A coffee, please."] == said
    assert [] == model.asked
    assert record.user is not None
    assert record.user.divergence is not None
    assert "words" == record.user.divergence.kind
    assert ["unanswered"] == [one.verdict for one in record.user.entailments]


def test_its_key_is_one_of_the_suites_secrets() -> None:
    spec = UserSpec(
        model="user", api_key="USER_KEY", entailment=EntailmentSpec(model="entails", api_key="ENTAILMENT_KEY")
    )

    assert ("USER_KEY", "ENTAILMENT_KEY") == spec.secrets
