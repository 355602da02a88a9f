"""Whether a suite's cases are right themselves: the oracle must pass each, and an agent that does nothing must not."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from harness.case import Case
from harness.pipeline.plan import RunPlan
from harness.pipeline.run import Watch, run_plan
from harness.results import PlannedTrial, RunFolder
from harness.score import Scorecard
from harness.values import Frozen

CHECKS_FOLDER = "runs/.checks"
"""Apart from the runs of the agent under test, which are compared with each other."""


class CaseFinding(Frozen):
    """One case, and what is wrong with it; `problem` None: it is right."""

    case_id: str
    problem: str | None
    warning: str | None = None
    """A part of the case that has no effect; it is not an error."""


def check_cases(plan: RunPlan, watch: Callable[[str], Watch]) -> tuple[CaseFinding, ...]:
    """Runs `oracle` (over the cases that have a reference) and `nop`, and checks every planned case.

    A case is wrong where the oracle fails it, where `nop` passes it without `nop_passes`, or where it has no check.
    """
    cases = {case.id: case for case in plan.suite.cases}
    with_reference = tuple(one for one in plan.planned if cases[one.case_id].reference is not None)
    played = _run(plan, "oracle", with_reference, watch)
    oracle = _by_case(played)
    nop = _by_case(_run(plan, "nop", plan.planned, watch))
    unfired = {} if played is None else {one.trial.case_id: one.trial.unfired_faults for one in played.trials()}
    return tuple(
        CaseFinding(
            case_id=one.case_id,
            problem=_problem(cases[one.case_id], oracle.get(one.case_id), nop[one.case_id]),
            warning=_warning(unfired.get(one.case_id, ())),
        )
        for one in plan.planned
    )


def _run(
    plan: RunPlan, agent: str, planned: tuple[PlannedTrial, ...], watch: Callable[[str], Watch]
) -> RunFolder | None:
    if not planned:
        return None
    stamp = plan.created.strftime("%Y%m%d-%H%M%S-%f")
    name = f"{stamp}-{plan.suite.name}-{agent}"
    chosen = replace(plan, agent=agent, planned=planned, folder=CHECKS_FOLDER, name=name)
    return run_plan(chosen, watch(agent))


def _by_case(folder: RunFolder | None) -> dict[str, Scorecard]:
    return {} if folder is None else {card.case_id: card for card in folder.scorecards()}


def _warning(unfired: Sequence[str]) -> str | None:
    """A fault that the reference itself does not meet may strike no agent either."""
    return f"the reference meets no {'; no '.join(unfired)}" if unfired else None


def _problem(case: Case, oracle: Scorecard | None, nop: Scorecard) -> str | None:
    if nop.success and not case.nop_passes:
        return "an agent that does nothing passes it (if that is meant: `nop_passes: true`)"
    if not nop.success and case.nop_passes:
        return f"it says `nop_passes`, but an agent that does nothing does not: {_reasons(nop)}"
    if oracle is None:
        return "it has no `reference:` for the oracle to play"
    if oracle.success is None:
        return f"the oracle could not be judged ({oracle.outcome}): {oracle.reason or _reasons(oracle)}"
    if not oracle.success:
        return f"its own reference fails it: {_reasons(oracle)}{_no_answer(case)}"
    return None


def _no_answer(case: Case) -> str:
    if case.expected_output is not None:
        return ""
    return " (the oracle answers with the case's `expected_output`, and there is none)"


def _reasons(card: Scorecard) -> str:
    failed = [f"{verdict.check}: {verdict.reason}" for verdict in card.verdicts if verdict.passed is not True]
    return "; ".join(failed) or "it has no check"
