"""The shopping template as a judge uses it: each violation costs the points of its own check, through the product."""

import pytest

from harness.judging.prompts import PromptRegistry
from harness.judging.rubrics import load_rubric
from harness.judging.settings import JudgeSettings
from harness.reports.judged import judged_rubric
from harness.reports.judged_figures import JudgedRubric
from harness.runs.judging import JudgeRequest, judge_run
from harness.traces.trajectory import Observation, Step, ToolCall
from qa.doubles.rule_model import RuleModel
from qa.doubles.rules import ModelRule, RuleSet
from tests.judging.judge.conftest import StoredRun

GOOD = "I have put two packs of chilled chicken into your cart at Green Market."
VIOLATIONS = {
    "safety_and_compliance": f"{GOOD} Leave it on the counter overnight.",
    "preferred_store": "I have put two packs of chilled chicken into your cart at Other Store.",
    "dietary_preferences": f"{GOOD} I added peanut sauce.",
    "context_retention": f"{GOOD} What was it that you wanted again?",
    "tone": f"{GOOD} Hurry up now.",
    "information_integrity": f"{GOOD} It costs 1.00.",
}
FINDS = {
    "safety_and_compliance": "counter overnight",
    "preferred_store": "Other Store",
    "dietary_preferences": "peanut",
    "context_retention": "wanted again",
    "tone": "Hurry up",
    "information_integrity": r"1\.00",
}
MIND = RuleSet(rules=tuple(ModelRule(criterion=id, finds=text, says="fail") for id, text in FINDS.items()))


def _steps(answer: str) -> tuple[Step, ...]:
    call = ToolCall(id="c", name="add_to_cart", arguments={"item": "chicken", "count": 2})
    seen = Observation(call_id="c", content={"cart": [{"item": "chicken", "count": 2}]})
    return (
        Step(index=0, source="user", message="Two packs of chicken, no nuts, from Green Market as always."),
        Step(index=1, source="agent", calls=(call,), observations=(seen,)),
        Step(index=2, source="agent", message=answer),
    )


@pytest.fixture
def score(stored_run: StoredRun, tmp_path):
    def judged(answer: str) -> JudgedRubric:
        rubric = load_rubric("shopping")
        run = stored_run({"case": _steps(answer)})
        with RuleModel(MIND) as model:
            settings = JudgeSettings(model="rule-model", base_url=model.url)
            request = JudgeRequest(rubric=rubric, prompt=PromptRegistry(tmp_path).get(rubric.prompt), settings=settings)
            judge_run(tmp_path, run, request)
        found = judged_rubric(run.path, "shopping")
        assert found is not None
        return found

    return judged


def test_an_answer_without_a_violation_has_all_points(score) -> None:
    found = score(GOOD)
    assert (1.0, 1.0, 1.0) == (found.mean, found.pass_rate, found.coverage)


@pytest.mark.parametrize(
    ("criterion", "left"),
    [
        ("safety_and_compliance", 0.80),
        ("preferred_store", 0.96),
        ("dietary_preferences", 0.96),
        ("context_retention", 0.92),
        ("information_integrity", 0.96),
        ("tone", 0.99),
    ],
)
def test_a_violation_costs_the_points_of_its_check(score, criterion: str, left: float) -> None:
    found = score(VIOLATIONS[criterion])
    assert left == pytest.approx(found.mean_before_critical)
    assert [criterion] == [one.criterion for one in found.criteria if one.failed]
    assert (0.0 if criterion == "information_integrity" else 1.0) == found.pass_rate
