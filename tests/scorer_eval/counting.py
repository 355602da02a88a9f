"""Counts what `fitted.json` holds from labelled runs: all of them, or those that a figure is not shown for.

An inferred kind is told as a finding where people gave its mode to more than half of the runs that have it, and to more
of them than of the runs of the same sets at large: the lower bound of Wilson's interval at 95 % is above that share, on
at least `FEWEST` runs. All others are hints.
"""

import json
from collections.abc import Iterable, Sequence
from math import sqrt
from pathlib import Path

from sources import MODES, SETS, Labelled, labelled

import harness.score.failures
from harness.score.diagnosis import Diagnosis, Failure, Kind
from harness.score.failures import findings, suspects
from harness.score.failures.fitted import INFERRED, Counted, Fitted
from harness.score.failures.lookups import is_answer
from harness.score.failures.reading import read

FEWEST = 5
_TRIED = (1, 3, 6, 9, 12, 16)
"""Values of `Fitted.outside` that are tried."""
_CLOSE = 0.995
"""Of equals, the smallest value is taken that comes this close to the best."""


_READ_ANEW: dict[tuple[str, str, int], tuple[Diagnosis, ...]] = {}
"""By run and number: the counts ask for the same again and again."""


def fit(data: Path) -> None:
    """Counts on all labelled sets and writes the package's `fitted.json`."""
    runs = [one for name in SETS for one in labelled(data, name)]
    path = Path(str(harness.score.failures.__file__)).parent / "fitted.json"
    found = counted(runs)
    path.write_text(json.dumps(found.model_dump(mode="json"), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"\n{path.name}: {len(found.findings)} kinds counted, reported: {', '.join(found.reported) or 'none'}")


def counted(runs: Iterable[Labelled]) -> Fitted:
    """What these runs say; `Fitted`'s own values where they say nothing."""
    labelled_runs = [one for one in runs if one.modes or one.step is not None]
    outside = _outside(labelled_runs)
    found = [(one, everything(one, outside)) for one in labelled_runs]
    rates, told = dict[Kind, Counted](), list[Kind]()
    for kind, mode in INFERRED.items():
        own = [(one, any(each.kind == kind for each in said)) for one, said in found if mode in one.modes]
        firing = {one.source for one, has in own if has}
        flagged = [one for one, has in own if has]
        if not flagged:
            continue
        right = sum(one.modes[mode] for one in flagged)
        at_large = [one.modes[mode] for one, _ in own if one.source in firing]
        rates[kind] = Counted(right=right, cases=len(flagged))
        better = wilson(right, len(flagged))[0] > sum(at_large) / len(at_large)
        if len(flagged) >= FEWEST and better and 2 * right > len(flagged):
            told.append(kind)
    return Fitted(findings=rates, reported=tuple(told), hints=_hints(told), steps=_steps(found), outside=outside)


def everything(run: Labelled, outside: int | None = None) -> tuple[Diagnosis, ...]:
    """Findings and hints of a run, read anew where the number matters to it."""
    if outside is None or not any(is_answer(act.call) for act in read(run.evidence).acts):
        return run.everything
    key = (run.source, run.id, outside)
    if key not in _READ_ANEW:
        facts, hints = findings(run.evidence, Fitted(outside=outside))
        _READ_ANEW[key] = (*facts, *hints)
    return _READ_ANEW[key]


def told_by(run: Labelled, numbers: Fitted) -> tuple[Diagnosis, ...]:
    """The findings of a run with those numbers."""
    said = everything(run, numbers.outside)
    return tuple(one for one in said if numbers.is_finding(one.kind))


def wilson(right: int, cases: int) -> tuple[float, float]:
    """Wilson's interval at 95 % of a share; (0, 1) of none."""
    if not cases:
        return 0.0, 1.0
    z = 1.96
    share = right / cases
    middle = (share + z * z / (2 * cases)) / (1 + z * z / cases)
    half = z / (1 + z * z / cases) * sqrt(share * (1 - share) / cases + z * z / (4 * cases * cases))
    return max(0.0, middle - half), min(1.0, middle + half)


def _outside(runs: Sequence[Labelled]) -> int:
    fitting = [one for one in runs if any(is_answer(act.call) for act in read(one.evidence).acts)]
    modes = ("goal_drift", "tool_hallucination", "premature_commitment")
    marks = {
        tried: [
            (any(each.failure == mode for each in everything(one, tried)), one.modes[mode])
            for one in fitting
            for mode in modes
            if mode in one.modes
        ]
        for tried in _TRIED
    }
    if not any(marks.values()):
        return Fitted().outside
    values = {tried: f1(pairs) for tried, pairs in marks.items()}
    return next(tried for tried in _TRIED if values[tried] >= _CLOSE * max(values.values()))


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


def _hints(told: Sequence[Kind]) -> dict[Failure, str]:
    reasons: dict[Failure, str] = {}
    for mode in MODES:
        kinds = [kind for kind, own in INFERRED.items() if own == mode]
        silent = [kind for kind in kinds if kind not in told]
        if kinds and len(silent) == len(kinds):
            reasons[mode] = (
                "what words and shapes say of it does not beat simple rules on unseen sources; "
                "only what follows from its definition is told"
            )
    return reasons
