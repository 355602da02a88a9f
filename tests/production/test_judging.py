"""Sessions are judged as trials are: once each, within the day's budget, and not where sampling leaves them out."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from harness.judging.certification import ClassRate, CriterionRates, JudgeRecord, add_record, asked_by, record_path
from harness.judging.prompts import PromptRegistry
from harness.judging.rubrics import Rubric
from harness.judging.settings import JudgeSettings
from harness.production.judging import JudgingRequest, SessionsJudged, day_rates, judge_sessions
from harness.production.scoring import ScoringRequest, score_sessions
from harness.production.session import EVENT, trial_attributes
from harness.production.settings import DailyBudget, OnlineSettings, SamplingRule
from harness.production.watch import daily_report
from harness.scoring.statistics.correction import Corrected
from harness.suite.agents import AgentVersion
from harness.suite.cases import Case
from harness.suite.suites import Suite
from harness.traces.trajectory import Trajectory
from harness.traces.trial import Trial
from qa.doubles.rule_model import RuleModel
from tests.judging.judge.material import MIND, RUBRIC
from tests.production.receiving import TRUSTED, Served, request, span

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
        self.suite = Suite(name="shop", folder=project, agents=agents, digest="d", cases=(CASE,))
        served.post("/v1/traces", request(*(chat(number, "Hello", f"Hi {number}") for number in range(1, 6))))
        score_sessions(served.store(), ScoringRequest(suite=self.suite, settings=OnlineSettings(pause_s=0)))

    def judge(
        self, model: RuleModel, settings: OnlineSettings | None = None, rubric: Rubric = RUBRIC
    ) -> SessionsJudged:
        judge = JudgeSettings(model="rule-model", base_url=model.url, first_wait_s=0.01, tries=2)
        return judge_sessions(
            self.served.store(),
            JudgingRequest(
                suite=self.suite,
                settings=settings or OnlineSettings(pause_s=0),
                rubric=rubric,
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


def test_two_rubrics_stand_beside_each_other(judging: Judging) -> None:
    """Both count in reports and charts; a criterion that both have is two signals."""
    other = RUBRIC.model_copy(update={"name": "second", "version": "2"})
    with RuleModel(MIND) as model:
        done = [judging.judge(model, rubric=rubric).judged for rubric in (RUBRIC, other)]
    assert [5, 5] == done
    store = judging.served.store()
    assert {RUBRIC.name: 5, "second": 5} == Counter(score.rubric for score in store.scores(kind="judge"))
    facts = store.facts("shop")
    (day,) = facts.days()
    named = {one.signal: one.sessions for one in facts.estimates(day, day) if one.signal.startswith("criterion:")}
    ids = {one.criterion for score in store.scores(kind="judge") for one in score.judgements if one.passed is not None}
    assert {f"criterion:{rubric}/{name}" for rubric in (RUBRIC.name, "second") for name in ids} == named.keys()
    assert {5} == {*named.values()}


def test_a_days_rates_are_corrected_by_labels_of_the_judge_that_scored_it(judging: Judging) -> None:
    folder = judging.project / "suites" / "shop" / "rubrics"
    folder.mkdir(parents=True)
    (folder / f"{RUBRIC.name}.yaml").write_text(json.dumps(RUBRIC.model_dump(mode="json", by_alias=True)))
    with RuleModel(MIND) as model:
        judging.judge(model)
    store = judging.served.store()
    facts, criterion = store.facts("shop"), RUBRIC.criteria[1]
    (day,) = facts.days()

    def corrected() -> Corrected | None:
        judged = day_rates(judging.project, facts, "shop", day)
        report = daily_report(facts, "shop", store.layout.watch, day, judged=judged)
        return next(one.corrected for one in report.rates if one.signal == f"criterion:{criterion.id}")

    untested = corrected()
    assert untested is not None
    assert untested.refused is not None
    rate = ClassRate(labels=200, right=200, effective=200)
    (judge,) = {one.judge for score in store.scores(kind="judge") for one in score.judgements if one.judge.prompt}
    record = JudgeRecord(
        time="2026-01-01T00:00:00+00:00", purpose="certification", rubric=RUBRIC.name, rubric_version="1", judge=judge,
        criteria={criterion.id: CriterionRates(question=asked_by(RUBRIC, criterion), passes=rate, fails=rate)},
        annotators=("ann",), used=(),
    )  # fmt: skip
    other = judge.model_copy(update={"model": "another"})
    add_record(record_path(judging.project, "shop", RUBRIC.name), record.model_copy(update={"judge": other}))
    assert corrected() == untested
    add_record(record_path(judging.project, "shop", RUBRIC.name), record)
    found = corrected()
    assert found is not None
    assert found.refused is not None
    assert "judged trials are needed" in found.refused, "five sessions tell nothing"


def test_sessions_about_which_nothing_can_be_asked_wait_for_nothing(judging: Judging) -> None:
    """A trial that could not be measured, as a trusted harness sends it."""
    trial = Trial(
        case_id="x",
        attempt=1,
        outcome="inconclusive",
        reason="a miss",
        trajectory=Trajectory(trace_id=f"{9:032x}", agent="a", steps=()),
    )
    ((_, known),) = trial_attributes(trial, None)
    facts = {**known, "gen_ai.conversation.id": "c9"}
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in facts.items()]
    log = {"eventName": EVENT, "traceId": f"{9:032x}", "timeUnixNano": "5", "attributes": attributes}
    headers = {"Authorization": f"Bearer {TRUSTED}"}
    agent = span(9, 1, attributes={"gen_ai.conversation.id": "c9", "gen_ai.operation.name": "invoke_agent"})
    judging.served.post("/v1/traces", request(agent), headers=headers)
    judging.served.post("/v1/logs", {"resourceLogs": [{"scopeLogs": [{"logRecords": [log]}]}]}, headers=headers)
    score_sessions(judging.served.store(), ScoringRequest(suite=judging.suite, settings=OnlineSettings(pause_s=0)))
    with RuleModel(MIND) as model:
        done, again = judging.judge(model), judging.judge(model)
    assert (5, 1, 0, 0) == (done.judged, done.without_question, done.waiting, done.failed)
    assert (6, 0, 0) == (again.before, again.without_question, again.waiting)
    # what was not measured is in no rate
    named = {one.signal: one.sessions for one in judging.served.store().facts("shop").estimates("2000", "9999")}
    assert (6, 5) == (named["unreadable"], named["any_failure_mode"])


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
