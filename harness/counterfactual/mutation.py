"""Mutation testing of a suite: which wrong things its checks do not notice.

Every case that the agent passes is run again with one thing done wrong at the gateway. A mutant that leaves the same
world and the same answer is equivalent, and not counted. Of the others, those that no check notices are holes.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.case import Case, Suite, TrialVariant
from harness.counterfactual.mutant import Mutant, Mutating, Operator, Pool, pool_of
from harness.counterfactual.mutating import mutants
from harness.counterfactual.proposals import proposed_check
from harness.counterfactual.worlds import difference, without_volatile_values, world_of
from harness.errors import NotMeasured
from harness.pipeline import RunPlan, VariantBench, VariantRequest, VariantResult, open_variants
from harness.trace import Trial
from harness.values import Frozen, JsonObject

MOST = 12
"""Mutants of each case, where no number is given."""
_POLICY: Operator = "policy_step_left_out"


class MutationCount(Frozen):
    """Mutants of one group, by what became of them."""

    mutants: int = 0
    noticed: int = 0
    """A check failed, or the agent did."""
    unnoticed: int = 0
    equivalent: int = 0
    """The same world and the same answer; no check noticed anything, and none had to."""
    unmeasured: int = 0

    @property
    def score(self) -> float | None:
        """noticed / (noticed + unnoticed); None where no mutant counts."""
        counted = self.noticed + self.unnoticed
        return self.noticed / counted if counted else None


class Hole(Frozen):
    """A mutant that changes the world or the answer, and that no check notices."""

    case_id: str
    operator: Operator
    step: int
    words: str
    changed: str
    """What is otherwise than in the passing trial."""
    proposal: JsonObject | None = None
    """A check that passes the passing trial and fails the mutant; None: none of the usual ones does."""


class MutationReport(Frozen):
    """The answer of `harness case mutate`."""

    suite: str
    agent: str
    tools: str
    total: MutationCount
    score: float | None
    operators: dict[str, MutationCount]
    checks: dict[str, int]
    """Check -> mutants that it noticed; a check that noticed none tells nothing about these cases."""
    holes: tuple[Hole, ...]
    not_passed: tuple[str, ...]
    """Cases that the agent does not pass, so that they have no mutants."""
    trials: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class _Subject:
    """One case that the agent passes, and its end."""

    case: Case
    result: VariantResult
    world: JsonObject

    @property
    def trial(self) -> Trial:
        return self.result.scored.trial


def mutate(plan: RunPlan, most: int = MOST, say: Callable[[str], None] = lambda _: None) -> MutationReport:
    """Runs the mutants of every planned case. Raises NotMeasured where the agent passes none."""
    began = time.monotonic()
    chosen = {one.case_id for one in plan.planned}
    cases = [case for case in plan.suite.cases if case.id in chosen]
    with open_variants(plan, say, evaluated="verdicts") as bench:
        subjects = _passing(bench, cases)
        if not subjects:
            raise NotMeasured(
                f"the agent passes none of {len(cases)} cases, and only what passes can be mutated",
                remedy=f"harness run {plan.suite.name} shows why",
            )
        say(f"{len(subjects)} of {len(cases)} cases pass; making at most {most} mutants of each")
        pool = pool_of([one.trial for one in subjects], plan.suite.cases, plan.suite.tools)
        made = [(one, mutant) for one in subjects for mutant in _mutants(bench.suite, one, pool, most)]
        results = _results(bench, made)
        judged = [
            _judged(bench.suite, one, mutant, result) for (one, mutant), result in zip(made, results, strict=True)
        ]
        report = _report(plan, judged, trials=bench.trials_run)
    missing = tuple(sorted(chosen - {one.case.id for one in subjects}))
    return report.model_copy(update={"not_passed": missing, "seconds": round(time.monotonic() - began, 1)})


def _results(bench: VariantBench, made: Sequence[tuple[_Subject, Mutant]]) -> list[VariantResult]:
    """What becomes of the mutants. A trial is run only for those that change what the agent or a tool does."""
    variants = [TrialVariant(interventions=(mutant.intervention,)) for _, mutant in made]
    run = [not mutant.intervention.changes_answer_alone for _, mutant in made]
    requests = [
        VariantRequest(case=one.case, variant=variant)
        for (one, _), variant, is_run in zip(made, variants, run, strict=True)
        if is_run
    ]
    ended = iter(bench.run(requests))
    return [
        next(ended) if is_run else bench.with_answer(one.result, variant)
        for (one, _), variant, is_run in zip(made, variants, run, strict=True)
    ]


def _passing(bench: VariantBench, cases: Sequence[Case]) -> list[_Subject]:
    """Each case is run twice: what differs between the two is volatile."""
    requests = [VariantRequest(case=case) for case in cases]
    first, second = bench.run(requests), bench.run(requests)
    found = []
    for case, one, two in zip(cases, first, second, strict=True):
        if one.success and two.success:
            worlds = [_world(bench.suite, case, result.scored.trial) for result in (one, two)]
            world = without_volatile_values(worlds[0], worlds[1])
            assert isinstance(world, dict)
            found.append(_Subject(case=case, result=one, world=world))
    return found


def _world(suite: Suite, case: Case, trial: Trial) -> JsonObject:
    return world_of(trial, suite.tools, has_probes=bool(suite.probes or case.probes))


def _mutants(suite: Suite, subject: _Subject, pool: Pool, most: int) -> list[Mutant]:
    made = Mutating(case=subject.case, trial=subject.trial, tools=suite.tools, pool=pool)
    return mutants(made, most)


@dataclass(frozen=True, kw_only=True)
class _Judged:
    mutant: Mutant
    count: MutationCount
    noticed_by: tuple[str, ...] = ()
    hole: Hole | None = None


def _judged(suite: Suite, subject: _Subject, mutant: Mutant, result: VariantResult) -> _Judged:
    card, trial = result.scored.card, result.scored.trial
    if card.success is False:
        failed = tuple(one.check for one in card.verdicts if one.passed is False) or (trial.outcome,)
        return _Judged(mutant=mutant, count=MutationCount(mutants=1, noticed=1), noticed_by=failed)
    if card.success is None:
        return _Judged(mutant=mutant, count=MutationCount(mutants=1, unmeasured=1))
    found = difference(subject.world, _world(suite, subject.case, trial))
    if found is None and mutant.operator != _POLICY:
        return _Judged(mutant=mutant, count=MutationCount(mutants=1, equivalent=1))
    check = proposed_check(suite, subject.case, mutant, found, (subject.trial, trial))
    hole = Hole(
        case_id=mutant.case_id,
        operator=mutant.operator,
        step=mutant.step,
        words=mutant.intervention.words,
        changed="a step that the case requires is missing" if found is None else found.words,
        proposal=None if check is None else check.model_dump(mode="json", by_alias=True),
    )
    return _Judged(mutant=mutant, count=MutationCount(mutants=1, unnoticed=1), hole=hole)


def _report(plan: RunPlan, judged: Sequence[_Judged], *, trials: int) -> MutationReport:
    total = _sum([one.count for one in judged])
    groups = {name: [one.count for one in judged if one.mutant.operator == name] for name in _operators(judged)}
    checks = Counter({check.name: 0 for check in plan.suite.checks})
    for one in judged:
        checks.update(one.noticed_by)
    return MutationReport(
        suite=plan.suite.name,
        agent=plan.agent or plan.suite.default_agent or "",
        tools=plan.tools,
        total=total,
        score=total.score,
        operators={name: _sum(counts) for name, counts in groups.items()},
        checks=dict(checks.most_common()),
        holes=tuple(one.hole for one in judged if one.hole is not None),
        not_passed=(),
        trials=trials,
        seconds=0.0,
    )


def _operators(judged: Sequence[_Judged]) -> list[Operator]:
    return list(dict.fromkeys(one.mutant.operator for one in judged))


def _sum(counts: Sequence[MutationCount]) -> MutationCount:
    names = MutationCount.model_fields
    return MutationCount(**{name: sum(getattr(one, name) for one in counts) for name in names})
