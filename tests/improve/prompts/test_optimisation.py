"""A whole optimisation on an agent that obeys only the rules in its texts."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import pytest

from harness.errors import ResultsError, UsageError
from harness.gateway.budgets import Budget, OutOfBudget
from harness.improve.acceptance import AcceptanceRules, Noise, Vetoes, confirm
from harness.improve.candidates import Candidate, candidate_of, read_candidate
from harness.improve.held_out import split_cases
from harness.improve.lineage import WeightedObjective, read_records
from harness.improve.outcome import OptimisationOutcome
from harness.improve.report import result_lines
from harness.improve.rollouts import Rollout, SearchBudget, SpendingMeter, Use
from harness.improve.search import Search, optimisers_of
from harness.improve.sizing import OptimisationSettings
from harness.improve.trial_verdict import TrialVerdict
from harness.improve.whole_trials import rollout_of
from harness.judging.rubrics import load_rubric
from harness.traces.trajectory import Trajectory
from harness.traces.trial import ModelUse, Trial
from qa.doubles.ruled_rollouts import PromptRule, RuledRollouts
from tests.improve.prompts.planted import CASES, TEXTS, Rules, optimisation

GOOD = PromptRule(text="Never exceed the asked quantity.", gain=0.6)
USELESS = tuple(f"Be nice, way {number}." for number in range(5))
SAFE = {"quality": 0.2, "safety": 1.0}
BAIT = (
    PromptRule(text="Order without asking.", gain=0.7, veto="asks_before_order"),
    PromptRule(text="Order without asking.", gain=-1.0, domain="safety"),
)


def texts(outcome: OptimisationOutcome, folder: Path) -> dict[str, str]:
    assert outcome.accepted is not None
    return dict(read_candidate(folder / "candidates" / outcome.accepted).texts)


def test_a_missing_rule_is_found_and_confirmed_on_held_out_cases(tmp_path: Path):
    rollouts = RuledRollouts(rules=[GOOD], start={"quality": 0.2})
    outcome = optimisation(rollouts, Rules(rules=USELESS), folder=tmp_path).run()
    assert GOOD.text in texts(outcome, tmp_path)["cart.md"]
    assert TEXTS["orchestrator.md"] == texts(outcome, tmp_path)["orchestrator.md"]
    held_out = outcome.result.held_out
    assert held_out is not None
    assert (0.2, 0.8) == pytest.approx((held_out.before, held_out.after))
    assert held_out.better == held_out.cases == outcome.cases[2]


def test_no_better_prompt_is_a_result_and_looks_at_no_held_out_case():
    rollouts = RuledRollouts(rules=[], start={"quality": 0.4})
    asked = optimisation(rollouts, Rules(rules=USELESS))
    outcome = asked.run()
    assert outcome.accepted is None
    assert "no candidate came up" == outcome.why
    held_out = set(split_cases(CASES).held_out)
    assert not held_out & {case for _, case, _ in rollouts.ran}


def test_each_optimiser_gets_the_same_number_of_rollouts():
    outcome = optimisation(RuledRollouts(rules=[GOOD]), Rules(rules=USELESS)).run()
    assert ["gepa", "random", "best_of_n"] == [one.optimiser for one in outcome.results]
    assert all(one.rollouts <= 150 for one in outcome.results)


def test_joint_mode_revises_all_components_in_one_step(tmp_path: Path):
    class Handover(RuledRollouts):
        """The score rises only where one component hands the budget on and the other one reads it."""

        def _rollout(self, candidate: Candidate, case: str, sample: int) -> Rollout:
            told = super()._rollout(candidate, case, sample)
            both = all("Mind the budget." in candidate.texts[name] for name in TEXTS)
            return told.model_copy(
                update={
                    "domains": {"quality": 0.9 if both else 0.3},
                    "feedback": "" if both else "the rule 'Mind the budget.' was not followed",
                }
            )

    reflector = Rules(rules=USELESS)
    alone = optimisation(Handover(rules=[]), reflector, folder=tmp_path / "agent").run()
    assert alone.accepted is None
    joint = optimisation(Handover(rules=[]), reflector, joint=True, folder=tmp_path / "joint").run()
    assert ["Mind the budget." in text for text in texts(joint, tmp_path / "joint").values()] == [True, True]


@pytest.mark.parametrize("optimiser", ["gepa", "random", "best_of_n"])
@pytest.mark.parametrize("off", [None, "minibatch", "parent", "final"])
def test_bait_is_not_accepted_with_any_one_veto_switched_off(off: str | None, optimiser: str, tmp_path: Path):
    vetoes = Vetoes(**{off: False}) if off else Vetoes()
    rollouts = RuledRollouts(rules=BAIT, start=SAFE)
    outcome = optimisation(
        rollouts,
        Rules(rules=[BAIT[0].text]),
        settings=OptimisationSettings(rollouts=150, rules=AcceptanceRules(vetoes=vetoes)),
        objective=WeightedObjective(weights={"quality": 0.8, "safety": 0.2}, safety=("safety",)),
        folder=tmp_path,
        optimiser=optimiser,
    ).run()
    assert outcome.accepted is None
    assert not [one.optimiser for one in outcome.results if one.held_out is not None and one.held_out.accepted]
    vetoed = {where for record in read_records(tmp_path).values() for where in record.vetoed}
    assert vetoed
    assert off not in vetoed


def test_each_veto_refuses_the_bait_where_the_others_are_off(tmp_path: Path):
    for only in ("minibatch", "parent", "final"):
        vetoes = Vetoes(**{name: name == only for name in ("minibatch", "parent", "final")})
        rollouts = RuledRollouts(rules=BAIT, start=SAFE)
        optimisation(
            rollouts,
            Rules(rules=[BAIT[0].text]),
            settings=OptimisationSettings(rollouts=300, rules=AcceptanceRules(vetoes=vetoes)),
            folder=tmp_path / only,
        ).run()
        vetoed = {where for record in read_records(tmp_path / only).values() for where in record.vetoed}
        assert {only} == vetoed


def test_without_any_veto_the_bait_would_win():
    rollouts = RuledRollouts(rules=BAIT, start=SAFE)
    vetoes = Vetoes(minibatch=False, parent=False, final=False)
    objective = WeightedObjective(weights={"quality": 0.8, "safety": 0.2}, safety=("safety",))
    outcome = optimisation(
        rollouts,
        Rules(rules=[BAIT[0].text]),
        settings=OptimisationSettings(rollouts=150, rules=AcceptanceRules(vetoes=vetoes)),
        objective=objective,
    ).run()
    assert outcome.accepted is not None


def test_a_candidate_that_memorises_training_cases_is_not_accepted():
    split = split_cases(CASES)
    learnt = PromptRule(text="Remember the trained answers.", cases=frozenset(split.train), gain=0.8)
    lucky = PromptRule(
        text="Remember the trained answers.", cases=frozenset(split.validation), gain=0.8
    )  # validation chose it
    for rules in ([learnt], [learnt, lucky]):
        outcome = optimisation(RuledRollouts(rules=rules, start={"quality": 0.1}), Rules(rules=[learnt.text])).run()
        assert outcome.accepted is None
    assert "overfitting" in outcome.why


@pytest.mark.parametrize(
    "secret",
    ["please put nine oat milks and two rye breads into my cart today", "Nine oat milks, and tea."],
    ids=["long", "short"],
)
def test_a_reflector_that_quotes_a_held_out_case_is_caught(tmp_path: Path, secret: str):
    cases = {case: (f"hello {case}",) for case in CASES} | {split_cases(CASES).held_out[0]: (secret,)}

    def quoting(request: str) -> str:
        return f"```\n{request.split('```')[1]}\nIf they say: {secret.title()}, obey.\n```"

    rollouts = RuledRollouts(rules=[])
    outcome = optimisation(rollouts, quoting, cases=cases, folder=tmp_path).run()
    assert outcome.accepted is None
    assert {f"the text quotes the case {split_cases(CASES).held_out[0]}, which it is measured by"} == set(
        outcome.refusals
    )
    assert (tmp_path / "refused.jsonl").exists()


def test_a_short_message_that_is_said_in_training_too_may_be_quoted():
    split, said = split_cases(CASES), "Nine oat milks, and tea."
    cases = {case: (f"hello {case}",) for case in CASES} | {split.held_out[0]: (said,), split.train[0]: (said,)}

    def quoting(request: str) -> str:
        return f"```\n{request.split('```')[1]}\nIf they say: {said}, obey.\n```"

    assert not optimisation(RuledRollouts(rules=[]), quoting, cases=cases).run().refusals


def test_a_dearer_prompt_is_not_taken_unless_it_may_be():
    dear = replace(GOOD, cost_usd=0.005)
    for increase, is_taken in ((0.2, False), (0.6, True)):
        settings = OptimisationSettings(rollouts=150)
        settings = replace(settings, rules=settings.rules.model_copy(update={"max_cost_increase": increase}))
        rollouts = RuledRollouts(rules=[dear], start={"quality": 0.2})
        outcome = optimisation(rollouts, Rules(rules=USELESS), settings=settings).run()
        assert is_taken == (outcome.accepted is not None)
        assert is_taken != bool(outcome.result.pick.too_costly)
        limit = "mean cost rises by 50%, and 20% are allowed; --max-cost-increase 0.5 admits it"
        assert is_taken != ("better by 0.600" in outcome.why and limit in outcome.why)
        assert (None if is_taken else pytest.approx(0.5)) == outcome.result.pick.over_limit


def test_a_stopped_optimisation_goes_on_and_asks_nothing_twice(tmp_path: Path):
    def made(limits: SearchBudget | None = None) -> tuple[RuledRollouts, Rules, OptimisationOutcome | None]:
        rollouts, reflector = RuledRollouts(rules=[GOOD], start={"quality": 0.2}), Rules(rules=USELESS)
        try:
            return rollouts, reflector, optimisation(rollouts, reflector, folder=tmp_path, limits=limits).run()
        except OutOfBudget:
            return rollouts, reflector, None

    first, _, stopped = made(SearchBudget(tokens=15_000))
    assert stopped is None
    second, _, finished = made()
    assert finished is not None
    assert not first.ran.keys() & second.ran.keys()
    assert all(count == 1 for count in (first.ran + second.ran).values())
    third, reflector, again = made()
    assert again is not None
    assert 0 == again.calls == sum(third.ran.values()) == len(reflector.asked)
    assert finished.model_copy(update={"calls": 0}) == again


@dataclass(kw_only=True)
class Sending(RuledRollouts):
    """Each rollout sends three requests, as long as the budget admits them."""

    budget: Budget
    sent: int = 0

    def run(
        self, candidate: Candidate, cases: Sequence[str], *, component: str | None, sample: int = 0
    ) -> Iterator[Rollout]:
        for one in super().run(candidate, cases, component=component, sample=sample):
            for _ in range(3):
                if not self.budget.admits_model():
                    raise OutOfBudget(self.budget.reached)
                self.sent += 1
            self.budget.charge(100, 0.01)
            yield one.model_copy(update={"calls": 3})


def test_a_budget_of_calls_is_never_exceeded_and_counts_what_it_cut_off(tmp_path: Path):
    def sent(calls: int) -> int:
        budget = Budget(requests=calls)
        rollouts = Sending(rules=[GOOD], start={"quality": 0.2}, budget=budget)
        meter = SpendingMeter(limits=SearchBudget(calls=calls), budget=budget)
        whole = optimisation(rollouts, Rules(rules=USELESS), folder=tmp_path)
        with pytest.raises(OutOfBudget, match=r"requests sent|calls spent"):
            replace(whole, meter=meter).run()
        return rollouts.sent

    # 401 is not a multiple of 3: two requests are sent for a rollout that is cut off, and not forgotten.
    assert 401 == sent(401)
    assert 0 == sent(401)
    assert 11 == sent(412)


def test_every_candidate_has_a_record_of_what_it_was_shown(tmp_path: Path):
    rollouts = RuledRollouts(rules=[GOOD], start={"quality": 0.2})
    outcome = optimisation(rollouts, Rules(rules=USELESS), folder=tmp_path).run()
    records = read_records(tmp_path)
    assert outcome.start == next(iter(records))
    won = records[outcome.accepted or ""]
    assert won.parent in records
    assert set(won.shown) <= set(split_cases(CASES).train)
    assert len(won.shown) == len(set(won.shown))
    assert {"minibatch", "validation", "held_out"} == set(won.parts)
    assert all(part.calls == part.cases for part in won.parts.values())
    shown = (tmp_path / "candidates" / won.candidate / "shown.md").read_text()
    assert "Fills the cart." in shown
    assert won.parts["validation"].domains == pytest.approx({"quality": 0.8})


def test_a_revision_that_its_sample_refused_has_its_scores_too(tmp_path: Path):
    optimisation(RuledRollouts(rules=[], start={"quality": 0.4}), Rules(rules=USELESS), folder=tmp_path).run()
    refused = [one for one in read_records(tmp_path).values() if one.optimiser == "gepa"]
    assert refused
    assert all(one.parts["minibatch"].score == pytest.approx(0.4) for one in refused)


def test_no_more_revisions_are_asked_for_than_the_estimate_says():
    def idle(request: str) -> str:
        return f"```\n{request.split('```')[1].strip()}\n```"

    asked = optimisation(RuledRollouts(rules=[], start={"quality": 0.4}), idle, joint=True)
    assert asked.run().spent.reflections <= asked.estimate().reflections


def test_a_vetoed_candidate_that_scores_highest_does_not_end_the_search(tmp_path: Path):
    """It breaks nothing in training, and everything in validation."""
    validation = frozenset(split_cases(CASES).validation)
    bait = PromptRule(text="Order without asking.", gain=0.8)
    breaks = PromptRule(text=bait.text, gain=0, veto="asks_before_order", cases=validation)
    rollouts = RuledRollouts(rules=[bait, breaks, GOOD], start={"quality": 0.2})
    asked = count()

    def reflector(request: str) -> str:
        """The bait first: one answer is for the check of the reflector."""
        return f"```\n{TEXTS['cart.md']}{bait.text if next(asked) < 2 else GOOD.text}\n```"

    outcome = optimisation(rollouts, reflector, folder=tmp_path).run()
    vetoed = [one for one in read_records(tmp_path).values() if "parent" in one.vetoed]
    assert {1.0} == {one.parts["validation"].score for one in vetoed}
    assert GOOD.text in texts(outcome, tmp_path)["cart.md"]


class Guesser:
    """An optimiser of another package: it tries one text of its own, and may not see held-out cases."""

    def search(self, search: Search, *, together: bool) -> None:
        with pytest.raises(ValueError, match="held-out"):
            search.run(search.start, search.task.split.held_out)
        found = search.propose(search.start, search.files)
        assert found is not None
        search.validate(found)


def test_an_optimiser_of_another_package_is_named_and_compared_with_the_built_in_ones():
    name = "tests.improve.prompts.test_optimisation:Guesser"
    outcome = optimisation(
        RuledRollouts(rules=[GOOD], start={"quality": 0.2}), Rules(rules=[GOOD.text]), optimiser=name
    ).run()
    assert [name, "random", "best_of_n"] == [one.optimiser for one in outcome.results]
    assert outcome.accepted is not None
    with pytest.raises(UsageError, match="'none'"):
        optimisers_of("none")


def test_a_damaged_record_or_journal_is_refused_by_its_name(tmp_path: Path):
    rollouts = RuledRollouts(rules=[GOOD], start={"quality": 0.2})
    outcome = optimisation(rollouts, Rules(rules=USELESS), folder=tmp_path).run()
    journal = tmp_path / "journal.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(b"{}\n" + whole)
    with pytest.raises(ResultsError, match=r"journal\.jsonl, line 1:"):
        optimisation(rollouts, Rules(rules=USELESS), folder=tmp_path).run()
    journal.write_bytes(whole + b'{"key": "cut of')
    assert 0 == optimisation(rollouts, Rules(rules=USELESS), folder=tmp_path).run().calls
    folder = tmp_path / "candidates" / outcome.start
    text = folder / "texts" / "cart.md"
    text.write_text("something else")
    with pytest.raises(ResultsError, match=re.escape(str(folder))):
        read_candidate(folder)
    folder.rename(tmp_path / "candidates" / "c-elsewhere")
    with pytest.raises(ResultsError, match="c-elsewhere"):
        read_records(tmp_path)


def test_too_few_cases_are_refused_with_the_number_that_would_do():
    cases = {case: (case,) for case in CASES[:12]}
    rollouts = RuledRollouts(rules=[GOOD])
    with pytest.raises(UsageError, match=r"\b6\b.*\n  -> .*\b20\b"):
        optimisation(rollouts, Rules(rules=USELESS), cases=cases).run()
    assert not rollouts.ran
    with pytest.raises(UsageError, match=r"\b1 earlier"):
        optimisation(rollouts, Rules(rules=()), cases={case: (case,) for case in CASES[:20]}, looks_before=1).run()


@pytest.mark.parametrize(
    ("settings", "limits", "remedy"),
    [
        (OptimisationSettings(rollouts=40), None, "--rollouts 42 at least"),
        (OptimisationSettings(rollouts=150), SearchBudget(calls=50), "--budget-calls 126 at least"),
    ],
    ids=["rollouts", "calls"],
)
def test_a_budget_too_small_to_tell_is_refused(
    settings: OptimisationSettings, limits: SearchBudget | None, remedy: str
):
    rollouts, reflector = RuledRollouts(rules=[GOOD]), Rules(rules=USELESS)
    with pytest.raises(UsageError, match=remedy):
        optimisation(rollouts, reflector, settings=settings, limits=limits).run()
    assert not rollouts.ran
    assert not reflector.asked


@pytest.mark.parametrize(
    ("limits", "remedy"),
    [
        (SearchBudget(usd=1.0), "--budget-usd 1.24 at least"),
        (SearchBudget(tokens=9_999), "--budget-tokens 12400 at least"),
        (SearchBudget(calls=371), "--budget-calls 372 at least"),
    ],
    ids=["usd", "tokens", "calls"],
)
def test_a_budget_too_small_for_what_a_rollout_takes_is_refused_after_the_first_ones(limits: SearchBudget, remedy: str):
    class Thrice(RuledRollouts):
        def _rollout(self, candidate: Candidate, case: str, sample: int) -> Rollout:
            return super()._rollout(candidate, case, sample).model_copy(update={"calls": 3})

    rollouts = Thrice(rules=[GOOD])
    with pytest.raises(UsageError, match=remedy):
        optimisation(rollouts, Rules(rules=USELESS), limits=limits).run()
    assert rollouts.ran.total() <= 8


def test_a_budget_too_small_for_what_an_earlier_run_took_is_refused_before_anything_is_spent():
    rollouts, reflector = RuledRollouts(rules=[GOOD]), Rules(rules=USELESS)
    known = Use(usd=0.5, tokens=1000, calls=9)
    asked = optimisation(rollouts, reflector, limits=SearchBudget(usd=10), joint=True, known_use=known)
    with pytest.raises(UsageError, match=r"\b0\.5 USD.*\b124\b"):
        asked.run()
    assert (0, []) == (rollouts.ran.total(), reflector.asked)
    estimate = asked.estimate()
    assert (estimate.rollouts * 0.5, estimate.rollouts * 1000) == (estimate.usd, estimate.tokens)
    assert re.search(rf"\({estimate.tokens} .*\b{estimate.calls} ", estimate.text)


def test_what_an_optimiser_added_to_the_others_is_told():
    outcome = optimisation(RuledRollouts(rules=[GOOD], start={"quality": 0.2}), Rules(rules=USELESS)).run()
    told = [line for line in result_lines(outcome) if line.startswith("gepa over ")]
    random, best = ("+0.000" if one.held_out and one.held_out.accepted else "+0.600" for one in outcome.results[1:])
    assert told[0].startswith(f"gepa over random: {random} on held-out cases by as many rollouts (0.800 and ")
    assert told[1].startswith(f"gepa over best_of_n: {best} on held-out cases")


def test_texts_that_have_the_highest_score_are_left():
    outcome = optimisation(RuledRollouts(rules=[], start={"quality": 1.0}), Rules(rules=USELESS)).run()
    assert (None, "the texts in use have the highest score already") == (outcome.accepted, outcome.why)


def test_what_is_said_in_training_too_is_no_quotation(tmp_path: Path):
    split, said = split_cases(CASES), "please put everything that I usually buy into my cart for today"
    cases = {case: (f"hello {case}",) for case in CASES} | {split.held_out[0]: (said,), split.train[0]: (said,)}

    def quoting(request: str) -> str:
        return f"```\n{request.split('```')[1]}\nIf they say: {said}, obey.\n```"

    assert not optimisation(RuledRollouts(rules=[]), quoting, cases=cases).run().refusals


@pytest.mark.parametrize("answer", ["", "I cannot help with that."], ids=["nothing", "refusal"])
def test_a_reflector_that_gives_no_text_is_refused_before_any_rollout(answer: str):
    rollouts = RuledRollouts(rules=[GOOD])
    with pytest.raises(UsageError, match="reflector"):
        optimisation(rollouts, lambda request: answer).run()
    assert not rollouts.ran


def test_a_budget_in_dollars_refuses_what_has_no_price():
    class Unpriced(RuledRollouts):
        def _rollout(self, candidate: Candidate, case: str, sample: int) -> Rollout:
            return super()._rollout(candidate, case, sample).model_copy(update={"cost_usd": None})

    with pytest.raises(UsageError, match="price"):
        optimisation(Unpriced(rules=[GOOD]), Rules(rules=USELESS), limits=SearchBudget(usd=1.0)).run()


def test_a_rollout_with_one_unpriced_trial_has_no_price():
    priced = Trial(
        case_id="a", attempt=1, outcome="finished", trajectory=Trajectory(trace_id="t", agent="s", steps=()),
        model_use=ModelUse(replies=1, input_tokens=1, output_tokens=1, cost_usd=0.5),
    )  # fmt: skip
    unpriced = priced.model_copy(update={"model_use": ModelUse(replies=1, input_tokens=1, output_tokens=1)})
    verdict = TrialVerdict(domains={}, vetoes=(), feedback="")
    subject = candidate_of({"cart.md": "Text.\n"})
    assert 1.0 == rollout_of("a", subject, [priced, priced], verdict).cost_usd
    assert rollout_of("a", subject, [priced, unpriced], verdict).cost_usd is None


@pytest.mark.parametrize("scale", [1, 100])
def test_a_rubric_in_per_cent_does_not_drown_the_checks(scale: int):
    objective = WeightedObjective(weights={"talk": 0.5 * scale, "reply": 0.5 * scale})

    def score(**domains: float | None) -> float | None:
        return objective.score(Rollout(case="a", candidate="c", domains=domains))

    assert 0.5 == score(checks=0.0, talk=1.0, reply=1.0)
    assert 0.5 == score(checks=0.0, talk=1.0, reply=None)
    assert (1.0, 0.25, None) == (
        score(checks=1.0, talk=None),
        score(checks=None, talk=0.5, reply=0.0),
        score(talk=None),
    )
    weighted = objective.model_copy(update={"checks": 0.8})
    assert 0.2 == pytest.approx(weighted.score(Rollout(case="a", candidate="c", domains={"checks": 0.0, "talk": 1.0})))


def test_a_gain_bought_by_a_safety_criterion_of_any_domain_is_vetoed_on_held_out():
    rubric = load_rubric("shopping")
    (safety,) = (one for one in rubric.criteria if one.safety)
    assert (safety.domain,) == rubric.safety
    objective, noise = WeightedObjective(weights=rubric.weights, safety=rubric.safety), Noise(scores=((0.5, 0.5),))

    def measured(execution: float, safe: float) -> list[Rollout]:
        domains = {"shopping_execution": execution, safety.domain: safe}
        return [Rollout(case=f"c{number}", candidate="c", domains=domains) for number in range(20)]

    before, rules = measured(0.2, 1.0), AcceptanceRules()
    picks = {"unsafe": measured(1.0, 0.0), "safe": measured(1.0, 1.0)}
    found = confirm(objective, before, picks, noise, rules)
    assert (False, True) == (found["unsafe"].accepted, found["safe"].accepted), found
    assert safety.domain in found["unsafe"].why
    blind = confirm(objective.model_copy(update={"safety": ()}), before, picks, noise, rules)
    assert blind["unsafe"].accepted


@pytest.mark.parametrize("looks", [0, 2])
def test_the_interval_of_the_held_out_cases_never_contradicts_the_test(looks: int):
    objective, verdicts = WeightedObjective(), set[bool]()
    for better in range(14):
        cases = [f"c{number}" for number in range(14)]
        before = [Rollout(case=one, candidate="a", domains={"talk": 0.5}) for one in cases]
        moved = [1.0] * better + [0.45] * (14 - better)
        after = [
            Rollout(case=one, candidate="b", domains={"talk": value}) for one, value in zip(cases, moved, strict=True)
        ]
        picks = {"b": after, "same": before, "other": after[:12]}
        found = confirm(objective, before, picks, Noise(scores=()), AcceptanceRules(), looks)["b"]
        assert found.p is not None
        assert found.interval is not None
        assert (found.p <= 0.05) == (found.interval.low >= 0.5), found
        verdicts.add(found.p <= 0.05)
    assert {True, False} == verdicts


def test_the_published_means_come_out_of_rollouts():
    weights = {"shopping": 0.5, "personalization": 0.2, "conversation": 0.1, "safety": 0.2}
    objective = WeightedObjective(weights=weights)

    def score(*percent: float) -> float:
        domains = dict(zip(weights, (one / 100 for one in percent), strict=True))
        return 100 * (objective.score(Rollout(case="a", candidate="c", domains=domains)) or 0)

    assert (77.1, 84.7) == pytest.approx((score(79, 80.2, 64, 76), score(85, 87, 72, 88)), abs=0.05)
    assert (88.47, 93.45) == pytest.approx((score(90.4, 70.8, 91.1, 100), score(95, 80.2, 99, 100)), abs=0.02)
    without_safety = WeightedObjective(weights=dict.fromkeys(weights, 1.0))
    means = [
        100
        * (without_safety.score(Rollout(case="a", candidate="c", domains=dict(zip(weights, one, strict=False)))) or 0)
        for one in ((0.904, 0.708, 0.911), (0.95, 0.802, 0.99))
    ]
    assert [84.1, 91.4] == pytest.approx(means, abs=0.05)
