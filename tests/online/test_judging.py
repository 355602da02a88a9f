"""Sessions are judged as trials are: once each, within the day's budget, and not where sampling leaves them out."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.case import AgentVersion, Case, Suite
from harness.judge import JudgeSettings, PromptRegistry
from harness.judge.rule_model import RuleModel
from harness.online import (
    JudgingRequest,
    OnlineSettings,
    ScoringRequest,
    SessionsJudged,
    judge_sessions,
    score_sessions,
)
from harness.online.settings import DailyBudget, SamplingRule
from tests.judge.judge.material import MIND, RUBRIC
from tests.online.receiving import Served, request, span

CASE = Case(id="x", task="x")


def chat(session: int, *said: str) -> dict[str, Any]:
    """A session in which a user says the first text and the agent the second."""
    parts = [[{"role": role, "parts": [{"type": "text", "content": text}]}] for role, text in
             zip(("user", "assistant"), said, strict=True)]  # fmt: skip
    facts = {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": f"c{session}",
        "gen_ai.input.messages": json.dumps(parts[0]),
        "gen_ai.output.messages": json.dumps(parts[1]),
    }
    return span(session, 1, attributes=facts)


class Judging:
    """A store of five scored sessions, and judges of them."""

    def __init__(self, served: Served, project: Path) -> None:
        self.served, self.project = served, project
        agents = {"a": AgentVersion(command=("true",), files=".")}
        self.suite = Suite(name="shop", folder=project, agents=agents, default_agent="a", digest="d", cases=(CASE,))
        served.post("/v1/traces", request(*(chat(number, "Hello", f"Hi {number}") for number in range(1, 6))))
        score_sessions(served.store(), ScoringRequest(suite=self.suite, settings=OnlineSettings(pause_s=0)))

    def judge(self, model: RuleModel, settings: OnlineSettings | None = None) -> SessionsJudged:
        judge = JudgeSettings(model="rule-model", base_url=model.url, first_wait_s=0.01, tries=2)
        return judge_sessions(
            self.served.store(),
            JudgingRequest(
                suite=self.suite,
                settings=settings or OnlineSettings(pause_s=0),
                rubric=RUBRIC,
                prompt=PromptRegistry(self.project).get("judge"),
                judge=judge,
            ),
        )


@pytest.fixture
def judging(served: Served, tmp_path: Path) -> Judging:
    return Judging(served, tmp_path)


def test_each_session_is_judged_once_by_every_criterion(judging: Judging) -> None:
    with RuleModel(MIND) as model:
        first, again = judging.judge(model), judging.judge(model)

    assert (5, 0, 0) == (first.judged, first.failed, first.waiting)
    assert (5, 0) == (again.before, again.judged)
    scores = judging.served.store().scores(kind="judge")
    assert {len(RUBRIC.criteria)} == {len(score.judgements) for score in scores}
    assert {"rule-model/judge"} == {score.judge.partition("@")[0] for score in scores}
    assert first.tokens > 0


def test_a_judge_that_fails_is_asked_again_in_the_next_round(judging: Judging) -> None:
    with RuleModel(MIND, faults={"*": "server_error"}) as broken:
        failed = judging.judge(broken)
    with RuleModel(MIND) as model:
        mended = judging.judge(model)
    assert (0, True, 5) == (failed.judged, failed.failed > 0, mended.judged)


def test_the_days_budget_holds_over_rounds(judging: Judging) -> None:
    settings = OnlineSettings(pause_s=0, budget=DailyBudget(tokens=1))
    with RuleModel(MIND) as model:
        first, second = judging.judge(model, settings), judging.judge(model, settings)
        asked = model.asked
        assert first.stopped is not None
        assert (second.judged, asked) == (0, model.asked)
        later = judging.judge(model)
    assert 5 == first.judged + later.judged


def test_sampling_leaves_sessions_to_rules_alone(judging: Judging) -> None:
    rules = (SamplingRule(name="all", rate=1, scores="rules"), SamplingRule(name="bad", when="thumbs_down", rate=1))
    with RuleModel(MIND) as model:
        done = judging.judge(model, OnlineSettings(pause_s=0, sampling=rules))
    assert (0, 5) == (done.judged, done.skipped)
