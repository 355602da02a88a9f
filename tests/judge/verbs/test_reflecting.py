"""A language model revises the prompt, over the wire; and a judge that fails wins nothing."""

from collections import Counter

from aiohttp import web

from qa.doubles.rule_model import RuleModel
from tests.judge.judge.serving import served
from tests.judge.verbs.stored import TOLD, label_all, mind


def _calibrating(tmp_path, model: RuleModel, *more: str) -> tuple[str, ...]:
    asked = ("--rubric", str(tmp_path / "prices.yaml"), "--model", "rule-model", "--base-url", model.url)
    return ("calibrate", "night", *asked, "--minibatch", "6", "--json", *more)


def test_a_model_is_told_what_went_wrong_and_its_revision_is_accepted(tmp_path, run, model, typed) -> None:
    label_all(tmp_path, run, "ann")
    requests: list[str] = []

    async def revise(request: web.Request) -> web.Response:
        body = await request.json()
        requests.append(body["messages"][0]["content"])
        told = f"Here it is:\n```\nYou judge one criterion.\n{TOLD}\n```"
        message = {"role": "assistant", "content": told}
        return web.json_response({"model": body["model"], "choices": [{"index": 0, "message": message}]})

    with served(revise) as url:
        reflecting = ("--reflector-model", "writer", "--reflector-base-url", url)
        status, done = typed(*_calibrating(tmp_path, model, *reflecting))
    assert (0, 1.0) == (status, done["outcome"]["held_out"]["after"]["agreement"])
    assert TOLD in (tmp_path / "prompts" / "judge" / "2.md").read_text()
    assert "People decided: fail" in requests[0]
    assert "It let through what must fail." in requests[0]
    assert "It is 9.99." in requests[0]


def test_a_reflector_that_fails_ends_it_with_what_to_do(tmp_path, run, model, typed) -> None:
    label_all(tmp_path, run, "ann")

    async def refuse(_: web.Request) -> web.Response:
        return web.json_response({"choices": [{"index": 0, "message": {"role": "assistant", "content": ""}}]})

    with served(refuse) as url:
        status, told = typed(*_calibrating(tmp_path, model, "--reflector-base-url", url))
    assert (3, True) == (status, "same command" in told)
    asked = Counter(model.asked)
    with served(refuse) as url:
        typed(*_calibrating(tmp_path, model, "--reflector-base-url", url))
    assert asked == model.asked


def test_a_judge_that_never_answers_properly_agrees_with_nobody_and_is_asked_again(tmp_path, run, typed) -> None:
    label_all(tmp_path, run, "ann")
    rules = ("--reflector-rules", str(tmp_path / "rules.yaml"), "--max-calls", "60")
    with RuleModel(mind(), faults={"grounded": "half_json"}) as model:
        status, done = typed(*_calibrating(tmp_path, model, *rules))
        held_out = done["outcome"]["held_out"]["before"]
        assert (1, None) == (status, done["after"])
        assert (0.5, held_out["questions"] // 2) == (held_out["agreement"], held_out["judge_failed"])
        before = model.asked["refunded"]
        typed(*_calibrating(tmp_path, model, *rules))
        assert before == model.asked["refunded"]
