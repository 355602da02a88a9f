"""Counts what `fitted.json` holds from labelled runs: all of them, or those that a figure is not shown for.

`Fitted` holds the counts alone; which kinds are findings follows from them by the rule that stands there.
"""

import json
from collections.abc import Iterable, Sequence
from math import sqrt
from pathlib import Path

from sources import MODES, SETS, Labelled, labelled
from wrong_writes import ABOUT_WRITES, first_wrong_write, hidden

from harness.scoring.failures import ranking
from harness.scoring.failures.ranking import INFERRED, Counted, Fitted, Seen, suspects
from harness.scoring.scorecard import Diagnosis, Failure, Kind

FEWEST = 5
"""Runs from which on a kind's step is counted."""


def fit(data: Path) -> None:
    """Counts on all labelled sets and writes the package's `fitted.json`."""
    runs = [one for name in SETS for one in labelled(data, name)]
    path = Path(str(ranking.__file__)).with_name("fitted.json")
    found = counted(runs)
    path.write_text(json.dumps(found.model_dump(mode="json"), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    told = [kind for kind in INFERRED if found.is_finding(kind)]
    print(f"\n{path.name}: {len(found.findings)} kinds counted, inferred kinds confirmed: {', '.join(told) or 'none'}")


def counted(runs: Iterable[Labelled], without: str | None = None) -> Fitted:
    """What these runs say. `without`: the source that is left out of them."""
    every = list(runs)
    labelled_runs = [one for one in every if one.modes or one.step is not None]
    at_large: dict[tuple[Failure, str], list[bool]] = {}
    standing: dict[Kind, dict[str, list[bool]]] = {}
    for run in sorted(labelled_runs, key=lambda one: (-length(one), one.id)):
        for mode in MODES:
            if mode in run.modes:
                at_large.setdefault((mode, run.source), []).append(run.modes[mode])
        for kind, mode in {(one.kind, one.failure) for one in run.everything}:
            if mode in run.modes:
                standing.setdefault(kind, {}).setdefault(run.source, []).append(run.modes[mode])
    modes = {one.kind: one.failure for run in labelled_runs for one in run.everything}
    found = {
        kind: {
            source: Seen(
                right=sum(marks),
                cases=len(marks),
                labelled=sum(at_large[modes[kind], source]),
                runs=len(at_large[modes[kind], source]),
                longest=sum(at_large[modes[kind], source][: len(marks)]),
            )
            for source, marks in sorted(some.items())
        }
        for kind, some in sorted(standing.items())
    }
    steps = _steps([(one, one.everything) for one in labelled_runs])
    return Fitted(findings=found, steps=steps, writes=_writes(every), without=without)


def _writes(runs: Iterable[Labelled]) -> dict[Kind, dict[str, Counted]]:
    """Of failed runs with a reference: how often what is named first is the first wrong write, by kind and source.

    Kinds of what is missing or was said have no such step. A run in which no write is wrong counts against its kind.
    """
    marks: dict[Kind, dict[str, list[bool]]] = {}
    for run in runs:
        for kind, right in named_writes(run):
            marks.setdefault(kind, {}).setdefault(run.source, []).append(right)
    return {
        kind: {name: Counted(right=sum(one), cases=len(one)) for name, one in sorted(some.items())}
        for kind, some in sorted(marks.items())
    }


_NAMED: dict[int, tuple[tuple[Kind, bool], ...]] = {}
"""By the run's identity: `labelled` keeps the runs."""


def named_writes(run: Labelled) -> tuple[tuple[Kind, bool], ...]:
    """(kind, whether its step is the first wrong write) of what is named first, with the reference and without."""
    if id(run) not in _NAMED:
        _NAMED[id(run)] = _named_first(run)
    return _NAMED[id(run)]


def _named_first(run: Labelled) -> tuple[tuple[Kind, bool], ...]:
    if run.success is not False or run.evidence.case.reference is None:
        return ()
    wrong = first_wrong_write(run)
    with_reference = suspects(run.everything, run.evidence.trial.trajectory, success=False, numbers=Fitted())
    found: list[tuple[Kind, bool]] = []
    for kinds, ranked in ((ABOUT_WRITES, with_reference), (("first_change",), hidden(run))):
        found += [(kind, ranked[0].step == wrong) for kind in kinds if ranked and ranked[0].kind == kind]
    return tuple(found)


def length(run: Labelled) -> int:
    """Decisions of the agent."""
    return sum(step.source == "agent" for step in run.evidence.trial.trajectory.steps)


def told_by(run: Labelled, numbers: Fitted) -> tuple[Diagnosis, ...]:
    """The findings of a run with those numbers."""
    return tuple(one for one in run.everything if numbers.is_finding(one.kind))


def wilson(right: int, cases: int) -> tuple[float, float]:
    """Wilson's interval at 95 % of a share; (0, 1) of none."""
    if not cases:
        return 0.0, 1.0
    z = 1.96
    share = right / cases
    middle = (share + z * z / (2 * cases)) / (1 + z * z / cases)
    half = z / (1 + z * z / cases) * sqrt(share * (1 - share) / cases + z * z / (4 * cases * cases))
    return max(0.0, middle - half), min(1.0, middle + half)


def f1(marks: Sequence[tuple[bool, bool]]) -> float:
    """Of (flagged, labelled) pairs."""
    hits = sum(flagged and positive for flagged, positive in marks)
    return 0.0 if not hits else 2 * hits / sum(flagged + positive for flagged, positive in marks)


def _steps(found: Sequence[tuple[Labelled, Sequence[Diagnosis]]]) -> dict[Kind, Counted]:
    """By the kind that stands first where nothing is counted: where others outrank it, a kind says less."""
    counts: dict[Kind, Counted] = {}
    for run, said in found:
        if run.step is None:
            continue
        ranked = suspects(said, run.evidence.trial.trajectory, success=run.success, numbers=Fitted())
        if ranked:
            before = counts.get(ranked[0].kind, Counted(right=0, cases=0))
            right = before.right + (ranked[0].step == run.step)
            counts[ranked[0].kind] = Counted(right=right, cases=before.cases + 1)
    return {kind: one for kind, one in sorted(counts.items()) if one.cases >= FEWEST}
