"""Checks the cases of a suite: `oracle` must pass each case, and `nop`, which does nothing, must fail it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from harness.runs.execution.reference_states import ReferenceFailed
from harness.runs.execution.run import Watch, run_plan
from harness.runs.plan.plan import RunPlan
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import PlannedTrial
from harness.scoring.scorecard import Scorecard
from harness.suite.cases import Case
from harness.values import Frozen

CHECKS_FOLDER = "runs/.checks"
"""A separate folder, so that these runs are not compared with those of the agent under test."""


class CaseFinding(Frozen):
    """One case and its problem; None: the case is correct."""

    case_id: str
    problem: str | None
    warning: str | None = None
    """A part of the case that has no effect, or what could not be shown of it; it is not an error."""


def check_cases(plan: RunPlan, watch: Callable[[str], Watch]) -> tuple[CaseFinding, ...]:
    """Runs `oracle` (over the cases that have a reference or a solution) and `nop`, and checks every planned case.

    A case is wrong if the oracle fails it, if `nop` passes it without `nop_passes`, if it has no check, if it has no
    reference and was not made of a trace, or if the state that its reference leaves cannot be obtained because a call
    of it fails.
    """
    try:
        return _case_findings(plan, watch)
    except ReferenceFailed as failed:
        faults = failed.faults
    rest = tuple(one for one in plan.planned if one.case_id not in faults)
    found = {} if not rest else {one.case_id: one for one in _case_findings(replace(plan, planned=rest), watch)}
    return tuple(
        found.get(one.case_id) or CaseFinding(case_id=one.case_id, problem=faults[one.case_id]) for one in plan.planned
    )


def _case_findings(plan: RunPlan, watch: Callable[[str], Watch]) -> tuple[CaseFinding, ...]:
    cases = {case.id: case for case in plan.suite.cases}
    with_reference = tuple(one for one in plan.planned if cases[one.case_id].has_oracle)
    played = _run(plan, "oracle", with_reference, watch)
    oracle = _by_case(played)
    nop = _by_case(_run(plan, "nop", plan.planned, watch))
    unfired = {} if played is None else {one.trial.case_id: one.trial.unfired_faults for one in played.trials()}
    return tuple(
        CaseFinding(
            case_id=one.case_id,
            problem=_problem(cases[one.case_id], oracle.get(one.case_id), nop[one.case_id]),
            warning=_warning(cases[one.case_id], unfired.get(one.case_id, ())),
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


def _warning(case: Case, unfired: Sequence[str]) -> str | None:
    """What the oracle did not show: that an agent can pass it, or faults that no call of the reference triggers."""
    if _only_traced(case):
        return "made of a trace, without `reference:`; a run of a mended agent shows whether one can pass it"
    return f"no call of the reference triggers {'; '.join(unfired)}" if unfired else None


def _problem(case: Case, oracle: Scorecard | None, nop: Scorecard) -> str | None:
    if nop.success and not case.nop_passes:
        return "an agent that does nothing passes it (if that is intended: `nop_passes: true`)"
    if not nop.success and case.nop_passes:
        return f"it declares `nop_passes`, but an agent that does nothing fails it: {_reasons(nop)}"
    if oracle is None:
        missing = "`reference:`" if case.task_folder is None else "solution/solve.sh"
        return None if _only_traced(case) else f"it has no {missing} for the oracle to play"
    if oracle.success is None:
        return f"the oracle could not be judged ({oracle.outcome}): {oracle.reason or _reasons(oracle)}"
    if not oracle.success:
        return f"its reference fails it: {_reasons(oracle)}{_no_answer(case)}"
    return None


def _only_traced(case: Case) -> bool:
    return case.origin is not None and not case.has_oracle


def _no_answer(case: Case) -> str:
    if case.expected_output is not None:
        return ""
    return " (the oracle answers with `expected_output`, which the case does not declare)"


def _reasons(card: Scorecard) -> str:
    failed = [f"{verdict.check}: {verdict.reason}" for verdict in card.verdicts if verdict.passed is not True]
    return "; ".join(failed) or "it has no check"
