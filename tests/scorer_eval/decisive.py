"""The decisive step: what `harness explain` names first, beside constants, and how far its probabilities hold."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from counting import wilson
from layout import share, table
from sources import Labelled

from harness.score.failures import Suspect, suspects
from harness.score.failures.fitted import Fitted

Runs = Mapping[str, Sequence[Labelled]]
_BOUNDS = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 1.01)


def critical_steps(runs: Runs, all_: Fitted, without: Mapping[str, Fitted]) -> None:
    """Ours with numbers counted on all sets and on the others alone; constants chosen likewise."""
    fitting = _blamed(runs)
    rows = []
    for name, own in fitting.items():
        others = [one for other, some in fitting.items() if other != name for one in some]
        for label, numbers in (("in sample", all_), ("without the set", without[name])):
            rows.append([name, f"ours ({label})", *_ours(own, numbers)])
        for label, tuned in (("in sample", own), ("without the set", others or own)):
            for from_end in (False, True):
                constant, right = _constant(tuned, own, from_end=from_end)
                where = f"{constant} {'from the end' if from_end else 'from the start'} ({label})"
                rows.append([name, where, len(own), len(own), share(right, len(own)), _interval(right, len(own))])
    head = ["set", "rule", "runs", "answered", "exact", "95 %", "within 1", "agent", "among the first 3"]
    table("The decisive step", head, [[*row, *[""] * (len(head) - len(row))] for row in rows])


def reliability(runs: Runs, all_: Fitted, without: Mapping[str, Fitted]) -> None:
    """Stated probability of the first answer beside how often it was the labelled step."""
    rows = []
    for label in ("in sample", "without the set"):
        told = [
            (one, first(one, all_ if label == "in sample" else without[one.source]))
            for some in _blamed(runs).values()
            for one in some
        ]
        for low, high in pairwise(_BOUNDS):
            own = [(one, found) for one, found in told if found is not None and low <= found.probability < high]
            if own:
                right = sum(found.step == one.step for one, found in own)
                mean = sum(found.probability for _, found in own) / len(own)
                calibrated = sum(found.calibrated for _, found in own)
                stated = f"{low:.1f} to {min(high, 1.0):.1f}"
                rows.append([label, stated, len(own), calibrated, f"{mean:.2f}", share(right, len(own))])
        silent = sum(found is None for _, found in told)
        rows.append([label, "cannot tell", silent, "", "", ""])
    head = ["numbers", "stated", "runs", "of them calibrated", "mean stated", "right"]
    table("How sure the first answer is, and how often it is right", head, rows)


def first(run: Labelled, numbers: Fitted) -> Suspect | None:
    """What `harness explain` names, with those numbers."""
    return next(iter(_ranked(run, numbers)), None)


def _ranked(run: Labelled, numbers: Fitted) -> tuple[Suspect, ...]:
    return suspects(run.everything, run.evidence.trial.trajectory, success=run.success, numbers=numbers)


def _blamed(runs: Runs) -> dict[str, list[Labelled]]:
    fitting = {name: [one for one in some if one.step is not None] for name, some in runs.items()}
    return {name: some for name, some in fitting.items() if some}


def _ours(own: Sequence[Labelled], numbers: Fitted) -> list[object]:
    ranked = [(one, _ranked(one, numbers)) for one in own]
    answered = [(one, found) for one, found in ranked if found]
    exact = sum(found[0].step == one.step for one, found in answered)
    near = sum(abs(found[0].step - (one.step or 0)) <= 1 for one, found in answered)
    agents = sum(_agent_at(one, found[0].step) == one.agent for one, found in answered)
    among = sum(any(each.step == one.step for each in found[:3]) for one, found in answered)
    size = len(own)
    told = [share(exact, size), _interval(exact, size), share(near, size), share(agents, size), share(among, size)]
    return [size, len(answered), *told]


def _interval(right: int, cases: int) -> str:
    low, high = wilson(right, cases)
    return f"{100 * low:.0f} to {100 * high:.0f} %"


def _agent_at(run: Labelled, index: int | None) -> str | None:
    return next((step.agent for step in run.evidence.trial.trajectory.steps if step.index == index), None)


def _constant(tuned: Sequence[Labelled], own: Sequence[Labelled], *, from_end: bool) -> tuple[int, int]:
    def place(run: Labelled) -> int:
        return len(run.evidence.trial.trajectory.steps) - 1 - (run.step or 0) if from_end else run.step or 0

    constant = Counter(place(run) for run in tuned).most_common(1)[0][0]
    return constant, sum(place(run) == constant for run in own)
