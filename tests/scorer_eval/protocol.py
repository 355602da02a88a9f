"""Every mode beside trivial floors, on every labelled set, in sample and without the set that is shown.

What is tuned is the floors' threshold of length and the constant step, and the confidence below which a finding is
taken for none. "Left out": each is chosen on the other sets alone. Precision, recall and F1 count runs; intervals are
Wilson's at 95 % for shares, and bootstrapped over runs for F1.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import call_rules
from layout import share, table
from sources import MODES, SETS, Labelled, labelled

from harness.score.failures import Suspect, suspects

REWARDED = 0.02
"""The share of rewarded runs of a set that may be flagged, all modes together."""
_RESAMPLES = 400
Flag = Callable[[Labelled], bool]
Runs = Mapping[str, Sequence[Labelled]]


def protocol(data: Path) -> None:
    """All tables."""
    runs = {name: labelled(data, name) for name in SETS}
    modes(runs)
    rewarded(runs)
    critical_steps(runs)
    named(runs)
    reliability(runs)


def length(run: Labelled) -> int:
    """Decisions of the agent."""
    return sum(step.source == "agent" for step in run.evidence.trial.trajectory.steps)


def modes(runs: Runs) -> None:
    """Precision, recall, F1 with intervals for each mode and set that labels it, beside the floors."""
    rows = []
    for mode in MODES:
        fitting = {name: [one for one in some if mode in one.modes] for name, some in runs.items()}
        fitting = {name: some for name, some in fitting.items() if some}
        positives = {name: some for name, some in fitting.items() if any(one.modes[mode] for one in some)}
        if not positives:
            rows.append([mode, "-", "-", "not measured here: no set labels it", *[""] * 5])
            continue
        for name in [*positives, *(["together"] if len(fitting) > 1 else [])]:
            if name == "together":
                own, others = [one for some in fitting.values() for one in some], []
            else:
                own, others = _with_controls(name, fitting, mode)
            for label, flag in _rules(mode, own, others or own):
                rows.append([mode, name, label, *_figures(own, mode, flag)])
    head = ["mode", "set", "rule", "runs", "labelled", "precision", "recall", "F1", "95 %"]
    table("Each mode beside its floors (length and confidence are chosen without the set that is shown)", head, rows)


def _with_controls(name: str, fitting: Runs, mode: str) -> tuple[list[Labelled], list[Labelled]]:
    """A set's runs, with the others' negatives where it has none itself; and the rest, to tune on."""
    own = list(fitting[name])
    rest = [one for other, some in fitting.items() if other != name for one in some]
    if all(one.modes[mode] for one in own):
        own += [one for one in rest if not one.modes[mode]]
    return own, rest


def _rules(mode: str, own: Sequence[Labelled], others: Sequence[Labelled]) -> list[tuple[str, Flag]]:
    fitted, left_out = _best_length(own, mode), _best_length(others, mode)
    return [
        ("ours", lambda run: mode in run.found),
        ("always yes", lambda run: True),
        (f"length > {fitted} (in sample)", lambda run: length(run) > fitted),
        (f"length > {left_out} (left out)", lambda run: length(run) > left_out),
        ("three identical calls", lambda run: call_rules.three_identical(call_rules.keys(run.evidence))),
        ("plain cycle", lambda run: call_rules.cycle(call_rules.keys(run.evidence))),
    ]


def _best_length(runs: Sequence[Labelled], mode: str) -> int:
    lengths = sorted({length(run) for run in runs})
    tried = lengths[:: max(1, len(lengths) // 40)]
    return max(tried, key=lambda most: _f1(*_counts(runs, mode, lambda run: length(run) > most)), default=0)


def _counts(runs: Sequence[Labelled], mode: str, flag: Flag) -> tuple[int, int, int]:
    hits = sum(flag(run) and run.modes[mode] for run in runs)
    return hits, sum(flag(run) for run in runs), sum(run.modes[mode] for run in runs)


def _f1(hits: int, flagged: int, labelled_: int) -> float:
    return 0.0 if not hits else 2 * hits / (flagged + labelled_)


def _figures(runs: Sequence[Labelled], mode: str, flag: Flag) -> list[object]:
    hits, flagged, positive = _counts(runs, mode, flag)
    marks = [(flag(run), run.modes[mode]) for run in runs]
    rng = random.Random(7)
    values = []
    for _ in range(_RESAMPLES):
        some = rng.choices(marks, k=len(marks))
        values.append(_f1(sum(a and b for a, b in some), sum(a for a, _ in some), sum(b for _, b in some)))
    values.sort()
    low, high = values[int(0.025 * _RESAMPLES)], values[int(0.975 * _RESAMPLES)]
    f1 = f"{_f1(hits, flagged, positive):.2f}"
    return [len(runs), positive, share(hits, flagged), share(hits, positive), f1, f"{low:.2f} to {high:.2f}"]


def rewarded(runs: Runs) -> None:
    """Alarms on every run that reached its goal, by mode and all together."""
    rows = []
    for name, some in runs.items():
        good = [one for one in some if one.success]
        if not good:
            continue
        count = Counter(mode for one in good for mode in one.found if mode != "other")
        any_mode = sum(bool(one.found - {"other"}) for one in good)
        verdict = "" if any_mode <= REWARDED * len(good) else "above 2 %"
        rows.append([name, len(good), *(count[mode] for mode in MODES), share(any_mode, len(good)), verdict])
    table("Alarms on runs that reached their goal", ["set", "runs", *MODES, "any", ""], rows)


def critical_steps(runs: Runs) -> None:
    """The decisive step: ours beside constants, the constant chosen in sample and on the other sets."""
    fitting = {name: [one for one in some if one.step is not None] for name, some in runs.items()}
    fitting = {name: some for name, some in fitting.items() if some}
    rows = []
    for name, own in fitting.items():
        others = [one for other, some in fitting.items() if other != name for one in some]
        ranked = [(one, _first_ranked(one)) for one in own]
        answered = [(one, found) for one, found in ranked if found is not None]
        exact = sum(found.step == one.step for one, found in answered)
        near = sum(abs(found.step - one.step) <= 1 for one, found in answered)
        agents = sum(_agent_at(one, found.step) == one.agent for one, found in answered)
        size = len(own)
        rows.append([name, "ours", size, len(answered), share(exact, size), share(near, size), share(agents, size)])
        for label, tuned in (("in sample", own), ("left out", others or own)):
            for from_end in (False, True):
                constant, right = _constant(tuned, own, from_end=from_end)
                where = f"{constant} {'from the end' if from_end else 'from the start'} ({label})"
                rows.append([name, where, size, size, share(right, size), "", ""])
    table("The decisive step", ["set", "rule", "runs", "answered", "exact", "within 1", "agent"], rows)


def _first_ranked(run: Labelled) -> Suspect | None:
    return next(iter(ranked_of(run)), None)


def ranked_of(run: Labelled) -> tuple[Suspect, ...]:
    """What `harness explain` names, most probable first."""
    return suspects(run.card.diagnoses, run.evidence.trial.trajectory, success=run.success)


def _agent_at(run: Labelled, index: int | None) -> str | None:
    return next((step.agent for step in run.evidence.trial.trajectory.steps if step.index == index), None)


def _constant(tuned: Sequence[Labelled], own: Sequence[Labelled], *, from_end: bool) -> tuple[int, int]:
    def place(run: Labelled) -> int:
        return len(run.evidence.trial.trajectory.steps) - 1 - (run.step or 0) if from_end else run.step or 0

    constant = Counter(place(run) for run in tuned).most_common(1)[0][0]
    return constant, sum(place(run) == constant for run in own)


def named(runs: Runs) -> None:
    """Of failed runs that have a reference: how many got a name, and how many stay `other`."""
    rows = []
    for name, some in runs.items():
        bad = [one for one in some if one.success is False and one.evidence.case.reference is not None]
        if bad:
            other = sum(not one.found - {"other"} for one in bad)
            kinds = Counter(one.kind for run in bad for one in run.card.diagnoses)
            rows.append(
                [name, len(bad), share(other, len(bad)), ", ".join(f"{k} {n}" for k, n in kinds.most_common(8))]
            )
    table("Failed runs with a reference", ["set", "runs", "other alone", "kinds"], rows)


def reliability(runs: Runs) -> None:
    """Stated probability of the first answer beside how often it was the labelled step."""
    rows = []
    blamed = [(one, _first_ranked(one)) for some in runs.values() for one in some if one.step is not None]
    for low in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7):
        high = {0.5: 0.7, 0.7: 1.01}.get(low, low + 0.1)
        own = [(one, found) for one, found in blamed if found is not None and low <= found.probability < high]
        if own:
            right = sum(found.step == one.step for one, found in own)
            mean = sum(found.probability for _, found in own) / len(own)
            rows.append([f"{low:.1f} to {min(high, 1.0):.1f}", len(own), f"{mean:.2f}", share(right, len(own))])
    table("How sure the first answer is, and how often it is right", ["stated", "runs", "mean stated", "right"], rows)
