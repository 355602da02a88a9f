"""How often an optimisation accepts a prompt that is no better, and finds one that is, under a judge that errs."""

import pytest

from harness.improve.outcome import OptimisationOutcome
from harness.improve.sizing import OptimisationSettings
from harness.scoring.statistics.intervals import wilson
from qa.doubles.ruled_rollouts import PromptRule, RuledRollouts
from tests.improve.prompts.planted import Rules, optimisation

NOTHING = tuple(f"Be polite, way {number}." for number in range(12))
SETTINGS = OptimisationSettings(rollouts=120)


def outcome(noise: float, seed: int, rules: tuple[PromptRule, ...] = ()) -> OptimisationOutcome:
    rollouts = RuledRollouts(rules=rules, start={"quality": 0.3, "safety": 1.0}, noise=noise, seed=seed)
    return optimisation(rollouts, Rules(rules=NOTHING), settings=SETTINGS).run()


@pytest.mark.slow
def test_a_prompt_that_cannot_be_improved_is_rarely_said_to_be():
    noise, runs = 0.10, 200
    outcomes = [outcome(noise, seed) for seed in range(runs)]
    false = sum(one.accepted is not None for one in outcomes)
    ahead = sum(any((share.pick.gain or 0) > 0 for share in one.results) for one in outcomes)
    print(f"noise {noise:.0%}: {false} false acceptances in {runs}, {wilson(false / runs, runs)}; {ahead} look better")
    assert false <= 0.05 * runs
    assert ahead >= 0.5 * runs  # what the best on validation alone would have accepted


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.10], ids=["0%", "10%"])
def test_a_rule_that_helps_everywhere_is_found_all_the_same(noise: float):
    runs = 40
    rule = PromptRule(text="Never exceed the asked quantity.", gain=0.6)
    found = sum(outcome(noise, seed, (rule,)).accepted is not None for seed in range(runs))
    print(f"noise {noise:.0%}: {found} of {runs} found")
    assert found >= 0.5 * runs
