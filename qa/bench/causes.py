"""Counterfactuals: a fork beside a whole trial, and `blame` of long trials in times of one.

python -m qa.bench.causes
"""

from statistics import median

from qa.bench.figures import Target, show
from qa.counterfactual_eval import forks
from qa.counterfactual_eval.planted import LONG, Figures, Plan, measured

SUITE = "drive_thru"
TARGETS = (
    Target(figure="a fork / a whole trial, docker-warm", bound=1.3),
    Target(figure="forks with the same end, share", bound=1.0, least=True),
    Target(figure="blame of a trial of 20 steps / a whole trial", bound=40),
)


def main() -> None:
    forked = forks.Figures()
    forks.measured(SUITE, None, "docker-warm", 10, forked)
    found = Figures()
    measured(Plan("grocery", None, 24, "docker-warm", "replay"), found, [])
    long = [beside for steps, beside in found.times if steps >= LONG]
    if not long:
        raise SystemExit(f"no planted trial had {LONG} steps: the time of blame was not measured")
    figures = (median(forked.fork_s) / median(forked.whole_s), forked.same / forked.forks, max(long))
    print(f"  {forked.forks} forks, {len(long)} causes of {LONG} steps or more")
    show(dict(zip((target.figure for target in TARGETS), figures, strict=True)), TARGETS)


if __name__ == "__main__":
    main()
