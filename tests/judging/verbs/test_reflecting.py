"""A language model revises the prompt, over the wire; and a judge that fails wins nothing."""

import json
from collections import Counter
from pathlib import Path

import pytest
from aiohttp import web

from harness.runs.store.folder import RunFolder
from qa.doubles.rule_model import RuleModel
from tests.judging.judge.serving import served
from tests.judging.verbs.stored import REVISIONS, TOLD, label_all, mind, store


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return store(tmp_path, cases=40)


def _calibrating(tmp_path, *more: str) -> tuple[str, ...]:
    asked = ("--rubric", str(tmp_path / "prices.yaml"), "--model", "rule-model")
    return ("calibrate", "night", *asked, "--minibatch", "6", "--json", *more)


def test_a_model_is_told_what_went_wrong_and_its_revision_is_accepted(tmp_path, run, model, typed, monkeypatch) -> None:
    label_all(tmp_path, run, "ann")
    requests: list[str] = []

    async def revise(request: web.Request) -> web.Response:
        body = await request.json()
        requests.append(json.dumps(body["messages"]))
        told = f"Here it is:\n```\nYou judge one criterion.\n{TOLD}\n```"
        return web.json_response(
            {
                "type": "message",
                "role": "assistant",
                "model": body["model"],
                "content": [{"type": "text", "text": told}],
            }
        )

    with served(revise) as url:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        status, done = typed(*_calibrating(tmp_path, "--reflector", "claude-writer"))
    assert (0, 1.0) == (status, done["outcome"]["held_out"]["after"]["agreement"])
    assert TOLD in (tmp_path / "prompts" / "judge" / "2.md").read_text()
    assert "People decided: fail" in requests[0]
    assert "It let through what must fail." in requests[0]
    assert "It is 9.99." in requests[0]


def test_a_reflector_that_fails_ends_it_with_what_to_do(tmp_path, run, model, typed, monkeypatch) -> None:
    label_all(tmp_path, run, "ann")

    async def refuse(_: web.Request) -> web.Response:
        return web.json_response({"type": "error", "error": {"message": "no"}}, status=400)

    with served(refuse) as url:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        status, told = typed(*_calibrating(tmp_path, "--reflector", "claude-writer"))
    assert (3, True) == (status, "same command" in told)
    asked = Counter(model.asked)
    with served(refuse) as url:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        typed(*_calibrating(tmp_path, "--reflector", "claude-writer"))
    assert asked == model.asked


def test_a_judge_that_never_answers_properly_agrees_with_nobody_and_is_asked_again(
    tmp_path, run, typed, monkeypatch
) -> None:
    label_all(tmp_path, run, "ann")
    rules = ("--reflector", "rule-reflector", "--max-calls", "60")
    with RuleModel(mind(), faults={"grounded": "half_json"}, revisions=REVISIONS) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.url)
        status, done = typed(*_calibrating(tmp_path, *rules))
        held_out = done["outcome"]["held_out"]["before"]
        assert (0, None) == (status, done["after"])
        assert (0.5, held_out["questions"] // 2) == (held_out["agreement"], held_out["judge_failed"])
        before = model.asked["refunded"]
        typed(*_calibrating(tmp_path, *rules))
        assert before == model.asked["refunded"]
