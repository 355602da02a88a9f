"""A run judged: four answers kept apart, everything on disk, and nothing asked twice."""

import json
from pathlib import Path

import pytest

from harness.errors import HarnessError, UsageError
from harness.gateway.budgets import Budget
from harness.judging.rubrics import Criterion, Rubric
from harness.reports.judged import judged_rubric
from harness.runs.store.judgements import read_judgements
from qa.doubles.rule_model import RuleModel
from qa.doubles.rules import ModelRule, RuleSet
from tests.judging.judge.material import GROUNDED, MIND, POLITE, REFUNDED, RUBRIC, dialogue

TRIALS = {
    "right": dialogue("It costs 2.19."),
    "wrong": dialogue("It costs 9.99."),
    "rude": dialogue("2.19, now go away."),
    "refund": dialogue("I have refunded 2.19.", request="I want a refund for the oat drink"),
}


def answers(folder, rubric="prices"):
    return {(one.case_id, one.criterion): one.answer for one in read_judgements(folder.path, rubric)}


def test_pass_fail_and_not_eligible_are_told_apart(stored_run, judging, rule_model):
    folder = stored_run(TRIALS)
    done = judging(folder, rule_model)
    assert (4, 12, 12) == (done.trials, done.judged, done.calls)
    assert {"pass": 7, "fail": 2, "not_eligible": 3} == done.answers
    said = answers(folder)
    assert "fail" == said["wrong", "grounded"]
    assert "fail" == said["rude", "polite"]
    assert "pass" == said["refund", "refunded"]
    assert "not_eligible" == said["right", "refunded"]


def test_a_verdict_is_an_evaluation_event_that_points_to_its_span(stored_run, judging, rule_model):
    folder = stored_run({"wrong": TRIALS["wrong"]})
    judging(folder, rule_model)
    lines = [json.loads(line) for line in (folder.path / "judgements" / "prices.jsonl").read_text().splitlines()]
    event = next(line for line in lines if line["attributes"]["gen_ai.evaluation.name"] == "grounded")
    assert "gen_ai.evaluation.result" == event["event_name"]
    assert ("trace-wrong", "span-answer") == (event["trace_id"], event["span_id"])
    assert "fail" == event["attributes"]["gen_ai.evaluation.score.label"]
    assert 0.0 == event["attributes"]["gen_ai.evaluation.score.value"]
    assert ("judge", "1") == tuple(event["attributes"][f"gen_ai.prompt.{name}"] for name in ("name", "version"))
    assert "rule-model" == event["attributes"]["gen_ai.evaluation.evaluator.source"]


def test_the_score_is_weighted_and_marked_as_uncertified(stored_run, judging, rule_model):
    folder = stored_run(TRIALS)
    judging(folder, rule_model)
    score = judged_rubric(folder.path, "prices")
    grounded = score.criteria[0]
    assert (3, 1, 0, 0) == (grounded.passed, grounded.failed, grounded.not_eligible, grounded.judge_failed)
    assert (1 + 0 + 0.75 + 1) / 4 == pytest.approx(score.mean)  # the critical criterion failed in one trial
    assert (1 + 0.25 + 0.75 + 1) / 4 == pytest.approx(score.mean_before_critical)
    assert 0.75 == score.pass_rate
    assert 1.0 == score.coverage
    assert "16 labels" in grounded.uncertified


def test_a_repeated_run_asks_nothing(stored_run, judging, rule_model):
    folder = stored_run(TRIALS)
    judging(folder, rule_model)
    again = judging(folder, rule_model)
    assert (0, 12, 0) == (again.judged, again.before, again.calls)
    assert 12 == rule_model.requests


def test_what_was_recorded_is_not_asked_again(stored_run, judging, rule_model):
    folder = stored_run(TRIALS)
    judging(folder, rule_model)
    first = answers(folder)
    (folder.path / "judgements" / "prices.jsonl").unlink()
    done = judging(folder, rule_model, mode="replay")
    assert (12, 0, 12) == (done.judged, done.calls, done.recorded)
    assert first == answers(folder)
    assert all(one.cached for one in read_judgements(folder.path, "prices"))
    assert 12 == rule_model.requests


def test_past_the_cassette_everything_is_asked_again(stored_run, judging, rule_model):
    folder = stored_run(TRIALS)
    judging(folder, rule_model)
    done = judging(folder, rule_model, mode="live", again=True)
    assert (12, 12, 0) == (done.judged, done.calls, done.recorded)


def test_an_interrupted_run_goes_on_where_it_stopped(stored_run, judging, rule_model):
    folder = stored_run(TRIALS)
    judging(folder, rule_model)
    path = folder.path / "judgements" / "prices.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:5]) + lines[5][:40])  # killed while it wrote
    done = judging(folder, rule_model)
    assert (7, 5) == (done.judged, done.before)
    assert 12 == len(list(read_judgements(folder.path, "prices")))


def test_another_prompt_or_rubric_is_judged_anew(stored_run, judging, rule_model, prompt):
    folder = stored_run(TRIALS)
    judging(folder, rule_model)
    other = prompt.model_copy(update={"version": "2", "text": prompt.text + "\nBe strict."})
    assert 12 == judging(folder, rule_model, prompt=other).judged
    changed = RUBRIC.model_copy(update={"criteria": (GROUNDED.model_copy(update={"points": 4}), POLITE, REFUNDED)})
    done = judging(folder, rule_model, changed)
    assert (12, 0) == (done.judged, done.calls)  # the question is the same, so its recorded answer is taken


def test_a_rule_that_the_prompt_does_not_tell_is_not_followed(stored_run, judging, rule_model, prompt):
    folder = stored_run({"wrong": TRIALS["wrong"]})
    judging(folder, rule_model, prompt=prompt.model_copy(update={"version": "0", "text": "Judge."}))
    assert "pass" == answers(folder)["wrong", "grounded"]


def test_only_some_cases_and_criteria(stored_run, judging, rule_model):
    folder = stored_run(TRIALS)
    assert 1 == judging(folder, rule_model, cases=("wrong",), criteria=("grounded",)).judged
    with pytest.raises(UsageError, match="wishes"):
        judging(folder, rule_model, criteria=("wishes",))
    with pytest.raises(UsageError, match="'nowhere'"):
        judging(folder, rule_model, cases=("nowhere",))


def test_a_trial_that_was_not_measured_is_not_judged(stored_run, judging, rule_model):
    done = judging(stored_run(TRIALS, outcome="inconclusive"), rule_model)
    assert (0, 4, 0) == (done.judged, done.skipped, rule_model.requests)


def test_the_majority_of_samples_counts_and_ties_are_no_verdict(stored_run, judging):
    noisy = MIND.model_copy(update={"flips": 0.5, "seed": 3})
    folder = stored_run({f"c{number}": TRIALS["right"] for number in range(12)})
    rubric = Rubric(name="prices", criteria=(GROUNDED, POLITE))
    with RuleModel(noisy) as model:
        judging(folder, model, rubric, settings={"samples": 4})
        assert 12 * 2 * 4 == model.requests
    found = list(read_judgements(folder.path, "prices"))
    for one in found:
        passed, failed = one.votes.passed, one.votes.failed
        assert 4 == passed + failed
        expected = "judge_failed" if passed == failed else "pass" if passed > failed else "fail"
        assert expected == one.answer
    assert {"the samples tie"} == {one.failure for one in found if one.failure}


def test_the_budget_stops_the_judge_and_the_next_run_goes_on(stored_run, judging, rule_model):
    folder = stored_run(TRIALS)
    done = judging(folder, rule_model, budget=Budget(tokens=1500), settings={"in_flight": 1})
    assert done.stopped.startswith("budget:")
    assert 0 < done.judged < 12
    assert 12 - done.judged == judging(folder, rule_model).judged


def test_a_budget_in_usd_needs_a_price(stored_run, judging, rule_model):
    price = {"rule-model": {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 2.0}}
    folder = stored_run(TRIALS)
    with pytest.raises(HarnessError, match="'rule-model'"):
        judging(folder, rule_model, budget=Budget(usd=1.0))
    assert judging(folder, rule_model, budget=Budget(usd=1.0), settings={"prices": price}).usd > 0


def test_a_judge_of_the_agents_own_family_is_warned_about(stored_run, judging):
    folder = stored_run({"right": TRIALS["right"]}, models=("gpt-4.1-mini",))
    with RuleModel(MIND) as model:
        warned = judging(folder, model, settings={"model": "gpt-5"}).warning
        other = judging(folder, model, settings={"model": "claude-sonnet-4-5"}).warning
    assert "openai" in warned
    assert other is None


def test_anthropics_wire_format_works_too(stored_run, judging, rule_model):
    folder = stored_run(TRIALS)
    settings = {"provider": "anthropic", "base_url": rule_model.url.removesuffix("/v1")}
    done = judging(folder, rule_model, settings=settings)
    assert {"pass": 7, "fail": 2, "not_eligible": 3} == done.answers


def test_never_more_in_flight_than_allowed(stored_run, judging):
    folder = stored_run({f"c{number}": TRIALS["right"] for number in range(8)})
    with RuleModel(MIND, latency_s=0.02) as model:
        judging(folder, model, settings={"in_flight": 4})
        assert 4 >= model.most_in_flight
        assert 24 == model.requests


def test_a_checklist_is_judged_item_by_item(stored_run, judging):
    listed = Rubric(
        name="dish",
        criteria=(Criterion(id="list", kind="checklist", statement="all", points=2, evidence=("conversation",)),),
        checklists={"right": ("the price is named", "the shop is named")},
    )
    mind = RuleSet(rules=(ModelRule(criterion="list.2", finds="shop", finds_nothing=True, says="fail"),))
    folder = stored_run({"right": TRIALS["right"], "rude": TRIALS["rude"]})
    with RuleModel(mind) as model:
        judging(folder, model, listed)
    assert {("right", "list.1"): "pass", ("right", "list.2"): "fail", ("rude", "list"): "not_eligible"} == answers(
        folder, "dish"
    )
    assert 0.5 == judged_rubric(folder.path, "dish").mean


def test_eligibility_by_expression_and_by_agent_asks_nobody(stored_run, judging, rule_model):
    rubric = Rubric(
        name="code",
        criteria=(
            POLITE.model_copy(update={"id": "errors", "eligibility": "$.steps[*].observations[?@.error != null]"}),
            POLITE.model_copy(update={"id": "billing", "agents": ("billing",)}),
            Criterion(id="leak", kind="code", statement="no leak", code="reasoning_leakage"),
            POLITE.model_copy(update={"id": "looked", "eligibility": "$.steps[*].calls[?@.name == 'lookup']"}),
        ),
    )
    folder = stored_run({"right": TRIALS["right"]})
    judging(folder, rule_model, rubric)
    assert {"errors": "not_eligible", "billing": "not_eligible", "leak": "pass", "looked": "pass"} == {
        criterion: answer for (_, criterion), answer in answers(folder, "code").items()
    }
    assert 1 == rule_model.requests


@pytest.mark.slow
def test_an_eligibility_that_takes_too_long_is_no_judgement_and_costs_no_other(stored_run, judging, rule_model):
    looked = "$.steps[?search(@.message, '(a|a)+$')]"
    rubric = Rubric(name="slow", criteria=(POLITE.model_copy(update={"id": "slow", "eligibility": looked}), POLITE))
    folder = stored_run({"long": dialogue("a" * 40 + "!")})
    judging(folder, rule_model, rubric)
    said = {one.criterion: one for one in read_judgements(folder.path, "slow")}
    assert {"slow": "judge_failed", "polite": "pass"} == {name: one.answer for name, one in said.items()}
    assert "criterion 'slow': eligibility: " in str(said["slow"].failure)


def test_a_rule_of_the_rule_model_that_takes_too_long_fails_the_judge_in_words(stored_run, judging):
    folder = stored_run({"long": dialogue("a" * 40 + "!")})
    with RuleModel(RuleSet(rules=(ModelRule(finds=r"(a|a)+$", says="fail"),))) as model:
        judging(folder, model, Rubric(name="slow", criteria=(POLITE,)))
        assert 1 == model.requests
    (judged,) = read_judgements(folder.path, "slow")
    assert "judge_failed" == judged.answer
    assert "finds: " in str(judged.failure)


def test_a_criterion_of_the_projects_own_code(stored_run, judging, rule_model, tmp_path):
    suite = tmp_path / "suites" / "shop"  # the project's: a run folder never says where code lies
    suite.mkdir(parents=True)
    (suite / "own.py").write_text(
        "from typing import ClassVar\n"
        "from harness.values import Frozen\n"
        "from harness.judging.views import Decision\n"
        "class Short(Frozen):\n"
        "    version: ClassVar[str] = '2'\n"
        "    most: int\n"
        "    def decide(self, transcript):\n"
        "        if self.most < 0:\n"
        "            raise ValueError('negative')\n"
        "        long = [one for one in transcript.pieces if len(one.text) > self.most and one.kind == 'agent']\n"
        "        return Decision(passed=not long, rationale=str(len(long)), refs=tuple(one.ref for one in long))\n"
    )

    def criterion(id: str, most: int) -> Criterion:
        return Criterion.model_validate(
            {"id": id, "kind": "code", "statement": "short", "code": "own.py:Short", "with": {"most": most}}
        )

    folder = stored_run({"right": TRIALS["right"]})
    rubric = Rubric(name="own", criteria=(criterion("ten", 10), criterion("hundred", 100), criterion("broken", -1)))
    judging(folder, rule_model, rubric)
    found = {one.criterion: one for one in read_judgements(folder.path, "own")}
    assert ["fail", "pass", "judge_failed"] == [found[name].answer for name in ("ten", "hundred", "broken")]
    assert ("span-answer",) == found["ten"].spans
    assert "code:own.py:Short@2" == found["ten"].judge.model
    assert "negative" in found["broken"].failure


def test_the_recordings_of_a_project_suite_lie_in_its_cassettes(stored_run, judging, rule_model):
    folder = stored_run({"right": TRIALS["right"]})
    judging(folder, rule_model)
    assert ["right.json"] == [path.name for path in Path(folder.path / "judge" / "shop.judge").iterdir()]
