"""The decisive step: what `harness explain` names first, beside constants, and how often it is right by its kind."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import get_args

from counting import wilson
from layout import share, table
from sources import Labelled

from harness.scoring.failures.ranking import Counted, Fitted, Suspect, suspects
from harness.scoring.scorecard import Kind

Runs = Mapping[str, Sequence[Labelled]]


def critical_steps(runs: Runs, all_: Fitted, without: Mapping[str, Fitted]) -> None:
    """Ours with numbers counted on all sets and on the others alone; constants chosen likewise."""
    fitting = _blamed(runs)
    rows = []
    for name, own in fitting.items():
        others = [one for other, some in fitting.items() if other != name for one in some]
        chosen = {
            "in sample": all_,
            "without the set": without[name],
            "without the set, without an order by hand": _without_order(without[name]),
        }
        for label, numbers in chosen.items():
            rows.append([name, f"ours ({label})", *_ours(own, numbers)])
        for label, tuned in (("in sample", own), ("without the set", others or own)):
            for from_end in (False, True):
                constant, right = _constant(tuned, own, from_end=from_end)
                where = f"{constant} {'from the end' if from_end else 'from the start'} ({label})"
                rows.append([name, where, len(own), len(own), share(right, len(own)), _interval(right, len(own))])
    head = ["set", "rule", "runs", "answered", "exact", "95 %", "within 1", "agent", "among the first 3"]
    table("The decisive step", head, [[*row, *[""] * (len(head) - len(row))] for row in rows])


def _without_order(numbers: Fitted) -> Fitted:
    """Kinds that are not counted have the mean, the earliest step first: the order that the ranking gives them was
    written by people who had read these sets.
    """
    unknown: dict[Kind, Counted] = {kind: Counted(right=0, cases=0) for kind in get_args(Kind)}
    return numbers.model_copy(update={"steps": {**unknown, **numbers.steps}})


def reliability(runs: Runs, all_: Fitted, without: Mapping[str, Fitted]) -> None:
    """How often the first answer is right, by its kind and set; no probability is stated of a step.

    "Left out" is what the counts of the other sets alone would state for it, where they have the kind.
    """
    rows = []
    for name, own in _blamed(runs).items():
        named: dict[str, list[bool]] = {}
        for one in own:
            found = _ranked(one, all_)
            named.setdefault(found[0].kind if found else "cannot tell", []).append(
                bool(found) and found[0].step == one.step
            )
        steps = {str(kind): counted for kind, counted in without[name].steps.items()}
        for kind, marks in sorted(named.items(), key=lambda pair: -len(pair[1])):
            other = steps.get(kind)
            left_out = "in no other set" if other is None else share(other.right, other.cases)
            told = (
                ["", ""]
                if kind == "cannot tell"
                else [share(sum(marks), len(marks)), _interval(sum(marks), len(marks))]
            )
            rows.append([name, kind, len(marks), *told, left_out])
    head = ["set", "kind of the first answer", "runs", "right", "95 %", "left out"]
    table("How often the first answer is right, by its kind", head, rows)


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
