"""The search for the minimal case: which parts of what an agent was given its failure needs.

A part that the agent asks for and that is missing makes the trial inconclusive, so such parts stay.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.case import Case, CaseUser, Intervention, Suite, TrialVariant
from harness.cassette import Cassette, Recording, cassette_path, save_cassette
from harness.counterfactual.delta import smallest
from harness.counterfactual.minimal_parts import (
    CasePart,
    MinimalCase,
    PartKind,
    counted,
    manner_of,
    rows_of_recording,
    without_rows_of_answer,
)
from harness.documents import write_atomically
from harness.errors import UsageError
from harness.pipeline import VariantBench, VariantRequest
from harness.sandbox import OmittedParts, Snapshot, files_of, reduced_snapshot, rows_of
from harness.simulate import UserLog
from harness.trace import Trial

_MOST_ROWS = 400
_KINDS: tuple[PartKind, ...] = ("file", "fixture", "fault", "turn", "tool", "row", "recording")
"""The order in which kinds are left out, before all but rows together: those first of which mostly none is needed. A
recording that is left out is mostly missed, so that a try without it and without another part would tell little.
"""


@dataclass(frozen=True, kw_only=True)
class Failing:
    """What fails, and in which manner."""

    name: str
    suite: Suite
    case: Case
    manner: tuple[str, ...]
    interventions: tuple[Intervention, ...] = ()
    log: UserLog | None = None
    """What a logged user says; None: the case's user is another one."""
    sealed: bool = False
    """Whether the suite's services answer, restored for each trial: rows of their seed are parts, and recordings are
    not.
    """


@dataclass(frozen=True, kw_only=True)
class MinimalResult:
    """The minimal case with all that it is run with."""

    minimal: MinimalCase
    case: Case
    recordings: tuple[Recording, ...]
    log: UserLog | None
    snapshot: Snapshot | None
    """What is left of the snapshot; None: all of it."""
    trial: Trial
    """The trial that failed in the same way with no more than the rest."""


def with_log(case: Case, log: UserLog, path: Path) -> Case:
    write_atomically(path, log.model_dump_json().encode("utf-8", "replace"))
    # a path outside of the suite's folder, which no file could name
    user = CaseUser(kind="logged").model_copy(update={"log": str(path)})
    return case.model_copy(update={"user": user})


def save_recordings(cassettes: Path, suite: str, case_id: str, recordings: Sequence[Recording]) -> None:
    path = cassette_path(cassettes, suite, case_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_cassette(path, Cassette(tuple(recordings)), suite=suite, case=case_id)


def minimal_id(case: Case) -> str:
    """The id of the case that is left."""
    return f"{case.id[:80]}-minimal"


class MinimalSearch:
    """Delta debugging of one failing case, by trials in an open world."""

    def __init__(
        self, failing: Failing, recordings: Sequence[Recording], bench: VariantBench, files: Path, budget: int
    ) -> None:
        """`files`: a folder for what the tries need, their cassettes among it."""
        self._failing = failing
        self._recordings = tuple(recordings)
        self._bench = bench
        self._files = files
        self._budget = budget
        self._number = 0
        self._known: dict[frozenset[CasePart], bool] = {}
        self._trials: dict[frozenset[CasePart], Trial] = {}
        """Of the sets with which the trial fails in the same way."""
        self._snapshots: dict[frozenset[CasePart], Snapshot] = {}
        self._wanted = failing.manner

    def run(self) -> MinimalResult:
        every = (*self._case_parts(), *self._file_parts(), *self._recording_parts())
        rows = tuple(self._row_parts())
        seeds = tuple(self._seed_parts())
        if not self._fails([(*every, *rows, *seeds)])[0]:
            raise UsageError(
                f"trial {self._failing.name} does not fail in the same way when it is"
                f" {'run again in a restored world' if self._failing.sealed else 'replayed'}",
                remedy="an agent that is not deterministic cannot be minimised; harness fork shows the difference",
            )
        last = frozenset((*every, *rows, *seeds))
        kept = (*every, *rows)
        for kind in _KINDS:
            others = tuple(part for part in kept if part.kind != kind)
            own = self._least(tuple(part for part in kept if part.kind == kind), (*others, *seeds))
            kept = (*others, *own)
        kept_rows = tuple(part for part in kept if part.kind == "row")
        kept = self._least(tuple(part for part in kept if part.kind != "row"), (*kept_rows, *seeds))
        kept_rows = tuple(row for row in kept_rows if self._is_kept(row, kept))
        kept_seeds = self._least(seeds, (*kept, *kept_rows))
        final = (*kept, *kept_rows, *kept_seeds)
        case = self._case(final, minimal_id(self._failing.case))
        before, after = counted((*every, *rows, *seeds)), counted(final)
        minimal = MinimalCase(
            trial=self._failing.name,
            case_id=case.id,
            same=", ".join(self._wanted),
            before=before,
            after={kind: after.get(kind, 0) for kind in before},
            trials=self._bench.trials_run,
        )
        return MinimalResult(
            minimal=minimal,
            case=case,
            recordings=self._cut(final),
            log=self._log(final),
            snapshot=self._snapshot(frozenset(final)),
            trial=self._trials.get(frozenset(final), self._trials[last]),
        )

    def _least(self, parts: tuple[CasePart, ...], kept: Sequence[CasePart]) -> tuple[CasePart, ...]:
        def holds(candidates: Sequence[Sequence[CasePart]]) -> list[bool]:
            return self._fails([(*one, *kept) for one in candidates])

        left = self._budget - self._bench.trials_run
        if len(parts) > 1 and left > 0:  # none of them may be needed, as is common of files
            if holds([()])[0]:
                return ()
            left -= 1
        return smallest(parts, holds, left, self._bench.jobs) if parts and left > 0 else parts

    def _fails(self, candidates: Sequence[Sequence[CasePart]]) -> list[bool]:
        """Whether the trial fails in the same way with no more than these parts."""
        sets = [frozenset(one) for one in candidates]
        new = [one for one in dict.fromkeys(sets) if one not in self._known]
        results = self._bench.run([self._request(one) for one in new])
        for one, result in zip(new, results, strict=True):
            self._known[one] = manner_of(result.scored.card) == self._wanted
            if self._known[one]:
                self._trials[one] = result.scored.trial
        return [self._known[one] for one in sets]

    def _request(self, parts: frozenset[CasePart]) -> VariantRequest:
        self._number += 1
        # Every try has an id and a cassette of its own: the gateway keeps a cassette once it is read.
        case = self._case(tuple(parts), f"try-{self._number}")
        save_recordings(self._files, self._failing.suite.name, case.id, self._cut(tuple(parts)))
        variant = TrialVariant(parent=self._failing.name, interventions=self._failing.interventions)
        return VariantRequest(case=case, variant=variant, snapshot=self._snapshot(parts))

    def _snapshot(self, parts: frozenset[CasePart]) -> Snapshot | None:
        """The snapshot with no more than these files and rows; None where nothing of it is left out."""
        every = frozenset((*self._file_parts(), *self._seed_parts()))
        gone = every - parts
        if not gone:
            return None
        if gone not in self._snapshots:
            rows: dict[str, set[int]] = {}
            for part in gone:
                if part.kind == "seed_row":
                    rows.setdefault(part.name, set()).add(part.index)
            left_out = OmittedParts(files={part.name for part in gone if part.kind == "file"}, rows=rows)
            whole = self._bench.snapshot_of(self._failing.case)
            name = f"{whole.name}-{len(self._snapshots) + 1}"
            self._snapshots[gone] = reduced_snapshot(whole, left_out, name, self._files / "snapshots" / name)
        return self._snapshots[gone]

    def _case(self, parts: Sequence[CasePart], case_id: str) -> Case:
        case = self._failing.case
        kept = {(part.kind, part.name, part.index) for part in parts}
        talk = case.conversation
        if talk is not None:
            turns = tuple(turn for place, turn in enumerate(talk.turns) if ("turn", "", place) in kept)
            talk = talk.model_copy(update={"turns": turns})
        tools = tuple(name for name in self._offered() if ("tool", name, 0) in kept)
        return case.model_copy(
            update={
                "id": case_id,
                "tools": tools,
                "conversation": talk,
                "faults": tuple(one for n, one in enumerate(case.faults) if ("fault", "", n) in kept),
                "fixtures": tuple(one for one in case.fixtures if ("fixture", one, 0) in kept),
                "required_tools": tuple(one for one in case.required_tools if one in tools),
                "reference": None if case.reference is None else self._reference(tools),
                "origin": self._failing.name,
                "user": self._user(case_id, parts),
            }
        )

    def _turns(self) -> Sequence[int]:
        """Numbers of the user's messages that can be left out: of a log not the opening, which is the task."""
        if self._failing.log is not None:
            return range(1, len(self._failing.log.turns))
        talk = self._failing.case.conversation
        return range(len(talk.turns)) if talk is not None else ()

    def _log(self, parts: Sequence[CasePart]) -> UserLog | None:
        """What is left of the logged user; None where the case has another one."""
        log = self._failing.log
        if log is None:
            return None
        kept = {0} | {part.index for part in parts if part.kind == "turn"}
        return log.model_copy(update={"turns": tuple(turn for n, turn in enumerate(log.turns) if n in kept)})

    def _user(self, case_id: str, parts: Sequence[CasePart]) -> CaseUser | None:
        log = self._log(parts)
        case = self._failing.case
        return case.user if log is None else with_log(case, log, self._files / f"{case_id}.json").user

    def _reference(self, tools: tuple[str, ...]) -> tuple[object, ...] | None:
        """None where a tool that the reference calls was left out: it would be no solution any more."""
        reference = self._failing.case.reference or ()
        return reference if all(one.tool in tools for one in reference) else None

    def _offered(self) -> tuple[str, ...]:
        case = self._failing.case
        return tuple(tool.name for tool in self._failing.suite.tools) if case.tools is None else case.tools

    def _cut(self, parts: Sequence[CasePart]) -> tuple[Recording, ...]:
        """The recordings that are kept, without the rows that are not."""
        if self._failing.sealed:
            return self._recordings
        numbers = {part.index for part in parts if part.kind == "recording"}
        kept = {(part.index, part.path) for part in parts if part.kind == "row"}
        cut: list[Recording] = []
        for number, one in enumerate(self._recordings):
            if one.mark.kind == "tool" and number not in numbers:
                continue
            rows = [part.path for part in rows_of_recording(number, one)]
            gone = [path for path in rows if (number, path) not in kept]
            cut.append(one if not gone else one.model_copy(update={"body": without_rows_of_answer(one.body, gone)}))
        return tuple(cut)

    def _is_kept(self, row: CasePart, kept: Sequence[CasePart]) -> bool:
        return any(part.kind == "recording" and part.index == row.index for part in kept)

    def _case_parts(self) -> Iterator[CasePart]:
        case = self._failing.case
        yield from (CasePart(kind="tool", name=name) for name in self._offered())
        yield from (CasePart(kind="turn", index=n) for n in self._turns())
        yield from (CasePart(kind="fault", index=n) for n in range(len(case.faults)))
        yield from (CasePart(kind="fixture", name=name) for name in case.fixtures)

    def _recording_parts(self) -> Iterator[CasePart]:
        for number, one in enumerate(self._recordings):
            if one.mark.kind == "tool" and not self._failing.sealed:
                yield CasePart(kind="recording", index=number)

    def _row_parts(self) -> list[CasePart]:
        if self._failing.sealed:
            return []
        rows = [row for number, one in enumerate(self._recordings) for row in rows_of_recording(number, one)]
        return rows[:_MOST_ROWS]

    def _file_parts(self) -> Iterator[CasePart]:
        yield from (CasePart(kind="file", name=path) for path in files_of(self._bench.snapshot_of(self._failing.case)))

    def _seed_parts(self) -> Iterator[CasePart]:
        """Rows of the services' dumps, which only trials with services of their own depend on."""
        if self._failing.sealed:
            for service, count in rows_of(self._bench.snapshot_of(self._failing.case)).items():
                yield from (CasePart(kind="seed_row", name=service, index=number) for number in range(count))
