"""The first wrong write of failed runs that have a reference, beside the step that `harness explain` names first.

The step is worked out here anew, by equality of names and arguments alone: the first successful write of the agent that
none of the reference's writes left equals; where every write made is one of the reference's, the run has no such step
(a write is missing, or the words are wrong). The detectors compare in substance (encodings, order, what a tool
ignores).
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from counting import named_writes, wilson
from layout import share, table
from sources import Labelled
from wrong_writes import first_wrong_write, hidden

from harness.scoring.failures.ranking import Fitted, suspects

Runs = Mapping[str, Sequence[Labelled]]


def wrong_writes(runs: Runs, without: Mapping[str, Fitted]) -> None:
    """By set and domain: how often the first answer is that step, and how often a constant is."""
    groups: dict[str, list[tuple[Labelled, int]]] = {}
    for name, some in runs.items():
        for run in some:
            step = first_wrong_write(run) if run.success is False else None
            if step is not None:
                domain = next((one for one in ("retail", "airline", "telecom") if one in run.id), "")
                groups.setdefault(f"{name} {domain}".strip(), []).append((run, step))
    rows = []
    for name, own in groups.items():
        exact = near = among = silent = 0
        for run, step in own:
            numbers = without[run.source]
            found = suspects(run.everything, run.evidence.trial.trajectory, success=run.success, numbers=numbers)
            silent += not found
            exact += bool(found) and found[0].step == step
            near += bool(found) and abs(found[0].step - step) <= 1
            among += any(one.step == step for one in found[:3])
        constant, right = Counter(step for _, step in own).most_common(1)[0]
        low, high = wilson(exact, len(own))
        told = [share(exact, len(own)), f"{100 * low:.0f} to {100 * high:.0f} %", share(near, len(own))]
        rows.append([name, len(own), *told, share(among, len(own)), silent, share(right, len(own)), constant])
    head = ["set", "runs", "exact", "95 %", "within 1", "among the first 3", "cannot tell", "best constant", "step"]
    table("The first wrong write of failed runs with a reference (without the set)", head, rows)


def without_reference(runs: Runs) -> None:
    """The same runs with their reference hidden, and every failed one: what is named where no reference helps.

    A run in which no write is wrong (one is missing, a word is) counts as wrongly named wherever a step is named.
    """
    rows = []
    for name, some in runs.items():
        bad = [one for one in some if one.success is False and one.evidence.case.reference is not None]
        if not bad:
            continue
        ranked = [(first_wrong_write(run), hidden(run)) for run in bad]
        named = [(step, found) for step, found in ranked if found]
        right = sum(step == found[0].step for step, found in named)
        first = [(step, found) for step, found in named if found[0].kind == "first_change"]
        own = share(sum(step == found[0].step for step, found in first), len(first))
        low, high = wilson(right, len(named))
        rows.append(
            [name, len(bad), len(named), share(right, len(named)), f"{100 * low:.0f} to {100 * high:.0f} %", own]
        )
    head = ["set", "failed runs", "a step named", "it is the first wrong write", "95 %", "named as first change"]
    table("Failed runs with their reference hidden", head, rows)


def stated(runs: Runs, without: Mapping[str, Fitted]) -> None:
    """Reliability: what the other sets alone state of a step, beside how often it is right, by the stated figure."""
    bins: dict[str, list[tuple[float, bool]]] = {}
    for name, some in runs.items():
        for run in some:
            for kind, right in named_writes(run):
                told = without[name].probability(kind)
                low = None if told is None else min(int(told * 10), 9)
                label = "none is stated" if low is None else f"{low / 10:.1f} to {(low + 1) / 10:.1f}"
                bins.setdefault(label, []).append((told or 0.0, right))
    rows = []
    for label, marks in sorted(bins.items()):
        hits = sum(right for _, right in marks)
        low_end, high_end = wilson(hits, len(marks))
        mean = "" if label.startswith("none") else f"{sum(told for told, _ in marks) / len(marks):.2f}"
        interval = f"{100 * low_end:.0f} to {100 * high_end:.0f} %"
        rows.append([label, len(marks), mean, share(hits, len(marks)), interval])
    table("Stated probabilities, without the set", ["stated", "steps", "mean", "right", "95 %"], rows)
