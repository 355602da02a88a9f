"""A judge that misbehaves gives no verdict, and one that is busy is asked again."""

import json
import re

import pytest
from aiohttp import web

from harness.errors import GatewayError, UsageError
from harness.gateway.models.formats import Replied
from harness.judging.questions import JudgeFailed, read_answer
from harness.judging.rubrics import Criterion, Rubric
from harness.reports.judged import judged_rubric
from harness.runs.store.judgements import read_judgements
from qa.doubles.rule_model import RuleModel
from tests.judging.judge.material import GROUNDED, MIND, POLITE, REFUNDED, dialogue
from tests.judging.judge.serving import served

RUBRIC = Rubric(name="prices", criteria=(GROUNDED, POLITE))
RIGHT = {"right": dialogue("It costs 2.19.")}


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("prose", "not JSON"),
        ("wrong_id", "answered the criterion 'grounded_of_another_kind'"),
        ("half_json", "not JSON"),
        ("nothing", "no text|no message"),
        ("refusal", "not JSON: 'I cannot help"),
    ],
)
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_what_is_no_answer_is_no_verdict(stored_run, judging, fault, why, provider):
    folder = stored_run(RIGHT)
    with RuleModel(MIND, faults={"grounded": fault}) as model:
        url = model.url if provider == "openai" else model.url.removesuffix("/v1")
        done = judging(folder, model, RUBRIC, settings={"provider": provider, "base_url": url})
        assert 2 == model.asked["grounded"]  # once more, in case it was a slip
    assert {"judge_failed": 1, "pass": 1} == done.answers
    failed = next(one for one in read_judgements(folder.path, "prices") if one.criterion == "grounded")
    assert (None, None) == (failed.eligible, failed.passed)
    assert re.search(why, failed.failure)


def test_a_failed_judge_is_asked_again_by_the_next_run_and_lowers_the_coverage(stored_run, judging):
    folder = stored_run(RIGHT)
    with RuleModel(MIND, faults={"grounded": "server_error"}) as broken:
        done = judging(folder, broken, RUBRIC, mode="live")
    assert 1 == done.answers["judge_failed"]
    score = judged_rubric(folder.path, "prices")
    assert (0.5, 1.0, None) == (score.coverage, score.mean, score.pass_rate)
    with RuleModel(MIND) as model:
        assert {"pass": 1} == judging(folder, model, RUBRIC, mode="live").answers
    assert 1.0 == judged_rubric(folder.path, "prices").coverage


def test_a_busy_model_is_asked_again(stored_run, judging):
    folder = stored_run(RIGHT)
    with RuleModel(MIND, faults={"*": "busy_once"}) as model:
        done = judging(folder, model, RUBRIC)
        assert {"grounded": 2, "polite": 2} == dict(model.asked)
    assert {"pass": 2} == done.answers


def test_a_model_that_never_answers_is_a_failed_judge(stored_run, judging):
    folder = stored_run(RIGHT)
    rubric = Rubric(name="prices", criteria=(GROUNDED,))
    with RuleModel(MIND, faults={"grounded": "timeout"}) as model:
        assert {"judge_failed": 1} == judging(folder, model, rubric, settings={"timeout_s": 0.1}).answers
    assert "TimeoutError" in next(read_judgements(folder.path, "prices")).failure


def test_nobody_there_is_a_failed_judge(stored_run, judging):
    with RuleModel(MIND) as model:
        pass
    folder = stored_run(RIGHT)
    assert {"judge_failed": 2} == judging(folder, model, RUBRIC).answers


def test_a_missing_key_is_said_before_anything_is_asked(stored_run, judging, rule_model):
    with pytest.raises(UsageError, match="NO_SUCH_KEY"):
        judging(stored_run(RIGHT), rule_model, settings={"api_key": "NO_SUCH_KEY"})
    assert 0 == rule_model.requests


def test_a_refused_key_ends_the_run(stored_run, judging, rule_model, monkeypatch):
    async def refuse(_: web.Request) -> web.Response:
        return web.json_response({"error": "bad key s3cret-value"}, status=401)

    monkeypatch.setenv("JUDGE_KEY", "s3cret-value")
    with served(refuse) as url, pytest.raises(GatewayError, match="JUDGE_KEY") as refused:
        judging(stored_run(RIGHT), rule_model, settings={"api_key": "JUDGE_KEY", "base_url": url})
    assert "s3cret-value" not in str(refused.value)


GOOD = {"criterion": "refunded", "eligible": True, "rationale": "so", "verdict": "pass", "refs": ["s0"]}


def replied(text: str) -> Replied:
    return Replied(message={"role": "assistant", "parts": [{"type": "text", "content": text}]})


@pytest.mark.parametrize(
    "around",
    [
        "```json\n{}\n```",
        "```\n{}```\n",
        "```json {} ```",
        "<think>\nThe agent said </think> and {{}}.\n</think>\n\n{}",
        "It was refunded.</think>```json\n{}\n```",
        "\n{}\n",
    ],
)
def test_thoughts_before_the_answer_and_a_fence_around_it_are_taken_off(around: str):
    text = around.format(json.dumps(GOOD | {"rationale": "it said </think>"} if around == "\n{}\n" else GOOD))
    assert "pass" == read_answer(replied(text), REFUNDED, {"s0"}).verdict


STEP = Criterion(id="decisive_step", statement="None does.", kind="step")
NAMED = {**GOOD, "criterion": STEP.id, "verdict": "fail", "refs": ["L1", "s4"], "step": 4, "mode": "goal_drift"}


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"step": 5}, "step 5, at which no agent acted"),
        ({"step": None}, "step None"),
        ({"step": "4"}, "unexpected form"),
        ({"mode": "bad_luck"}, "unexpected form"),
        ({"mode": "other"}, "no mode"),
        ({"refs": ["L1", "L2"]}, "L2"),
        ({"verdict": "pass"}, "contradicts itself"),
    ],
)
def test_a_step_is_held_against_the_steps_and_the_log(changed, problem: str):
    shown = ({"L1", "s4"}, {4})
    assert (4, "goal_drift") == ((read := read_answer(replied(json.dumps(NAMED)), STEP, *shown)).step, read.mode)
    with pytest.raises(JudgeFailed, match=problem):
        read_answer(replied(json.dumps(NAMED | changed)), STEP, *shown)


@pytest.mark.parametrize("around", ["<think>{}", "<think>{}</think>", "So: {}", "```json\n{}", "{} That is all."])
def test_prose_is_not_searched_for_an_answer(around: str):
    with pytest.raises(JudgeFailed, match="not JSON"):
        read_answer(replied(around.format(json.dumps(GOOD))), REFUNDED, {"s0"})


NO_ANSWERS = {
    "empty object": ("{}", "stop"),
    "nothing": ("", "stop"),
    "broken": ('{"criterion": "grounded", "eligible"', "stop"),
    "cut off": ('{"criterion": "grounded", "eligible": true, "rationale": "It', "length"),
}


@pytest.mark.parametrize("kind", [*NO_ANSWERS, "cut off call"])
@pytest.mark.parametrize("repaired", [False, True])
def test_what_is_no_answer_is_not_recorded_and_its_repair_is(stored_run, judging, tmp_path, kind, repaired):
    asked = []

    async def answer(request: web.Request) -> web.Response:
        body = await request.json()
        asked.append(body)
        told = GOOD | {"criterion": "grounded", "refs": []}
        text, finish = NO_ANSWERS.get(kind, (None, "length"))
        call = {"id": "k", "type": "function", "function": {"name": "verdict", "arguments": json.dumps(told)}}
        if repaired and len(body["messages"]) > 2:
            text, finish = json.dumps(told), "stop"
        message = {"role": "assistant", "content": text} | ({} if text is not None else {"tool_calls": [call]})
        return web.json_response({"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": finish}]})

    rubric = Rubric(name="prices", criteria=(GROUNDED,))
    right = {"pass": 1} if repaired else {"judge_failed": 1}
    with served(answer) as url:
        settings = {"base_url": url}
        folder = stored_run(RIGHT)
        with RuleModel(MIND) as model:
            assert right == judging(folder, model, rubric, settings=settings).answers
            assert 2 == len(asked)
            again = {"mode": "replay", "again": True, "settings": settings}
            assert right == judging(folder, model, rubric, **again).answers
            assert 2 == len(asked)
    recorded = [path for path in (folder.path / "judge").rglob("*") if path.is_file()]
    assert bool(recorded) is repaired
    if not repaired:
        assert "no recording" in [one.failure for one in read_judgements(folder.path, "prices")][-1]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (GOOD | {"eligible": False}, "contradicts itself"),
        (GOOD | {"verdict": None}, "contradicts itself"),
        (GOOD | {"verdict": "PASS"}, "verdict"),
        (GOOD | {"eligible": "true"}, "eligible"),
        (GOOD | {"confidence": 1}, "confidence"),
        (GOOD | {"refs": ["s99"]}, "s99"),
        (GOOD | {"criterion": "grounded"}, "'grounded'"),
        ([GOOD], "object"),
        ("pass", "object"),
    ],
)
def test_an_answer_in_another_form_is_none(answer, why):
    with pytest.raises(JudgeFailed, match=why):
        read_answer(replied(json.dumps(answer)), REFUNDED, {"s0"})


def test_a_name_given_twice_is_no_answer():
    twice = json.dumps(GOOD)[:-1] + ', "verdict": "fail"}'
    with pytest.raises(JudgeFailed, match="not JSON"):
        read_answer(replied(twice), REFUNDED, {"s0"})


def test_a_criterion_that_always_applies_cannot_be_called_not_eligible():
    said = {"criterion": "polite", "eligible": False, "rationale": "", "verdict": None, "refs": []}
    with pytest.raises(JudgeFailed, match="not eligible"):
        read_answer(replied(json.dumps(said)), POLITE, {"s0"})


def test_unknown_refs_are_dropped_where_others_are_known():
    assert ("s0",) == read_answer(replied(json.dumps(GOOD | {"refs": ["s0", "s99", "s0"]})), REFUNDED, {"s0"}).refs
