"""Forks without a change: passing trials played again up to every step, and what that costs beside a whole trial.

    python -m qa.counterfactual_eval.forks [--sandbox docker-warm] [--most 50] SUITE[:AGENT] ...

A fork is the same where its trajectory is the parent's, byte for byte. Whole trials run between the forks, so that both
meet the same machine; the cost is the ratio of the median durations.
"""

import argparse
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from harness.improve.forks import ForkChange, forked_trial, variant_at
from harness.improve.subject import StoredSubject, open_subject_of
from harness.runs.execution.variants import VariantBench, VariantRequest, open_variants, variant_tool_mode
from harness.runs.plan.plan import RunOptions
from harness.runs.plan.planning import plan_of
from harness.runs.store.folder import RunFolder
from harness.suite.loading import load_suite

PROJECT = Path(__file__).resolve().parents[2]


@dataclass
class Figures:
    trials: int = 0
    forks: int = 0
    same: int = 0
    unlike: list[str] = field(default_factory=list)
    whole_s: list[float] = field(default_factory=list)
    fork_s: list[float] = field(default_factory=list)


def measured(suite_name: str, agent: str | None, sandbox: str, most: int, figures: Figures) -> None:
    """Forks up to `most` passing trials of the suite."""
    suite = load_suite(PROJECT, suite_name)
    model = None if suite.model is None else "replay"
    options = RunOptions(suite=suite_name, agent=agent, tools=variant_tool_mode(suite), sandbox=sandbox, model=model)
    with open_variants(plan_of(PROJECT, options), print) as bench:
        plain = bench.run([VariantRequest(case=case) for case in suite.cases])
        passing = [one for one in plain if one.success][:most]
        folder = RunFolder.open(bench.keep(passing).path)
        for one in passing:
            forked(bench, open_subject_of(PROJECT, folder, one.request.case.id, 1), figures)
    print(f"{suite_name}: {figures}", flush=True)


def forked(bench: VariantBench, subject: StoredSubject, figures: Figures) -> None:
    """Forks one trial at each of its steps, a whole trial beside each fork."""
    steps = [step.index for step in subject.trial.trajectory.steps]
    plain = VariantRequest(case=subject.case)
    requests = [
        request
        for step in steps
        for request in (VariantRequest(case=subject.case, variant=variant_at(subject, step, ForkChange())), plain)
    ]
    results = bench.run(requests)
    figures.trials += 1
    for step, fork, whole in zip(steps, results[::2], results[1::2], strict=True):
        ended = forked_trial(1, subject.trial, step, fork)
        figures.forks += 1
        figures.same += ended.same_end
        figures.fork_s.append(fork.scored.trial.duration_s or 0.0)
        figures.whole_s.append(whole.scored.trial.duration_s or 0.0)
        if not ended.same_end:
            figures.unlike.append(f"{subject.name} step {step}: {ended.outcome} {ended.reason}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "suites", nargs="*", default=["drive_thru", "drive_thru_talk", "basics", "drive_thru:v1", "grocery"]
    )
    parser.add_argument("--sandbox", default="docker-warm")
    parser.add_argument("--most", type=int, default=50, help="passing trials in all")
    asked = parser.parse_args()
    figures, began = Figures(), time.monotonic()
    for one in asked.suites:
        name, _, agent = one.partition(":")
        measured(name, agent or None, asked.sandbox, asked.most - figures.trials, figures)
    print(f"trials forked at every step  {figures.trials}")
    print(f"forks with the same end      {figures.same} of {figures.forks}")
    whole, fork = median(figures.whole_s), median(figures.fork_s)
    print(f"a fork beside a whole trial  {fork:.3f} s, {whole:.3f} s: {fork / whole:.2f}")
    print("\n".join(figures.unlike[:20]))
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
