"""All runs of a project: their manifests, and the figures of each, which are read once and kept in memory.

A run folder is append-only, so what was read stays true: of a run in flight only the new trials are read. Counting the
trials of a run takes a fraction of a second, and of 200 runs many; a list therefore gives what is known within its time
limit, and one thread of the index counts the rest.
"""

import os
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Final

from harness.errors import HarnessError, ResultsError, UsageError
from harness.runs.store.folder import RunFolder, TrialKey, gc_paused
from harness.runs.store.manifest import RUN_NAME, RunManifest
from harness.scoring.rules.learned import broken
from harness.scoring.scorecard import Scorecard
from harness.scoring.statistics.intervals import Interval, effective_n, wilson
from harness.text import alternatives
from harness.values import Frozen

# The figures of one run for lists, counted from its scorecards.


class TrialLine(Frozen):
    """One trial as lists show it: what is left of its scorecard, which is many times larger."""

    case_id: str
    attempt: int
    category: str
    tags: tuple[str, ...] = ()
    outcome: str
    success: bool | None
    modes: tuple[str, ...] = ()
    why: str = ""
    """The first reason for which it did not succeed."""
    values: dict[str, float] = {}
    """Of the metrics that are known, and of `duration_s`."""
    broken: tuple[tuple[str, str], ...] = ()
    """The learned rules that it broke, each with its support in words."""


class RunFigures(Frozen):
    """The counts of one run; trials of unknown success stand in neither of the two counts."""

    planned: int
    done: int
    succeeded: int
    failed: int
    interval: Interval | None
    """Of the success rate, 95 %, over the effective number of observations."""
    cost_usd: float | None
    """None: no trial has a price."""
    modes: tuple[tuple[str, int], ...] = ()
    """Failure modes by the number of trials, the most frequent first."""

    tokens: float | None = None
    """None: no trial has them."""

    @property
    def unknown(self) -> int:
        """Trials that have ended, of which it is not known whether they succeeded."""
        return self.done - self.succeeded - self.failed

    @property
    def rate(self) -> float | None:
        known = self.succeeded + self.failed
        return self.succeeded / known if known else None


_WHY = 300


def line_of(card: Scorecard, took_s: float | None = None) -> TrialLine:
    failing = next((f"{one.check}: {one.reason}" for one in card.verdicts if one.passed is not True), "")
    ended = card.reason or "" if card.outcome != "finished" else ""
    scores = ((one.metric, one.value) for one in card.scores)
    return TrialLine(
        case_id=card.case_id,
        attempt=card.attempt,
        category=card.category,
        tags=card.tags,
        outcome=card.outcome,
        success=card.success,
        modes=tuple(dict.fromkeys(one.failure for one in card.diagnoses)),
        why=(ended or failing)[:_WHY],
        values={name: value for name, value in (("duration_s", took_s), *scores) if value is not None},
        broken=tuple((one.rule, one.support) for one in broken(card.rules)),
    )


def figures_of(planned: int, lines: Iterable[TrialLine]) -> RunFigures:
    """Counts the trials of a run, which may be in flight."""
    own = tuple(lines)
    known = [line for line in own if line.success is not None]
    succeeded = sum(bool(line.success) for line in known)
    costs, tokens = ([line.values[name] for line in own if name in line.values] for name in ("cost_usd", "tokens"))
    modes = Counter(mode for line in own if line.success is not True for mode in line.modes)
    return RunFigures(
        planned=planned,
        done=len(own),
        succeeded=succeeded,
        failed=len(known) - succeeded,
        interval=interval_of(known),
        cost_usd=sum(costs) if costs else None,
        tokens=sum(tokens) if tokens else None,
        modes=tuple(modes.most_common()),
    )


def interval_of(known: Sequence[TrialLine]) -> Interval | None:
    """Of the success rate of trials whose success is known, 95 %; attempts at one case are not independent."""
    hits: dict[str, list[bool]] = {}
    for line in known:
        hits.setdefault(line.case_id, []).append(bool(line.success))
    return wilson(sum(map(sum, hits.values())) / len(known), effective_n(hits)) if known else None


def failed_first(line: TrialLine) -> int:
    """The place of a trial's result in lists."""
    return {False: 0, None: 1, True: 2}[line.success]


def neighbours(keys: Sequence[TrialKey], place: int | None) -> tuple[TrialKey | None, TrialKey | None]:
    """What stands before and after a place of the list."""
    if place is None:
        return None, None
    return keys[place - 1] if place else None, keys[place + 1] if place + 1 < len(keys) else None


VARIANT: Final = "~"
"""Begins the name of a run that is a fork or another variant: those lie in a folder of their own."""
_VARIANTS: Final = ".variants"
_MANY: Final = 50
"""New trials of a run in flight that are read one by one."""
_A_SECOND: Final = 20_000
"""Trials that are counted in a second."""
_NAME: Final = re.compile(RUN_NAME)


@dataclass(frozen=True, kw_only=True)
class RunEntry:
    """One run folder of the list: its manifest, or why it cannot be read."""

    name: str
    manifest: RunManifest | None
    problem: str | None = None


@dataclass(kw_only=True)
class _Kept:
    """What is known of one run."""

    stamp: tuple[int, ...]
    lines: dict[TrialKey, TrialLine] = field(default_factory=dict)
    committed: dict[TrialKey, int] = field(default_factory=dict)
    figures: RunFigures | None = None
    ordered: tuple[TrialKey, ...] = ()
    """The trials in the order of lists, those that failed first, and their places in it; empty until asked for."""
    places: dict[TrialKey, int] = field(default_factory=dict)
    folder: RunFolder | None = None
    """Of a run that is not settled and was not scored again: only trials that are still to come are looked for. It has
    checked none of them yet, so that each is checked when it is there.
    """

    @cached_property
    def is_settled(self) -> bool:
        """Whether no trial can come any more but by a change of the folder itself."""
        return (
            self.figures is not None
            and self.figures.done == self.figures.planned
            and all(line.outcome != "harness_failed" for line in self.lines.values())
        )


class RunIndex:
    """Safe to use from several threads."""

    def __init__(self, runs: Path, known: Mapping[str, Path] | None = None) -> None:
        """`known`: folders by name, which may lie elsewhere."""
        self.runs = runs
        self._known = known or {}
        self._entries: dict[str, tuple[tuple[int, ...], RunEntry]] = {}
        self._kept: dict[str, _Kept] = {}
        self._lock = Lock()
        self._closing = Event()
        self._warming: Thread | None = None

    def place(self, name: str) -> Path:
        """The folder of a run. Raises UsageError, with the nearest names, where there is none."""
        if name in self._known:
            return self._known[name]
        bare, root = name.removeprefix(VARIANT), self.runs
        if name.startswith(VARIANT):
            root = self.runs / _VARIANTS
        if _NAME.fullmatch(bare) and (root / bare).is_dir():
            return root / bare
        raise UsageError(f"there is no run {name[:200]!r}", remedy=alternatives(bare, _names(root)))

    def entries(self) -> list[RunEntry]:
        """All runs, the newest first, and after them those that cannot be read."""
        return self._listed(_names(self.runs))

    def variants(self) -> list[RunEntry]:
        """Forks and other runs of variants, likewise; their names begin with `~`."""
        return self._listed([VARIANT + name for name in _names(self.runs / _VARIANTS)])

    def figures(self, name: str) -> RunFigures:
        """The figures of one run as of now. Raises ResultsError naming a damaged file."""
        kept = self._read(name)
        assert kept.figures is not None
        return kept.figures

    def lines(self, name: str) -> tuple[TrialLine, ...]:
        """The trials of one run, in the planned order. Raises ResultsError naming a damaged file."""
        return tuple(self._read(name).lines.values())

    def state(self, name: str) -> tuple[int, ...]:
        """Changes with the run and with its judgements."""
        return state_of(self.place(name))

    def around(self, name: str, key: TrialKey) -> tuple[TrialKey | None, TrialKey | None]:
        """The trials before and after one in the order of lists: those that failed first."""
        kept = self._read(name)
        if len(kept.ordered) != len(kept.lines):
            kept.ordered = tuple((one.case_id, one.attempt) for one in sorted(kept.lines.values(), key=failed_first))
            kept.places = {one: place for place, one in enumerate(kept.ordered)}
        return neighbours(kept.ordered, kept.places.get(key))

    def figures_within(self, names: Sequence[str], seconds: float) -> dict[str, RunFigures | str]:
        """The figures of these runs, or why they cannot be read; runs that there was no time for are left out."""
        deadline, found = time.monotonic() + seconds, dict[str, RunFigures | str]()
        for name in names:
            if name not in self._kept and time.monotonic() + self._takes_s(name) > deadline:
                continue
            try:
                found[name] = self.figures(name)
            except HarnessError as error:
                found[name] = error.message
        return found

    def _takes_s(self, name: str) -> float:
        """What counting a run takes at the most usual pace."""
        _, entry = self._entries.get(name, ((), None))
        return len(entry.manifest.planned) / _A_SECOND if entry is not None and entry.manifest is not None else 0.0

    def warm(self) -> None:
        """Counts all runs in a thread of its own, the newest first, until `close`."""
        self._warming = Thread(target=self._warm, name="run-index", daemon=True)
        self._warming.start()

    def close(self) -> None:
        """Ends the thread; safe to call twice."""
        self._closing.set()
        if self._warming is not None:
            self._warming.join()

    def _warm(self) -> None:
        for entry in self.entries():
            if self._closing.is_set():
                return
            if entry.problem is None:
                self.figures_within([entry.name], 1_000_000)
            time.sleep(0.005)  # a page that is asked for meanwhile goes first

    def _listed(self, names: Iterable[str]) -> list[RunEntry]:
        found = [entry for entry in map(self._entry, names) if entry is not None]
        readable = [entry for entry in found if entry.manifest is not None]
        readable.sort(key=_created, reverse=True)
        return [*readable, *(entry for entry in found if entry.manifest is None)]

    def _entry(self, name: str) -> RunEntry | None:
        """None if it is not the folder of a run."""
        try:
            path = self.place(name)
        except UsageError:
            return None  # removed a moment ago
        stamp = _stamp(path)
        known = self._entries.get(name)
        if known is not None and known[0] == stamp:
            return known[1]
        try:
            entry = RunEntry(name=name, manifest=RunFolder.open(path).manifest)
        except UsageError:
            return None
        except ResultsError as error:
            entry = RunEntry(name=name, manifest=None, problem=error.message)
        self._entries[name] = (stamp, entry)
        return entry

    def _read(self, name: str) -> _Kept:
        path = self.place(name)
        stamp = _stamp(path)
        kept = self._kept.get(name)
        if kept is not None and kept.is_settled and kept.stamp == stamp:
            return kept
        with self._lock:
            known = self._kept.get(name)
            goes_on = known is not None and known.folder is not None and known.stamp[1:] == stamp[1:]
            self._kept[name] = kept = (
                _continued(known, stamp) if goes_on and known else _counted(RunFolder.open(path), stamp)
            )
        return kept


@gc_paused()
def _continued(known: _Kept, stamp: tuple[int, ...]) -> _Kept:
    """Costs as much as there are trials to come, and not as there are: a run in flight is read every second."""
    folder = known.folder
    assert folder is not None
    planned = [(one.case_id, one.attempt) for one in folder.manifest.planned]
    open_ones = [key for key in planned if key not in known.lines or known.lines[key].outcome == "harness_failed"]
    times = folder.committed_among(open_ones)
    fresh = {key: time_ns for key, time_ns in times.items() if known.committed.get(key) != time_ns}
    if not fresh:
        return replace(known, stamp=stamp)
    if len(fresh) > _MANY:
        return _counted(RunFolder.open(folder.path), stamp)
    cards = folder.first_scorecards(fresh)
    read = {(one.case_id, one.attempt): line_of(one, folder.took_s((one.case_id, one.attempt))) for one in cards}
    merged = known.lines | read
    lines = {key: merged[key] for key in planned if key in merged}
    return replace(
        known,
        stamp=stamp,
        ordered=(),
        lines=lines,
        committed=known.committed | fresh,
        figures=figures_of(len(planned), lines.values()),
    )


@gc_paused()
def _counted(folder: RunFolder, stamp: tuple[int, ...]) -> _Kept:
    kept = _kept(folder, stamp, {})
    if kept.is_settled or folder.scorings:
        return kept
    committed = folder.committed()  # before the cards, so that no trial is in it alone
    return replace(_kept(folder, stamp, committed), folder=RunFolder.open(folder.path))


def _kept(folder: RunFolder, stamp: tuple[int, ...], committed: dict[TrialKey, int]) -> _Kept:
    lines = {(card.case_id, card.attempt): line_of(card, took_s) for card, took_s in folder.timed_cards()}
    figures = figures_of(len(folder.manifest.planned), lines.values())
    return _Kept(stamp=stamp, lines=lines, committed=committed, figures=figures)


def _stamp(path: Path) -> tuple[int, ...]:
    """Changes with the trials of the folder, its manifest and its scorings, in this order."""
    return tuple(_time_ns(path / name) for name in ("trials", "manifest.json", "scores"))


def state_of(run: Path) -> tuple[int, ...]:
    """Changes with a run and with its judgements."""
    return *_stamp(run), *map(_time_ns, sorted((run / "judgements").glob("*.jsonl")))


def _time_ns(path: Path) -> int:
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return 0


def _names(root: Path) -> list[str]:
    try:
        with os.scandir(root) as entries:
            return sorted(entry.name for entry in entries if _NAME.fullmatch(entry.name) and entry.is_dir())
    except OSError:
        return []


def _created(entry: RunEntry) -> tuple[str, str]:
    return ("" if entry.manifest is None else entry.manifest.created, entry.name)
