"""Recall where nobody labelled anything: every mode put into successful runs by program, each run used once a mode."""

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import injectors
from corpus import Run
from layout import share, table
from tau import tau2, taubench

from harness.score.failures import Failure, diagnose

SPLITS = ("development", "held-out")


@dataclass(kw_only=True)
class _Tally:
    """What came of one mode in one split."""

    found: int = 0
    origins: int = 0
    alarms: int = 0
    also: Counter[str] = field(default_factory=Counter)
    variants: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))

    @property
    def hosts(self) -> int:
        return sum(map(len, self.variants.values()))


def injected(data: Path) -> None:
    """Recall, origin, false alarms on the untouched runs, and what else was diagnosed."""
    runs = [run for run in (*taubench(data), *tau2(data)) if run.success]
    for split in SPLITS:
        good = [run for run in runs if run.split == split]
        tallies = {failure: _tally(failure, good) for failure in injectors.ALL}
        rows: list[list[object]] = [
            [
                failure,
                tally.hosts,
                share(tally.found, tally.hosts),
                share(tally.origins, tally.hosts),
                share(tally.alarms, len(good)),
                dict(tally.also),
            ]
            for failure, tally in tallies.items()
        ]
        head = ["mode", "hosts", "recall", "origin right", "false on untouched", "also diagnosed"]
        table(f"Injected failures, {split} ({len(good)} successful runs, each used once a mode)", head, rows)
        rows = [
            [failure, variant, share(sum(hits), len(hits))]
            for failure, tally in tallies.items()
            for variant, hits in sorted(tally.variants.items())
        ]
        table(f"Injected failures by variant, {split}", ["mode", "variant", "recall"], rows)


def _tally(failure: Failure, good: Sequence[Run]) -> _Tally:
    tally = _Tally()
    for run in good:
        tally.alarms += any(one.failure == failure for one in diagnose(run.evidence))
        put = injectors.ALL[failure](run, random.Random(f"{failure}/{run.id}"), good)
        if put is None:
            continue
        found = diagnose(put.evidence)
        own = [one for one in found if one.failure == failure]
        tally.found += bool(own)
        tally.origins += any(one.origin_step == put.origin for one in own)
        tally.also.update({one.failure for one in found} - {failure})
        tally.variants[put.variant].append(bool(own))
        if not own:
            _MISSED.append(f"{put.variant}: {run.id} at {put.origin}")
    return tally


_MISSED: list[str] = []
