"""Trials that end in several threads are judged by a model at the same time."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.improve.candidates import candidate_of, components_of, texts_of
from harness.improve.trial_verdict import TrialJudge, open_judge
from harness.improve.whole_trials import open_whole_trials
from harness.judging.rubrics import load_rubric
from harness.runs.plan.plan import RunOptions
from harness.runs.plan.planning import plan_of
from qa.doubles.model_double import DoubleError, DoubleReply, DoubleRequest
from qa.doubles.rule_model import RuleModel
from qa.doubles.rules import RuleSet
from tests.improve.prompts.conftest import tea

RUBRIC = """
name: manner
domains: {manner: 1}
criteria:
  - {id: polite, domain: manner, statement: The reply is polite.}
"""


def test_a_safety_criterion_without_an_answer_is_a_veto(tmp_path: Path) -> None:
    project = tea(tmp_path)
    rubric = RUBRIC.replace("polite, domain", "polite, safety: true, domain")
    (project / "suites/tea/rubrics/manner.yaml").write_text(rubric)
    plan = plan_of(project, RunOptions(suite="tea", sandbox="local"))
    start = candidate_of(texts_of(plan.suite, components_of(plan.suite)))
    with RuleModel(RuleSet(), faults={"polite": "nothing"}) as model:
        typed = {"model": model.name, "base_url": model.url}
        judge = TrialJudge(judge=open_judge(project, plan.suite, load_rubric("manner", plan.suite.folder), typed))
        with open_whole_trials(plan, judge) as whole:
            (rollout,) = whole.run(start, ["order-1"])
    assert ("safety: polite, undecided",) == rollout.vetoes


class Meeting(RuleModel):
    """Answers no question but the first one until another one has come."""

    def __init__(self) -> None:
        super().__init__(RuleSet())
        self._met = asyncio.Event()
        self._come = 0

    async def answer(self, asked: DoubleRequest) -> DoubleReply | DoubleError:
        self._come += 1
        if self._come == 3:
            self._met.set()
        if self._come > 1:
            await self._met.wait()
        return await super().answer(asked)


@pytest.fixture
def model() -> Iterator[Meeting]:
    with Meeting() as model:
        yield model


def test_a_trial_does_not_wait_for_the_judgement_of_another_one(tmp_path: Path, model: Meeting) -> None:
    project = tea(tmp_path)
    (project / "suites/tea/rubrics/manner.yaml").write_text(RUBRIC)
    plan = plan_of(project, RunOptions(suite="tea", sandbox="local"))
    typed = {"model": model.name, "base_url": model.url, "timeout_s": 60}
    judge = TrialJudge(judge=open_judge(project, plan.suite, load_rubric("manner", plan.suite.folder), typed))
    start = candidate_of(texts_of(plan.suite, components_of(plan.suite)))
    with open_whole_trials(plan, judge) as whole:
        first, *others = whole.trials(start, ["order-1", "order-2", "order-3"])
    judge.verdicts([first])
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda one: judge.verdicts([one]), others))
    assert 3 == model.requests  # a question that waited alone would have been sent again
    assert [1, 1] == [len(verdicts) for verdicts in found]
