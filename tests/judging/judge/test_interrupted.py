"""A judge that is stopped in the middle keeps what was answered, and asks it never again."""

from collections import Counter

import pytest
from aiohttp import ClientSession, web

from harness.errors import GatewayError, ResultsError, UsageError
from harness.judging.rubrics import Criterion, Rubric
from harness.runs.store.judgements import JudgementWriter, read_judgements
from qa.doubles.rule_model import RuleModel
from tests.judging.judge.material import MIND, RUBRIC, dialogue
from tests.judging.judge.serving import served

TRIALS = {f"c{number}": dialogue("It costs 2.19.") for number in range(4)}


def test_what_was_answered_before_the_end_is_not_asked_again(stored_run, judging, monkeypatch):
    """The key is refused after five answers; the judgements are lost with the process, the cassettes are not."""
    folder, given = stored_run(TRIALS), Counter()
    monkeypatch.setenv("JUDGE_KEY", "the-judges-key")
    with RuleModel(MIND) as model:

        async def answer(request: web.Request) -> web.Response:
            given["asked"] += 1
            if given["asked"] > 5:
                return web.json_response({}, status=401)
            async with (
                ClientSession() as client,
                client.post(
                    f"{model.url}/chat/completions",
                    data=await request.read(),
                    headers={"Content-Type": "application/json"},
                ) as response,
            ):
                return web.json_response(await response.json())

        with served(answer) as url, pytest.raises(GatewayError, match="refused"):
            judging(folder, model, settings={"base_url": url, "in_flight": 1, "api_key": "JUDGE_KEY"})
        assert 5 == len(list(read_judgements(folder.path, "prices")))
        (folder.path / "judgements" / "prices.jsonl").unlink()
        done = judging(folder, model)
    assert (12, 5, 7) == (done.judged, done.recorded, done.calls)
    assert not list((folder.path / "judge").rglob(".*.journal"))


def test_code_that_cannot_be_found_is_a_usage_error(stored_run, judging, rule_model):
    rubric = Rubric(name="own", criteria=(Criterion(id="a", kind="code", statement="x", code="nowhere.py:Nothing"),))
    with pytest.raises(UsageError, match=r"nowhere\.py"):
        judging(stored_run(TRIALS), rule_model, rubric)


def test_two_judges_do_not_write_one_file(stored_run, judging, rule_model):
    folder = stored_run(TRIALS)
    with JudgementWriter(folder.path, RUBRIC.name), pytest.raises(ResultsError, match=r"prices\.jsonl"):
        judging(folder, rule_model)
    assert 12 == judging(folder, rule_model).judged


def test_a_damaged_line_is_named(stored_run, judging, rule_model):
    folder = stored_run(TRIALS)
    judging(folder, rule_model)
    path = folder.path / "judgements" / "prices.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1].replace('"attempt":1', '"attempt":"x"'), *lines[2:]]) + "\n")
    with pytest.raises(ResultsError, match=r"prices.jsonl:2: field 'judgement.attempt'"):
        list(read_judgements(folder.path, "prices"))
