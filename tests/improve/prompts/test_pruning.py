"""Lines that a proposal brings along for nothing are left out before the held-out cases are looked at."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from harness.improve.candidates import Candidate, read_candidate
from harness.improve.held_out import split_cases
from harness.improve.lineage import read_records
from harness.improve.outcome import OptimisationOutcome
from harness.improve.report import result_lines, tree_lines
from harness.improve.rollouts import Rollout
from harness.improve.sizing import OptimisationSettings
from qa.doubles.ruled_rollouts import PromptRule, RuledRollouts
from tests.improve.prompts.planted import CASES, TEXTS, optimisation

GOOD = PromptRule(text="Never exceed the asked quantity.", gain=0.6)
NOISE = ("Be nice.", "Speak slowly.", "Think twice.")


def proposing(*lines: str, instead: str = "") -> Callable[[str], str]:
    """A reflector that always brings the same lines."""

    def reflector(request: str) -> str:
        text = request.split("```")[1].strip()
        fresh = [line for line in lines if line not in text]
        return "\n".join(["```", instead if instead and fresh else text, *fresh, "```"])

    return reflector


def accepted(outcome: OptimisationOutcome, folder: Path) -> dict[str, str]:
    assert outcome.accepted is not None, outcome.why
    return dict(read_candidate(folder / "candidates" / outcome.accepted).texts)


def optimised(
    folder: Path,
    rules: Sequence[PromptRule],
    reflector: Callable[[str], str],
    *,
    rollouts: int = 400,
    joint: bool = False,
) -> OptimisationOutcome:
    made = RuledRollouts(rules=rules, start={"quality": 0.2})
    return optimisation(
        made, reflector, settings=OptimisationSettings(rollouts=rollouts), folder=folder, joint=joint
    ).run()


def test_only_the_line_that_helps_is_accepted_and_handed_over(tmp_path: Path):
    outcome = optimised(tmp_path, [GOOD], proposing(NOISE[0], GOOD.text, *NOISE[1:]))
    assert f"{TEXTS['cart.md']}{GOOD.text}\n" == accepted(outcome, tmp_path)["cart.md"]
    pruning, held_out = outcome.result.pruning, outcome.result.held_out
    assert pruning is not None
    assert held_out is not None
    assert (4, 1, outcome.accepted) == (pruning.changes, pruning.kept, pruning.candidate)
    assert not pruning.out_of_rollouts
    assert outcome.accepted == held_out.candidate != outcome.result.pick.candidate


@pytest.mark.slow
def test_what_was_tried_stands_in_the_lineage(tmp_path: Path):
    outcome = optimised(tmp_path, [GOOD], proposing(GOOD.text, *NOISE))
    records = read_records(tmp_path)
    record = records[outcome.accepted or ""]
    assert (outcome.result.pick.candidate, "pruning") == (record.parent, record.optimiser)
    assert {f"cart.md: +{line}" for line in NOISE} == set(record.dropped)
    assert {"validation", "training", "held_out"} == set(record.parts)
    refused = [one for one in records.values() if one.dropped and "held_out" not in one.parts]
    assert any(f"cart.md: +{GOOD.text}" in one.dropped for one in refused)
    assert "pruning  without 3 changed lines of its parent" in "\n".join(tree_lines(records))


@pytest.mark.slow
def test_a_removed_line_that_did_no_harm_comes_back(tmp_path: Path):
    outcome = optimised(tmp_path, [GOOD], proposing(GOOD.text, instead="You fill carts."))
    assert f"{TEXTS['cart.md']}{GOOD.text}\n" == accepted(outcome, tmp_path)["cart.md"]


@pytest.mark.parametrize("part", ["train", "validation"])
def test_a_line_that_helps_in_one_case_of_either_part_stays(tmp_path: Path, part: str):
    (case, *_) = getattr(split_cases(CASES), part)
    rare = PromptRule(text="Weigh the cheese.", gain=0.2, cases=frozenset({case}))
    outcome = optimised(tmp_path, [GOOD, rare], proposing(GOOD.text, rare.text, NOISE[0]))
    assert f"{TEXTS['cart.md']}{GOOD.text}\n{rare.text}\n" == accepted(outcome, tmp_path)["cart.md"]


@pytest.mark.slow
def test_a_line_that_keeps_a_critical_criterion_stays(tmp_path: Path):
    class Tempting(RuledRollouts):
        """The good rule breaks a critical criterion where it stands alone."""

        def _rollout(self, candidate: Candidate, case: str, sample: int) -> Rollout:
            told, text = super()._rollout(candidate, case, sample), candidate.texts["cart.md"]
            alone = GOOD.text in text and "Ask before you order." not in text
            return told.model_copy(update={"vetoes": ("critical: asks",) if alone else ()})

    made = Tempting(rules=[GOOD], start={"quality": 0.2})
    reflector = proposing(NOISE[0], "Ask before you order.", GOOD.text)
    outcome = optimisation(made, reflector, settings=OptimisationSettings(rollouts=400), folder=tmp_path).run()
    text = accepted(outcome, tmp_path)["cart.md"]
    assert f"{TEXTS['cart.md']}Ask before you order.\n{GOOD.text}\n" == text


@pytest.mark.slow
def test_files_that_need_no_change_are_left_as_they_were(tmp_path: Path):
    outcome = optimised(tmp_path, [GOOD], proposing(GOOD.text, NOISE[0]), joint=True)
    changed = {name: text for name, text in accepted(outcome, tmp_path).items() if text != TEXTS[name]}
    assert [f"{TEXTS[name]}{GOOD.text}\n" for name in changed] == list(changed.values())
    assert 1 == len(changed)


def test_no_more_than_a_share_of_rollouts_is_taken(tmp_path: Path):
    outcome = optimised(tmp_path, [GOOD], proposing(GOOD.text, *NOISE), rollouts=90)
    pruning = outcome.result.pruning
    assert pruning is not None
    assert 0 < pruning.rollouts <= 90
    assert pruning.kept > 1
    assert pruning.out_of_rollouts
    assert any("ran out of rollouts" in line for line in result_lines(outcome))


def test_a_pick_of_one_changed_line_costs_nothing(tmp_path: Path):
    outcome = optimised(tmp_path, [GOOD], proposing(GOOD.text))
    assert outcome.result.pruning is not None
    assert 0 == outcome.result.pruning.rollouts
    assert outcome.result.pick.candidate == outcome.accepted


def test_held_out_cases_see_the_pruned_candidate_alone(tmp_path: Path):
    made = RuledRollouts(rules=[GOOD], start={"quality": 0.2})
    settings = OptimisationSettings(rollouts=400)
    outcome = optimisation(made, proposing(GOOD.text, *NOISE), settings=settings, folder=tmp_path).run()
    held_out = set(split_cases(CASES).held_out)
    seen = {candidate for candidate, case, _ in made.ran if case in held_out}
    picks = {one.final for one in outcome.results} | {point.candidate for point in outcome.result.curve}
    assert {outcome.start, *picks} == seen
    tried = [name for name, one in read_records(tmp_path).items() if one.dropped and name != outcome.accepted]
    assert tried
    assert not seen & set(tried)
