"""`python -m qa.optimise_eval.speed`: the harness's own share of the processor time of an optimisation.

Whole trials in plain processes: the harness's process beside the agents (with the launcher of each), the model of rules
and the service. Processor time, so that other load on the machine changes little.
"""

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.improve.candidates import candidate_of, components_of
from harness.improve.lineage import WeightedObjective
from harness.improve.optimisation import Optimisation
from harness.improve.reflector import RuleReflector, read_rule_book
from harness.improve.search import optimisers_of
from harness.improve.sizing import OptimisationSettings
from harness.improve.trial_verdict import TrialJudge, open_judge
from harness.improve.whole_trials import open_whole_trials
from harness.judging.rubrics import load_rubric
from harness.runs.plan.plan import RunPlan
from harness.suite.cases import Case
from harness.suite.digests import suite_digest
from qa.optimise_eval.__main__ import Bench
from qa.optimise_eval.settings import SETTINGS
from tests.improve.prompts.conftest import grocery


def with_cases(plan: RunPlan, cases: Sequence[Case]) -> RunPlan:
    """The plan with other cases in its suite, whose digest is renewed, and without trials of cases left out."""
    suite = plan.suite.model_copy(update={"cases": tuple(cases)})
    ids = {case.id for case in cases}
    planned = tuple(one for one in plan.planned if one.case_id in ids)
    return replace(plan, suite=suite.model_copy(update={"digest": suite_digest(suite)}), planned=planned)


@dataclass(frozen=True)
class Used:
    """Seconds of processor time so far."""

    own: float
    agents: float
    doubles: float

    @classmethod
    def now(cls, doubles: list[int]) -> "Used":
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return cls(time.process_time(), children.ru_utime + children.ru_stime, sum(map(_seconds, doubles)))


def _seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    """0: the share is below the target."""
    parser = argparse.ArgumentParser(prog="optimise_eval.speed")
    parser.add_argument(
        "--rollouts", type=int, default=500, help="of each optimiser, and at least so many that are really run"
    )
    parser.add_argument("--target", type=float, default=0.25)
    options = parser.parse_args()
    (setting,) = [one for one in SETTINGS if one.name == "budget-withheld"]
    with tempfile.TemporaryDirectory() as folder, grocery(Path(folder) / "project") as plan:
        bench = Bench.of(setting, plan.suite, Path(folder) / "texts")
        doubles = [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
        rubric = load_rubric("trip", plan.suite.folder)
        judge = TrialJudge(judge=open_judge(plan.project, plan.suite, rubric))
        with open_whole_trials(replace(with_cases(plan, bench.cases), jobs=2), judge) as whole:
            before, began, ran, seed = Used.now(doubles), time.monotonic(), 0, 0
            while ran < options.rollouts:
                seed += 1
                found = Optimisation(
                    suite="grocery",
                    mode="joint",
                    component=None,
                    start=candidate_of(setting.texts()),
                    components=components_of(plan.suite),
                    agent_components=components_of(plan.suite),
                    cases={case.id: [case.task] for case in bench.cases},
                    objective=WeightedObjective(weights=rubric.weights, safety=rubric.safety),
                    rollouts=whole,
                    reflector=RuleReflector(read_rule_book(plan.suite.folder / "reflector.yaml"), seed=seed),
                    optimisers=optimisers_of("random"),
                    settings=OptimisationSettings(rollouts=options.rollouts, minibatch=4, noise_samples=2, seed=seed),
                ).run()
                ran += found.spent.rollouts
            after, took = Used.now(doubles), time.monotonic() - began
    parts = {name: getattr(after, name) - getattr(before, name) for name in ("own", "agents", "doubles")}
    total = sum(parts.values())
    told = ", ".join(f"{name} {1000 * part / ran:.0f} ms" for name, part in parts.items())
    share = parts["own"] / total
    print(f"{ran} rollouts in {took:.0f} s; processor time a rollout: {told}; the harness's share {share:.3f}")
    return 0 if share < options.target else 1


if __name__ == "__main__":
    sys.exit(main())
