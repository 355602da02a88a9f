"""Planted causes: trials in which exactly one step was made wrong at the gateway, and what names that step.

    python -m qa.counterfactual_eval.planted [--most 100] [--json FILE] SUITE[:AGENT][,MOST] ...

Of each suite the agent's passing trials are mutated; a mutant that fails and in which one step is wrong is a planted
trial. `blame` is asked once with the reference alone and once with a passing trial of the case too; the detectors'
first guess is read from the same scorecards. A call that is missing lies between two steps: either is right, for all.
Where the case has no reference, only the passing trial is asked for.
A suite with a model of rules is answered by it: a call that is wrong leads to requests that no cassette holds.
"""

import argparse
import json
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from harness.improve.blame import BlameRequest, CauseSearch
from harness.improve.subject import StoredSubject, open_subject_of
from harness.runs.execution.variants import VariantBench, VariantRequest, open_variants, variant_tool_mode
from harness.runs.plan.plan import RunOptions
from harness.runs.plan.planning import plan_of
from harness.runs.store.folder import RunFolder
from harness.scoring.evidence import fed_calls, step_of_call
from harness.suite.interventions import TrialVariant
from harness.suite.loading import load_suite
from harness.suite.models import ModelMode
from harness.traces.trial import Trial
from qa.counterfactual_eval.mutants import Mutant, Mutating, mutants, pool_of
from qa.counterfactual_eval.rule_models import answered_by_rules

PROJECT = Path(__file__).resolve().parents[2]
BESIDE = frozenset({"call_dropped", "read_skipped", "policy_step_left_out", "stopped_early"})
BASES = ("reference", "passing trial")
LONG = 20
"""Steps of a trial from which on the time of its `blame` is printed apart."""


@dataclass
class Figures:
    planted: int = 0
    guessed: int = 0
    guess_made: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    exact: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    trials: int = 0
    times: list[tuple[int, float]] = field(default_factory=list, repr=False)
    """Steps of a planted trial, and the time of its `blame` beside that of the passing trial."""


def right_steps(mutant: Mutant, trial: Trial) -> set[int]:
    calls = fed_calls(trial)
    steps = {step_of_call(calls, trial, mutant.at)}
    if mutant.operator in BESIDE and mutant.at > 0:
        steps.add(calls[mutant.at - 1].step)
    return steps


@dataclass(frozen=True)
class Plan:
    suite: str
    agent: str | None
    most: int
    sandbox: str
    model: ModelMode
    project: Path = PROJECT


def measured(plan: Plan, figures: Figures, rows: list[dict]) -> None:
    suite = load_suite(plan.project, plan.suite)
    mode = variant_tool_mode(suite)
    model = None if suite.model is None else plan.model
    options = RunOptions(suite=plan.suite, agent=plan.agent, tools=mode, sandbox=plan.sandbox, model=model)
    with answered_by_rules(plan_of(plan.project, options)) as run_plan, open_variants(run_plan, print) as bench:
        plain = bench.run([VariantRequest(case=case) for case in suite.cases])
        passing = {one.request.case.id: one.scored.trial for one in plain if one.success}
        pool = pool_of(list(passing.values()), suite.cases, suite.tools)
        made = [
            one
            for case in suite.cases
            if case.id in passing
            for one in mutants(Mutating(case=case, trial=passing[case.id], tools=suite.tools, pool=pool))
            if one.single
        ]
        made = made[:: max(len(made) // plan.most, 1)][: plan.most] if plan.most else made
        print(f"{suite.name}: {len(passing)} of {len(plain)} pass, {len(made)} mutants of one step, tools {mode}")
        planted(bench, made, passing, figures, rows, plan.project)


def planted(
    bench: VariantBench,
    made: list[Mutant],
    passing: dict[str, Trial],
    figures: Figures,
    rows: list[dict],
    project: Path,
) -> None:
    """Runs the mutants; asks of each that fails what went wrong."""
    cases = {case.id: case for case in bench.suite.cases}
    requests = [
        VariantRequest(case=cases[one.case_id], variant=TrialVariant(interventions=(one.intervention,))) for one in made
    ]
    failed = [one for one in zip(made, bench.run(requests), strict=True) if one[1].success is False]
    folder = RunFolder.open(bench.keep([result for _, result in failed]).path)
    numbers: Counter[str] = Counter()
    for done, (mutant, _) in enumerate(failed, start=1):
        numbers[mutant.case_id] += 1
        subject = open_subject_of(project, folder, mutant.case_id, numbers[mutant.case_id])
        rows.append({"suite": bench.suite.name, **asked_of(bench, subject, mutant, passing[mutant.case_id], figures)})
        if done % 20 == 0:
            print(f"  {done} of {len(failed)}: {figures}", flush=True)


def asked_of(bench: VariantBench, subject: StoredSubject, mutant: Mutant, passing: Trial, figures: Figures) -> dict:
    right = right_steps(mutant, subject.trial)
    figures.planted += 1
    figures.guess_made += bool(subject.guesses)
    figures.guessed += bool(subject.guesses) and subject.guesses[0] in right
    row = {"case": mutant.case_id, "operator": mutant.operator, "right": sorted(right)}
    for basis in BASES if subject.case.reference is not None else BASES[1:]:
        request = BlameRequest(repeats=1, passing=passing if basis == "passing trial" else None)
        began = time.monotonic()
        found = CauseSearch(subject, request, bench).run()
        beside = (time.monotonic() - began) / (passing.duration_s or 1.0)
        figures.times.append((len(subject.trial.trajectory.steps), beside))
        steps = () if found.cause is None else found.cause.steps
        figures.trials += found.trials
        figures.asked[basis] += 1
        figures.answered[basis] += bool(steps)
        figures.exact[basis] += len(steps) == 1 and steps[0] in right
        row |= {basis: list(steps), f"{basis} reason": found.reason or ""}
    return {**row, "guess": list(subject.guesses[:1]), "words": mutant.intervention.words}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", default=["drive_thru", "basics", "library_desk"])
    parser.add_argument("--most", type=int, default=0, help="mutants of each suite, evenly spread; 0: all")
    parser.add_argument("--sandbox", default="docker-warm")
    parser.add_argument("--model", choices=["replay", "live"], default="replay", help="who answers for the model")
    parser.add_argument("--json", type=Path, help="where each planted trial is written to")
    asked = parser.parse_args()
    figures, rows, began = Figures(), list[dict](), time.monotonic()
    for one in asked.suites:
        chosen, _, most = one.partition(",")
        name, _, agent = chosen.partition(":")
        measured(Plan(name, agent or None, int(most or asked.most), asked.sandbox, asked.model), figures, rows)
    if asked.json is not None:
        asked.json.write_text(json.dumps(rows, indent=1))
    print(f"planted trials          {figures.planted}")
    if not figures.planted:
        raise SystemExit("no mutant of one step made a trial fail: nothing was planted")
    share = figures.guessed / figures.planted
    print(f"detectors, exact step   {figures.guessed} ({share:.1%}); a guess in {figures.guess_made}")
    for basis in BASES:
        exact, of = figures.exact[basis], figures.asked[basis]
        share = f"{exact / of:.1%}" if of else "not asked"
        print(f"blame by {basis:14} {exact} of {of} ({share}); an answer in {figures.answered[basis]}")
    long = [beside for steps, beside in figures.times if steps >= LONG]
    if long:
        words = f"{median(long):.1f} in the median, {max(long):.1f} at most"
        print(f"its time, {LONG} steps up   {len(long)} causes: {words}, in times of a whole trial")
    print(f"trials run for it       {figures.trials}, {time.monotonic() - began:.0f} s in all")


if __name__ == "__main__":
    main()
