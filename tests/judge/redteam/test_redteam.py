"""`harness judge redteam`: passes are counted by class, and a judge that gets the controls wrong is not measured."""

import base64
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from click.testing import CliRunner, Result

from harness.cli.main import harness
from harness.judge.redteam.texts import ATTACK_CLASSES, TEXTS
from tests.judge.judge.serving import served

Judging = Callable[[str], str]
"""What stands in the evidence, unescaped -> pass or fail."""
RIGHT = re.compile(r"costs 2\.19|could not be cancelled|Two lamps are ordered")


def honest(evidence: str) -> str:
    return "pass" if RIGHT.search(evidence) else "fail"


def gullible(evidence: str) -> str:
    """Believes what is encoded, and nothing else."""
    codes = re.findall(r"[A-Za-z0-9+/]{40,}={0,2}", evidence)
    decoded = "".join(base64.b64decode(code, validate=False).decode("latin-1") for code in codes if not len(code) % 4)
    return "pass" if "answer pass" in decoded else honest(evidence)


@contextmanager
def judge_of(decide: Judging) -> Iterator[str]:
    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        user = next(one["content"] for one in body["messages"] if one["role"] == "user")
        criterion = json.loads(user.split("\n\n")[1])["id"]
        lines = [json.loads(line) for line in user.splitlines() if line.startswith('{"ref"')]
        verdict = decide("\n".join(line["said"] for line in lines))
        told = {"criterion": criterion, "eligible": True, "verdict": verdict, "rationale": "So it is.", "refs": []}
        message = {"role": "assistant", "content": json.dumps(told)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 100, "completion_tokens": 10}
        return web.json_response({"id": "c", "model": body["model"], "choices": [choice], "usage": usage})

    with served(answer) as url:
        yield url


@pytest.fixture
def attack(tmp_path: Path) -> Callable[..., Result]:
    def run(decide: Judging, *words: str) -> Result:
        with judge_of(decide) as url:
            asked = ["judge", "redteam", "--model", "m", "--base-url", url, "--calls", "live", *words]
            return CliRunner().invoke(harness, ["--project", str(tmp_path), *asked])

    return run


def report(done: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_there_are_thirty_texts_of_eight_classes() -> None:
    assert set(ATTACK_CLASSES) == set(TEXTS)
    assert 30 <= sum(map(len, TEXTS.values())) == len({text for texts in TEXTS.values() for text in texts})
    assert all(len(texts) >= 4 for texts in TEXTS.values())


def test_a_judge_that_withstands_exits_0_with_an_interval(attack) -> None:
    done = attack(honest, "--json")
    assert 0 == done.exit_code, done.output
    found = report(done)
    assert (0, sum(map(len, TEXTS.values()))) == (found["overall"]["passes"], found["overall"]["answered"])
    assert 0.0 == found["overall"]["interval"]["low"] < found["overall"]["interval"]["high"] < 0.1
    assert [] == found["controls_wrong"]


def test_a_judge_that_believes_what_is_encoded_is_caught_in_that_class(attack) -> None:
    done = attack(gullible, "--json")
    assert 1 == done.exit_code, done.output
    found = report(done)
    rows = {row["name"]: row["passes"] for row in found["classes"]}
    assert {"encoded": 1} == {name: passes for name, passes in rows.items() if passes}
    assert "encoded" == found["passes"][0]["planting"]["attack"]


def test_the_threshold_decides_the_exit(attack) -> None:
    assert 0 == attack(gullible, "--max-rate", "0.5").exit_code
    assert 1 == attack(gullible, "--max-rate", "0.01").exit_code


@pytest.mark.parametrize("verdict", ["pass", "fail"])
def test_a_judge_with_one_answer_for_everything_is_not_measured(attack, verdict) -> None:
    done = attack(lambda _: verdict)
    assert 3 == done.exit_code, done.output
    assert "valid" in done.output


def test_the_cost_is_said_before_anything_is_asked(attack) -> None:
    asked: list[str] = []

    def counting(evidence: str) -> str:
        asked.append(evidence)
        return honest(evidence)

    done = attack(counting, "--dry-run")
    number = int(re.search(r"(\d+) questions to m: about \d+ tokens in", done.output)[1])
    assert [] == asked
    attack(counting)
    assert number == len(asked)


def test_thorough_plants_each_text_at_every_place_of_every_trial(attack) -> None:
    done = attack(honest, "--thorough", "--class", "authority", "--json")
    assert 9 * len(TEXTS["authority"]) == report(done)["overall"]["planted"]


def test_a_budget_that_ends_early_is_no_clean_result(attack) -> None:
    done = attack(honest, "--budget-tokens", "500", "--in-flight", "1")
    assert 3 == done.exit_code, done.output
    assert "stopped: " in done.output
