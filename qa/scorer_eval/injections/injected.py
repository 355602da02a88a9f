"""Recall where nobody labelled anything: every mode put into successful runs by program, each run used once a mode."""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpus import Split
from injections import injectors
from layout import share, table
from sources import DECLARED, Labelled, labelled

from harness.scoring.failures.diagnose import diagnose
from harness.scoring.scorecard import Failure

SPLITS: tuple[Split, ...] = ("development", "held-out")
WHY = {
    "same domain": "the other task's calls name nothing (a search by places and dates), or one thing once",
    "another domain": "one foreign look alone is not drift, and prose in a hand-over names nothing",
    "stopped half-way": "what was cut off only makes settings take hold (a restart), which is never needed",
    "one identifier": "the wrong value is a right one too (another line of the same customer), or two parts are off",
    "one identifier, told once more": "the wrong value is a right one too",
}
"""By variant, from reading the misses of the development split."""


@dataclass(frozen=True, kw_only=True)
class _Outcome:
    """One run with one failure in it, and what was diagnosed."""

    run: Labelled
    failure: Failure
    variant: str
    found: frozenset[str]
    at_origin: bool

    @property
    def hit(self) -> bool:
        return self.failure in self.found


def injected(data: Path) -> None:
    """Recall, origin and false alarms by split, recall by variant with why the rest is missed, a matrix a data set."""
    runs = [run for name in DECLARED for run in labelled(data, name) if run.success]
    outcomes: list[_Outcome] = []
    for split in SPLITS:
        good = [run for run in runs if run.split == split]
        part = [one for failure in injectors.ALL for one in _outcomes(failure, good)]
        _by_mode(split, good, part)
        outcomes += part
    _by_variant(outcomes)
    for dataset in DECLARED:
        _matrix(dataset, [one for one in outcomes if one.run.source == dataset])


def _outcomes(failure: Failure, good: Sequence[Labelled]) -> Iterable[_Outcome]:
    for run in good:
        put = injectors.ALL[failure](run, random.Random(f"{failure}/{run.id}"), good)
        if put is None:
            continue
        found = diagnose(put.evidence)
        yield _Outcome(
            run=run,
            failure=failure,
            variant=put.variant,
            found=frozenset(one.failure for one in found),
            at_origin=any(one.failure == failure and one.origin_step == put.origin for one in found),
        )


def _by_mode(split: Split, good: Sequence[Labelled], part: Sequence[_Outcome]) -> None:
    untouched = Counter(failure for run in good for failure in {one.failure for one in diagnose(run.blind)})
    rows = []
    for failure in injectors.ALL:
        own = [one for one in part if one.failure == failure]
        found, origins = sum(one.hit for one in own), sum(one.at_origin for one in own)
        alarms = share(untouched[failure], len(good))
        rows.append([failure, len(own), share(found, len(own)), share(origins, len(own)), alarms])
    head = ["mode", "hosts", "recall", "origin right", "false on untouched"]
    table(f"Injected failures, {split} ({len(good)} successful runs, each used once a mode)", head, rows)


def _by_variant(outcomes: Sequence[_Outcome]) -> None:
    rows = []
    for failure in injectors.ALL:
        own = [one for one in outcomes if one.failure == failure]
        for variant in sorted({one.variant for one in own}):
            cells = [[one.hit for one in own if one.variant == variant and one.run.split == split] for split in SPLITS]
            missed = sum(not hit for hits in cells for hit in hits)
            why = WHY.get(variant, "") if missed else ""
            rows.append([failure, variant, *(share(sum(hits), len(hits)) for hits in cells), why])
    head = ["mode", "variant", *SPLITS, "why the rest is missed"]
    table("Injected failures by variant: recall", head, rows)


def _matrix(dataset: str, outcomes: Sequence[_Outcome]) -> None:
    """Several diagnoses a run, so that a row can add up to more than its runs."""
    rows = []
    for failure in injectors.ALL:
        own = [one for one in outcomes if one.failure == failure]
        cells = Counter(name for one in own for name in one.found)
        nothing = sum(not one.found for one in own)
        rows.append([failure, len(own), *(cells[name] for name in injectors.ALL), cells["other"], nothing])
    head = ["injected", "runs", *injectors.ALL, "other", "nothing"]
    table(f"Confusion on {dataset}: what was put in (rows) against what was diagnosed (columns)", head, rows)
