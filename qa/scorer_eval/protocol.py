"""Every mode beside trivial floors, on every labelled set: in sample, without the set, and without the runs shown.

What is counted stands in `fitted.json`: how often people gave a run the mode of a kind, from which follows by one rule
whether the kind is a finding, and how often a kind names the step. The floors' length is tuned. "In sample": counted on
all runs. "Without the set": counted on the other sets alone. "Without the runs": counted on all but a fifth of the runs
(by the hash of the run's id), which are then shown, five times over; of use where no other set has runs of that shape.
The rules themselves, their words and their limits, were written by people who had read runs of trail, captain and
magentic, which no column can undo.

Precision, recall and F1 count runs that a finding of the mode flags. AUC ranks runs by the mode's weight, which
`harness explain --json` prints, or by length. Intervals are bootstrapped over runs.
"""

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import call_rules
from counting import counted, f1, length, told_by
from decisive import critical_steps, reliability
from layout import share, table
from ranked import mode_order, weight_of
from sources import MODES, SETS, Labelled, labelled
from summary import in_short, kinds, others_without_their_reward, speed
from writes import stated, without_reference, wrong_writes

from harness.scoring.failures.ranking import Fitted

REWARDED = 0.02
"""The share of rewarded runs of a set that may be flagged, all modes together."""
NOT_SHOWN: Mapping[str, str] = {
    "toolbench": "nobody labelled its runs; calls of tools that are not available, which the files themselves tell, "
    "are counted by --only tool-hallucination",
    "sola": "its files are text and sheets that no format reads, and people related neighbouring steps, not runs",
    "relytoolbench": "its tasks have no runs; the few runs given as examples carry no label of a mode",
}
"""Labelled or objective sets that have no row here, and why."""
ALARMS_READ: Mapping[str, str] = {
    "sweagent eps": "hands in the same wrong flag four times running and is told so each time: a loop, rightly named",
    "taubench gpt-4o-airline task 13": "makes one refused update four times; the user says that they go in circles: "
    "stuck, rightly named",
}
"""Alarms on runs that reached their goal, read by eye: a finding that is right stays, though it counts as an alarm."""
_RESAMPLES = 400
_PARTS = 5
Flag = Callable[[Labelled], bool]
Value = Callable[[Labelled], float]
Runs = Mapping[str, Sequence[Labelled]]


def protocol(data: Path) -> None:
    """All tables."""
    runs = {name: labelled(data, name) for name in SETS}
    numbers = Numbers(runs)
    rows = modes(runs, numbers)
    kinds(numbers.all, numbers.without_set)
    rewarded(runs)
    others_without_their_reward(runs, numbers.all)
    critical_steps(runs, numbers.all, numbers.without_set)
    wrong_writes(runs, numbers.without_set)
    without_reference(runs)
    stated(runs, numbers.without_set)
    named(runs)
    reliability(runs, numbers.all, numbers.without_set)
    mode_order(runs, numbers.all, numbers.without_set)
    speed(data)
    in_short(rows)
    table("Sets without a row", ["set", "why"], [list(one) for one in NOT_SHOWN.items()])


class Numbers:
    """What is counted on all labelled runs, without each set, and without each fifth of the runs."""

    def __init__(self, runs: Runs) -> None:
        every = [one for some in runs.values() for one in some]
        self.all = counted(every)
        self.without_set = {name: counted((one for one in every if one.source != name), name) for name in runs}
        self.without_runs = {part: counted(one for one in every if fifth(one) != part) for part in range(_PARTS)}


def fifth(run: Labelled) -> int:
    """Which fifth of the runs this one is in, by the hash of its id."""
    return int(hashlib.sha256(f"{run.source}/{run.id}".encode()).hexdigest()[:8], 16) % _PARTS


def modes(runs: Runs, numbers: Numbers) -> list[list[object]]:
    """Precision, recall, F1 and AUC for each mode and set that labels it, beside the floors."""
    rows: list[list[object]] = []
    for mode in MODES:
        fitting = {name: [one for one in some if mode in one.modes] for name, some in runs.items()}
        fitting = {name: some for name, some in fitting.items() if some}
        positives = {name: some for name, some in fitting.items() if any(one.modes[mode] for one in some)}
        for name in [*positives, *(["together"] if len(positives) > 1 else [])]:
            if name == "together":
                own, others = [one for some in fitting.values() for one in some], list[Labelled]()
            else:
                own, others = _with_controls(name, fitting, mode)
            for label, flag, score in (*_ours(mode, numbers), *_rules(mode, own, others or own)):
                rows.append([mode, name, label, *_figures(own, mode, flag), _auc(own, mode, score)])
    head = ["mode", "set", "rule", "runs", "labelled", "precision", "recall", "F1", "95 %", "AUC (95 %)"]
    table("Each mode beside its floors", head, rows)
    return rows


def _ours(mode: str, numbers: Numbers) -> Iterable[tuple[str, Flag, Value | None]]:
    chosen: dict[str, Callable[[Labelled], Fitted]] = {
        "ours, in sample": lambda run: numbers.all,
        "ours, without the set": lambda run: numbers.without_set[run.source],
        "ours, without the runs": lambda run: numbers.without_runs[fifth(run)],
    }
    for label, of in chosen.items():
        yield (
            label,
            lambda run, of=of: any(one.failure == mode for one in told_by(run, of(run))),
            lambda run, of=of: weight_of(mode, run, of(run)),
        )


def _with_controls(name: str, fitting: Runs, mode: str) -> tuple[list[Labelled], list[Labelled]]:
    """A set's runs, with the others' negatives where it has none itself; and the rest, to tune on."""
    own = list(fitting[name])
    rest = [one for other, some in fitting.items() if other != name for one in some]
    if all(one.modes[mode] for one in own):
        own += [one for one in rest if not one.modes[mode]]
    return own, rest


def _rules(mode: str, own: Sequence[Labelled], others: Sequence[Labelled]) -> list[tuple[str, Flag, Value | None]]:
    fitted, left_out = _best_length(own, mode), _best_length(others, mode)
    return [
        ("always yes", lambda run: True, lambda run: 1.0),
        (f"length > {fitted} (in sample)", lambda run: length(run) > fitted, length),
        (f"length > {left_out} (without the set)", lambda run: length(run) > left_out, None),
        ("three identical calls", lambda run: call_rules.three_identical(call_rules.keys(run.evidence)), None),
        ("plain cycle", lambda run: call_rules.cycle(call_rules.keys(run.evidence)), None),
    ]


def _best_length(runs: Sequence[Labelled], mode: str) -> int:
    marks = [(length(run), run.modes[mode]) for run in runs]
    lengths = sorted({one for one, _ in marks})
    tried = lengths[:: max(1, len(lengths) // 40)]
    return max(tried, key=lambda most: f1([(one > most, positive) for one, positive in marks]), default=0)


def _figures(runs: Sequence[Labelled], mode: str, flag: Flag) -> list[object]:
    marks = [(flag(run), run.modes[mode]) for run in runs]
    hits = sum(flagged and positive for flagged, positive in marks)
    flagged, positive = sum(one for one, _ in marks), sum(one for _, one in marks)
    rng = random.Random(7)
    low, high = _middle([f1(rng.choices(marks, k=len(marks))) for _ in range(_RESAMPLES)])
    told = [share(hits, flagged), share(hits, positive), f"{f1(marks):.2f}", f"{low:.2f} to {high:.2f}"]
    return [len(runs), positive, *told]


def _auc(runs: Sequence[Labelled], mode: str, score: Value | None) -> str:
    if score is None:
        return ""
    marks = [(score(run), run.modes[mode]) for run in runs]
    rng = random.Random(7)
    values = [auc(rng.choices(marks, k=len(marks))) for _ in range(_RESAMPLES)]
    low, high = _middle([one for one in values if one is not None])
    whole = auc(marks)
    return "" if whole is None else f"{whole:.2f} ({low:.2f} to {high:.2f})"


def auc(marks: Sequence[tuple[float, bool]]) -> float | None:
    """How often a labelled run scores above another one, equals counting half; None where there is one kind alone."""
    ranked = sorted(marks)
    below, wins = 0, 0.0
    for _, equals in groupby(ranked, key=lambda mark: mark[0]):
        positive = [one for _, one in equals]
        negatives = len(positive) - sum(positive)
        wins += sum(positive) * (below + negatives / 2)
        below += negatives
    positives = len(ranked) - below
    return wins / (positives * below) if positives and below else None


def _middle(values: Sequence[float]) -> tuple[float, float]:
    ranked = sorted(values)
    return ranked[int(0.025 * len(ranked))], ranked[int(0.975 * len(ranked))]


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
    table("Of these, read by eye", ["run", "reading"], [list(one) for one in ALARMS_READ.items()])


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
