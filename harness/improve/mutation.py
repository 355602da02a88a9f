"""Mutation testing of a suite: which wrong things its checks do not notice.

Every case that the agent passes is run again with one thing done wrong at the gateway. A mutant that leaves the same
world and the same answer is equivalent, and not counted. Of the others, those that no check notices are holes.
"""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from harness.errors import NotMeasured
from harness.improve.mutants import Mutant, Mutating, Operator, Pool, mutants, pool_of
from harness.runs.execution.variants import VariantBench, VariantRequest, VariantResult, open_variants
from harness.runs.plan.plan import RunPlan
from harness.scoring.evidence import Evidence
from harness.scoring.scorer import score_trial
from harness.suite.cases import Case, CheckSpec
from harness.suite.interventions import TrialVariant
from harness.suite.suites import Suite
from harness.suite.tools import ToolSpec
from harness.traces.trial import Trial
from harness.values import Frozen, JsonObject, canonical_json

# What a trial left behind, made comparable: the world at its end, and its answer.
#
# The world is what the suite's probes read and the files that the agent changed. If a suite has no probe, the writes
# that succeeded stand for it. Values that differ between two unchanged trials are volatile, and left out of all.

_VOLATILE = "<volatile>"


class Difference(Frozen):
    """One place where two worlds differ."""

    part: str
    """`probe`, `files`, `writes` or `answer`."""
    name: str = ""
    """Name of the probe."""
    path: str = ""
    """JSON pointer within the part."""
    before: JsonValue = None
    after: JsonValue = None

    @property
    def words(self) -> str:
        """The difference in a report's words."""
        place = f"{self.part} {self.name}{self.path}".strip()
        return f"{place}: {canonical_json(self.before)[:80]} -> {canonical_json(self.after)[:80]}"


def world_of(trial: Trial, tools: tuple[ToolSpec, ...], *, has_probes: bool) -> JsonObject:
    """The end of a trial as one value."""
    changes = () if trial.end_state is None else trial.end_state.changes
    files: JsonObject = {one.path: [one.change, one.kind, one.sha256, one.link] for one in changes}
    world: JsonObject = {"files": files, "answer": trial.trajectory.final_output}
    if has_probes:
        return {**world, "probe": dict(trial.states)}
    return {**world, "writes": writes_of(trial, tools)}


def writes_of(trial: Trial, tools: tuple[ToolSpec, ...]) -> list[JsonValue]:
    """The writes that succeeded, in their order."""
    effects = {tool.name: tool.effect for tool in tools}
    seen = trial.trajectory.observations
    return [
        {"tool": call.name, "arguments": call.arguments}
        for call in trial.trajectory.calls
        if effects.get(call.name) == "write" and call.id in seen and seen[call.id].error is None
    ]


def without_volatile_values(world: JsonValue, other: JsonValue) -> JsonValue:
    """The world, if values in which an unchanged trial's differs are replaced by one mark."""
    match world, other:
        case dict(), dict():
            return {name: without_volatile_values(value, other.get(name)) for name, value in world.items()}
        case list(), list() if len(world) == len(other):
            return [without_volatile_values(one, two) for one, two in zip(world, other, strict=True)]
        case _:
            return world if canonical_json(world) == canonical_json(other) else _VOLATILE


def first_difference(before: JsonValue, after: JsonValue, path: str = "") -> tuple[str, JsonValue, JsonValue] | None:
    """Where two values differ first: a JSON pointer, and both values there. A volatile value equals every other."""
    if before == _VOLATILE or canonical_json(before) == canonical_json(after):
        return None
    match before, after:
        case dict(), dict() if set(before) == set(after):
            for name in before:
                found = first_difference(before[name], after[name], f"{path}/{_escaped(name)}")
                if found is not None:
                    return found
        case list(), list() if len(before) == len(after):
            for index, (one, two) in enumerate(zip(before, after, strict=True)):
                found = first_difference(one, two, f"{path}/{index}")
                if found is not None:
                    return found
        case _:
            return path, before, after
    return None


def difference(before: JsonObject, after: JsonObject) -> Difference | None:
    """The first difference of two worlds, the state before the files before the answer; None: they are the same."""
    for part in ("probe", "writes", "files", "answer"):
        if part not in before:
            continue
        if part == "probe":
            probes, others = before[part], after.get(part)
            assert isinstance(probes, dict)
            assert isinstance(others, dict)
            for name in probes:
                found = first_difference(probes[name], others.get(name))
                if found is not None:
                    return Difference(part=part, name=name, path=found[0], before=found[1], after=found[2])
            continue
        found = first_difference(before[part], after.get(part))
        if found is not None:
            return Difference(part=part, path=found[0], before=found[1], after=found[2])
    return None


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def proposed_check(
    suite: Suite, case: Case, mutant: Mutant, found: Difference | None, trials: tuple[Trial, Trial]
) -> CheckSpec | None:
    """The first check that passes the passing trial and fails the mutated one; None: none of those that are known."""
    passing, mutated = trials
    taken = {check.name for check in (*suite.checks, *case.checks)}
    for number, (verifier, parameters) in enumerate(_candidates(mutant, found, passing)):
        name = f"mutant_{mutant.operator}_{number}"
        if name in taken:
            continue
        check = CheckSpec.model_validate({"name": name, "verifier": verifier, "with": parameters})
        if _passes(suite, case, check, passing) is True and _passes(suite, case, check, mutated) is False:
            return check
    return None


def _candidates(mutant: Mutant, found: Difference | None, passing: Trial) -> Iterator[tuple[str, JsonObject]]:
    if mutant.operator == "policy_step_left_out":
        yield "required_tools", {}
    if found is None:
        return
    match found.part:
        case "probe":
            yield "state", {"probe": found.name, "path": found.path, "equals": found.before}
        case "answer":
            numbers = _NUMBER.findall(str(passing.trajectory.final_output))
            if numbers:
                yield "final_answer", {"contains": list[JsonValue](dict.fromkeys(numbers))}
            yield "final_answer", {"equals": str(passing.trajectory.final_output)}
        case "files":
            yield "files", {"allow": []}
        case _:
            yield from _of_writes(mutant, passing)


def _of_writes(mutant: Mutant, passing: Trial) -> Iterator[tuple[str, JsonObject]]:
    rules: list[JsonValue] = []
    made: dict[str, int] = {}
    for call in passing.trajectory.calls:
        made[call.name] = made.get(call.name, 0) + 1
        rules.append(f"require {call.name}{canonical_json(call.arguments or {})}")
    counts: list[JsonValue] = [f"{tool} at most {number} times" for tool, number in made.items()]
    added = [f"never {call.tool}" for call in mutant.intervention.at_end if call.tool not in made]
    yield "rules", {"rules": counts}
    yield "rules", {"rules": rules}
    if added:
        yield "rules", {"rules": list[JsonValue](added)}


def _passes(suite: Suite, case: Case, check: CheckSpec, trial: Trial) -> bool | None:
    alone = case.model_copy(update={"checks": (check,)})
    bare = suite.model_copy(update={"checks": (), "cases": (alone,), "metrics": ()})
    evidence = Evidence(case=alone, trial=trial, tools=suite.tools)
    return score_trial(evidence, bare).success


MOST = 12
"""Mutants of each case, if no number is given."""
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
        """noticed / (noticed + unnoticed); None if no mutant counts."""
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
    """Runs the mutants of every planned case. Raises NotMeasured if the agent passes none."""
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
            _judged_mutant(bench.suite, one, mutant, result)
            for (one, mutant), result in zip(made, results, strict=True)
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


def _judged_mutant(suite: Suite, subject: _Subject, mutant: Mutant, result: VariantResult) -> _Judged:
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
        agent=plan.agent or plan.suite.default_agent,
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
