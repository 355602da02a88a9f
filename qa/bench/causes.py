"""Counterfactuals: a fork beside a whole trial, `blame` of long trials in times of one, and the mutants of a suite.

python -m qa.bench.causes
"""

import time
from statistics import median

from harness.improve.mutation import MOST, mutate
from harness.runs.plan.plan import RunOptions
from harness.runs.plan.planning import plan_of
from qa.bench.figures import Target, show
from tests.improve.causes import forks
from tests.improve.causes.planted.__main__ import LONG, PROJECT, Figures, Plan, measured

SUITE = "drive_thru"
CASES = 25
TARGETS = (
    Target(figure="a fork / a whole trial, docker-warm", bound=1.3),
    Target(figure="forks with the same end, share", bound=1.0, least=True),
    Target(figure="blame of a trial of 20 steps / a whole trial", bound=40),
    Target(figure=f"seconds for {CASES} cases, {MOST} mutants each", bound=60),
)


def main() -> None:
    forked = forks.Figures()
    forks.measured(SUITE, None, "docker-warm", 10, forked)
    found = Figures()
    measured(Plan("grocery", None, 24, "docker-warm", "replay"), found, [])
    long = [beside for steps, beside in found.times if steps >= LONG]
    if not long:
        raise SystemExit(f"no planted trial had {LONG} steps: the time of blame was not measured")
    began = time.monotonic()
    report = mutate(
        plan_of(PROJECT, RunOptions(suite=SUITE, tools="live", sandbox="docker-warm")), MOST, lambda _: None
    )
    taken = time.monotonic() - began
    figures = (median(forked.fork_s) / median(forked.whole_s), forked.same / forked.forks, max(long), taken)
    print(f"  {forked.forks} forks, {len(long)} causes of {LONG} steps or more, {report.total.mutants} mutants")
    show(dict(zip((target.figure for target in TARGETS), figures, strict=True)), TARGETS)


if __name__ == "__main__":
    main()
