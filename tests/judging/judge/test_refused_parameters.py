"""Models that refuse sampling parameters judge all the same; what was refused is asked once, left out and told."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.judging.settings import JudgeSettings
from harness.reports.judged import judged_rubric
from harness.reports.render.sections import judged_section
from harness.runs.judging import Judged, JudgeRequest, judge_run
from harness.runs.store.folder import RunFolder
from qa.doubles.rule_model import RuleModel
from tests.judging.judge.conftest import StoredRun
from tests.judging.judge.material import MIND, RUBRIC, dialogue
from tests.judging.judge.refusing import Provider, provider

ALL = {"temperature": 0.0, "top_p": 0.5, "seed": 7, "max_tokens": 500}
TRIALS = {f"case{number}": dialogue("It costs 2.19.") for number in range(4)}


@pytest.fixture
def judged(tmp_path, prompt) -> Callable[..., Judged]:
    def judge(folder: RunFolder, server: Provider, said: list[str] | None = None, **settings: Any) -> Judged:
        mode = settings.pop("mode", "auto")
        chosen = JudgeSettings(model="new-model", base_url=server.url, tries=2, first_wait_s=0.01, **settings)
        tell = (lambda _: None) if said is None else said.append
        return judge_run(
            tmp_path, folder, JudgeRequest(rubric=RUBRIC, prompt=prompt, settings=chosen, mode=mode, say=tell)
        )

    return judge


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_refused_temperature_is_learnt_once_and_told(stored_run: StoredRun, judged, wire) -> None:
    said: list[str] = []
    with provider("temperature") as server:
        done = judged(stored_run(TRIALS), server, said, provider=wire)
    assert {"pass": 12} == done.answers
    assert ["temperature"] == server.refused
    assert ["temperature"] == list(done.left_out)
    assert 1 == len(said)
    assert said[0].startswith("new-model refuses 'temperature'")
    assert "sampling: {temperature: null}" in said[0]


def test_every_refused_parameter_is_learnt_and_max_tokens_is_renamed(stored_run: StoredRun, judged) -> None:
    with provider("temperature", "top_p", "seed", "max_tokens") as server:
        done = judged(stored_run(TRIALS), server, sampling=ALL)
    assert {"pass": 12} == done.answers
    assert sorted(ALL) == sorted(server.refused)
    assert all(500 == body["max_completion_tokens"] and not set(ALL) & set(body) for body in server.sent)


def test_what_a_model_takes_is_sent_as_the_settings_say(stored_run: StoredRun, judged) -> None:
    with provider() as server:
        done = judged(stored_run(TRIALS), server, sampling={**ALL, "seed": None})
    assert {} == done.left_out
    assert all((0.0, 0.5, 500) == (one["temperature"], one["top_p"], one["max_tokens"]) for one in server.sent)
    assert not any("seed" in one for one in server.sent)


def test_a_request_is_bounded_and_a_refused_bound_of_its_schema_is_left_out(stored_run: StoredRun, judged) -> None:
    with provider() as server:
        judged(stored_run(TRIALS), server)
    schema = server.sent[0]["response_format"]["json_schema"]["schema"]["properties"]
    assert (4096, 1000, 8) == (
        server.sent[0]["max_tokens"],
        schema["rationale"]["maxLength"],
        schema["refs"]["maxItems"],
    )
    run = stored_run(TRIALS, name="strict")
    with provider("maxLength") as server:
        assert {"pass": 12} == judged(run, server).answers
        assert ["maxLength"] == server.refused
        again = stored_run(TRIALS, name="again")
        (again.path / "judge").symlink_to(run.path / "judge")
        assert {"pass": 12} == judged(again, server, mode="replay").answers


def test_null_leaves_a_parameter_out_from_the_start(stored_run: StoredRun, judged) -> None:
    with provider("temperature") as server:
        done = judged(stored_run(TRIALS), server, sampling={"temperature": None})
    assert ([], {}) == (server.refused, done.left_out)


def test_recordings_of_a_model_that_refused_are_replayed(stored_run: StoredRun, judged) -> None:
    run = stored_run(TRIALS)
    with provider("temperature", "max_tokens") as server:
        judged(run, server, sampling=ALL)
        asked = len(server.sent) + len(server.refused)
        again = stored_run(TRIALS, name="again")
        (again.path / "judge").symlink_to(run.path / "judge")
        done = judged(again, server, sampling=ALL, mode="replay")
        assert asked == len(server.sent) + len(server.refused)
    assert {"pass": 12} == done.answers


def test_an_error_about_something_else_is_told_and_nothing_is_left_out(stored_run: StoredRun, judged) -> None:
    """The positive control: a 400 that speaks of a parameter without refusing it is the judge's failure."""
    with provider("messages") as server:
        done = judged(stored_run({"case0": TRIALS["case0"]}), server)
    assert {"judge_failed": 3} == done.answers
    assert {} == done.left_out


def test_a_score_of_too_few_answers_is_unknown_and_shown_so(stored_run: StoredRun, judging) -> None:
    folder = stored_run({"case0": TRIALS["case0"]})
    with RuleModel(MIND, faults=dict.fromkeys(("grounded", "polite"), "server_error")) as broken:
        judging(folder, broken, RUBRIC, mode="live")
    score = judged_rubric(folder.path, "prices")
    assert score is not None
    assert (None, None, 1) == (score.mean, score.domain_mean, score.below_floor)
    assert all(part in judged_section(score).notes[0] for part in ("score unknown", "33 %", "50 %"))
