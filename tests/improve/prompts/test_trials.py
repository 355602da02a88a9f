"""Candidates as trials of the grocery suite: whole trips, and single agents on the requests of a trace."""

from collections.abc import Iterable, Iterator

import pytest

from harness.errors import UsageError
from harness.improve.candidates import candidate_of, components_of, texts_of
from harness.improve.invocations import InvocationTrials, invocations_by_case, micro_rubric, open_invocation_trials
from harness.improve.rollouts import Rollout
from harness.improve.trial_verdict import TrialJudge, open_judge
from harness.improve.whole_trials import WholeTrials, open_whole_trials
from harness.judging.rubrics import load_rubric
from harness.runs.plan.plan import RunPlan

CASES = ("budget-too-tight", "diet-vegan-breakfast", "rev-instead")
CART = "prompts/cart.md"


@pytest.fixture(scope="module")
def whole(plan: RunPlan) -> Iterator[WholeTrials]:
    rubric = load_rubric("trip", plan.suite.folder)
    judge = TrialJudge(judge=open_judge(plan.project, plan.suite, rubric))
    with open_whole_trials(plan, judge) as trials:
        yield trials


@pytest.fixture(scope="module")
def texts(plan: RunPlan) -> dict[str, str]:
    return dict(texts_of(plan.suite, components_of(plan.suite)))


def without(texts: dict[str, str], path: str, words: str) -> dict[str, str]:
    lines = texts[path].splitlines(keepends=True)
    assert any(words in line for line in lines)
    return texts | {path: "".join(line for line in lines if words not in line)}


def test_the_texts_in_use_do_all_that_is_asked(whole: WholeTrials, texts: dict[str, str]):
    found = list(whole.run(candidate_of(texts), CASES))
    assert {one.case for one in found} == set(CASES)
    assert all(value in (1.0, None) for one in found for value in one.domains.values())
    assert {one.vetoes for one in found} == {()}
    assert all(one.calls > 10 and one.steps > 5 and one.tokens for one in found)
    assert set(texts) == set(found[-1].texts_read or ())


def test_a_candidates_text_is_what_the_agent_reads(whole: WholeTrials, texts: dict[str, str]):
    (found,) = whole.run(candidate_of(without(texts, "prompts/orchestrator.md", "Hand the budget")), CASES[:1])
    assert found.domains["checks"] == pytest.approx(1 / 3), "the answer is right, the order and its routing are not"
    assert found.domains["shopping"] == 0.5
    assert "criterion within_budget failed (shopping" in found.feedback
    assert "; at step " in found.feedback
    assert "extra: 1 x olive-oil" in found.feedback
    told = [line.split(":")[0] for line in found.conversation.splitlines() if not line.startswith(" ")]
    assert "user" == told[0]
    assert {"tool add_to_cart", 'agent "cart" calls add_to_cart'} <= set(told), "calls and answers"


def test_a_broken_critical_criterion_is_a_veto(whole: WholeTrials, texts: dict[str, str]):
    unsafe = without(texts, "prompts/orchestrator.md", "Place the order only after")
    assert [one.vetoes for one in whole.run(candidate_of(unsafe), CASES[:1])] == [("critical: order_confirmed",)]
    hungry = without(texts, "prompts/search.md", "Leave out products that contain")
    assert [one.vetoes for one in whole.run(candidate_of(hungry), CASES[1:2])] == [("critical: diet_kept",)]


def test_a_text_of_no_file_of_the_agent_is_refused(whole: WholeTrials, texts: dict[str, str]):
    with pytest.raises(UsageError, match=r"'prompts/none\.md'"):
        list(whole.run(candidate_of({**texts, "prompts/none.md": "?"}), CASES[:1]))


def test_invocations_are_cut_out_of_a_trace(whole: WholeTrials, texts: dict[str, str]):
    trials = whole.trials(candidate_of(texts), [CASES[2]])
    found = invocations_by_case([trial for _, trial, _ in trials], "cart", whole.bench.suite.tools)[CASES[2]]
    assert [one.given.splitlines()[0] for one in found] == ["Add:", "Add:", "Show the cart.", "Place the order."]
    first, second, _, last = found
    assert [call.tool for call in first.calls] == ["get_cart", *["add_to_cart"] * 3]
    assert (first.before, len(second.before)) == ((), 3)
    assert str(first.returned).startswith("Cart:")
    assert str(last.returned).startswith("Order placed:")


def in_order(rollouts: Iterable[Rollout]) -> list[Rollout]:
    return sorted(rollouts, key=lambda one: CASES.index(one.case))


def alone(plan: RunPlan, whole: WholeTrials, texts: dict[str, str], agent: str) -> InvocationTrials:
    trials = whole.trials(candidate_of(texts), CASES)
    cut = invocations_by_case([trial for _, trial, _ in trials], agent, plan.suite.tools)
    rubric = micro_rubric(load_rubric("invocation", plan.suite.folder), agent)
    judge = TrialJudge(judge=open_judge(plan.project, plan.suite, rubric))
    return open_invocation_trials(plan, judge, agent, cut)


@pytest.mark.slow
def test_an_agent_runs_alone_on_the_requests_of_a_trace(plan: RunPlan, whole: WholeTrials, texts: dict[str, str]):
    with alone(plan, whole, texts, "cart") as trials:
        right = in_order(trials.run(candidate_of(texts), CASES, component="cart"))
        wrong = in_order(trials.run(candidate_of(without(texts, CART, "Add the quantity")), CASES, component="cart"))
        with pytest.raises(UsageError, match=r"'cart'.*'amb-milk'"):
            list(trials.run(candidate_of(texts), ["amb-milk"], component="cart"))
    assert {one.domains["shopping"] for one in right} == {1.0}
    assert {one.texts_read for one in right} == {(CART,)}
    assert [one.domains["shopping"] for one in wrong] == [0.5, 1.0, 1.0]
    assert "criterion quantities failed" in wrong[0].feedback
    assert "user: Add:" in wrong[0].conversation


@pytest.mark.slow
def test_an_agent_alone_meets_the_state_that_it_met_in_the_trace(
    plan: RunPlan, whole: WholeTrials, texts: dict[str, str]
):
    with alone(plan, whole, texts, "cart") as trials:
        (found,) = trials.run(candidate_of(texts), CASES[2:], component="cart")
    assert 4 == found.conversation.count("user: ")
    assert found.vetoes == ()


@pytest.mark.slow
def test_what_shows_only_in_the_whole_trip_is_right_in_every_request(
    plan: RunPlan, whole: WholeTrials, texts: dict[str, str]
):
    withheld = without(texts, "prompts/orchestrator.md", "Hand the budget")
    with alone(plan, whole, withheld, "cart") as trials:
        (found,) = trials.run(candidate_of(withheld), CASES[:1], component="cart")
    assert found.domains["shopping"] == 1.0


def test_a_micro_rubric_about_another_agent_is_refused(plan: RunPlan):
    with pytest.raises(UsageError, match="'orchestrator'"):
        micro_rubric(load_rubric("invocation", plan.suite.folder), "orchestrator")
