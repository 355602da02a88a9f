"""Joint mode revises all texts at once; what one text gains is not lost by what another one breaks."""

from pathlib import Path

from harness.improve.candidates import read_candidate
from harness.improve.lineage import read_records
from harness.improve.sizing import OptimisationSettings
from qa.doubles.ruled_rollouts import PromptRule, RuledRollouts
from tests.improve.prompts.planted import TEXTS, Rules, optimisation

GOOD = PromptRule(text="Mind the budget.", gain=0.6)
BREAKS = PromptRule(text="Tell all you know.", gain=0, veto="nothing_private")


def always_both(request: str) -> str:
    """The right rule for the orchestrator, together with one for the cart that breaks what is critical."""
    text = request.split("```")[1].strip()
    rule = GOOD if text.startswith("You talk") else BREAKS
    return f"```\n{text}\n{rule.text}\n```"


def test_a_bundle_that_gains_and_is_vetoed_is_tried_without_each_of_its_revisions(tmp_path: Path):
    rollouts = RuledRollouts(rules=[GOOD, BREAKS], start={"quality": 0.2})
    outcome = optimisation(rollouts, always_both, joint=True, folder=tmp_path).run()
    assert outcome.accepted is not None
    won = read_candidate(tmp_path / "candidates" / outcome.accepted).texts
    assert TEXTS["cart.md"] == won["cart.md"]
    assert GOOD.text in won["orchestrator.md"]
    records = read_records(tmp_path)
    bundles = [one for one in records.values() if one.vetoed.get("minibatch") == ("nothing_private",)]
    assert bundles
    assert records[outcome.accepted].parent == outcome.start
    assert set(records[outcome.accepted].shown) in [set(one.shown) for one in bundles]


def test_what_gains_nothing_is_not_taken_apart():
    rollouts = RuledRollouts(rules=[BREAKS], start={"quality": 0.2})
    outcome = optimisation(
        rollouts, Rules(rules=[BREAKS.text]), joint=True, settings=OptimisationSettings(rollouts=150)
    ).run()
    tried = {candidate for candidate, _, _ in rollouts.ran} - {outcome.start}
    assert outcome.accepted is None
    assert len(tried) == 1, "the bundle alone, again and again"
