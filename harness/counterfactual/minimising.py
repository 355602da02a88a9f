"""The shortest case that still fails in the same way: delta debugging over what the agent was given.

The failed trial is replayed from its own recordings. Recordings, rows of recorded answers, offered tools, turns of the
user, faults and fixture packs are left out as long as the same checks fail, with the same outcome and the same failure
modes. A part that the agent asks for and that is missing makes the trial inconclusive, so such parts stay.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from harness.case import Case, TrialVariant
from harness.cassette import Cassette, Recording, cassette_path, save_cassette
from harness.counterfactual.delta import smallest
from harness.counterfactual.subject import Subject, refuse_unforkable
from harness.errors import UsageError
from harness.pipeline import (
    AddedCase,
    RunOptions,
    VariantBench,
    VariantRequest,
    add_case,
    open_variants,
    trial_recordings,
)
from harness.results import RunFolder
from harness.sandbox import temporary_folder
from harness.score import Scorecard
from harness.values import Frozen, JsonValue

MOST = 200
"""Trials that are tried at most, where no number is given."""
_MOST_ROWS = 400

PartKind = Literal["recording", "row", "tool", "turn", "fault", "fixture"]


class Part(Frozen):
    """Something that can be left out."""

    kind: PartKind
    name: str
    """Of a tool or a fixture pack; else empty."""
    index: int = 0
    """Number of the recording, the turn or the fault."""
    path: tuple[str | int, ...] = ()
    """Of a row: its place in the answer of the recording."""


@dataclass(frozen=True, kw_only=True)
class MinimiseRequest:
    """How far a case is minimised."""

    options: RunOptions = field(default_factory=RunOptions)
    budget: int = MOST
    store: bool = False
    """Whether the minimal case is written into the suite's folder."""
    file: Path | None = None
    """The case file; None: `minimised.yaml` in the suite's folder."""


class MinimalCase(Frozen):
    """The answer of `harness minimise`."""

    trial: str
    case_id: str
    """Of the minimal case."""
    same: str
    """What stayed the same: the outcome, the failed checks, the failure modes."""
    before: dict[str, int]
    """Kind of part -> how many there were; recordings are those of the case's cassette that the trial could use."""
    after: dict[str, int]
    trials: int
    file: str | None = None
    cassette: str | None = None
    line: str | None = None
    """The line of suite.yaml that makes the suite read the file; None: it does."""

    @property
    def share_left(self) -> float:
        """Parts left, over all kinds."""
        return sum(self.after.values()) / max(sum(self.before.values()), 1)


def minimise(
    subject: Subject, request: MinimiseRequest, say: Callable[[str], None] = lambda _: None
) -> tuple[MinimalCase, Case]:
    """Searches for the minimal case. Raises UsageError for a trial that does not fail, or not in replay."""
    if subject.card.success is not False and subject.card.outcome == "finished":
        raise UsageError(f"trial {subject.name} did not fail, so there is no failure to keep")
    refuse_unforkable(subject.project, subject)
    folder = RunFolder.open(subject.stored.folder.parents[2])
    found = trial_recordings(subject.project, folder, subject.suite, subject.case, subject.trial)
    if found.unanswered:
        missing = found.unanswered[0]
        raise UsageError(
            f"the answer to {missing.tool}({missing.arguments[:100]}) is not known, so the trial cannot be replayed",
            remedy=f"harness record {subject.suite.name} --case {subject.case.id} --agent {subject.manifest.agent}",
        )
    with temporary_folder() as cassettes:
        plan = subject.plan(request.options.model_copy(update={"tools": "replay"}))
        with open_variants(replace(plan, cassettes=cassettes), say) as bench:
            search = _Search(subject, found.recordings, bench, cassettes, request.budget)
            minimal, case, recordings = search.run()
    stored = _stored(subject, case, recordings, request) if request.store else None
    if stored is not None:
        minimal = minimal.model_copy(
            update={
                "file": str(stored.file),
                "cassette": str(stored.cassette),
                "line": None if stored.listed else stored.line,
            }
        )
    return minimal, case


def _stored(subject: Subject, case: Case, recordings: Sequence[Recording], request: MinimiseRequest) -> AddedCase:
    file = request.file or subject.suite.folder / "minimised.yaml"
    return add_case(subject.project, subject.suite, case, recordings, file)


class _Search:
    def __init__(
        self, subject: Subject, recordings: Sequence[Recording], bench: VariantBench, cassettes: Path, budget: int
    ) -> None:
        self._subject = subject
        self._recordings = tuple(recordings)
        self._bench = bench
        self._cassettes = cassettes
        self._budget = budget
        self._number = 0
        self._known: dict[frozenset[Part], bool] = {}
        self._wanted = _manner(subject.card)

    def run(self) -> tuple[MinimalCase, Case, tuple[Recording, ...]]:
        every = (*self._case_parts(), *self._recording_parts())
        rows = tuple(self._row_parts())
        if not self._fails([(*every, *rows)])[0]:
            raise UsageError(
                f"trial {self._subject.name} does not fail in the same way when it is replayed",
                remedy="an agent that is not deterministic cannot be minimised; harness fork shows the difference",
            )
        kept = self._least(every, rows)
        kept_rows = self._least(tuple(row for row in rows if self._is_kept(row, kept)), kept)
        final = (*kept, *kept_rows)
        case = self._case(final, f"{self._subject.case.id[:80]}-minimal")
        minimal = MinimalCase(
            trial=self._subject.name,
            case_id=case.id,
            same=", ".join(self._wanted),
            before=_counted((*every, *rows)),
            after={kind: _counted(final).get(kind, 0) for kind in _counted((*every, *rows))},
            trials=self._bench.trials_run,
        )
        return minimal, case, self._cut(final)

    def _least(self, parts: tuple[Part, ...], beside: Sequence[Part]) -> tuple[Part, ...]:
        def holds(candidates: Sequence[Sequence[Part]]) -> list[bool]:
            return self._fails([(*one, *beside) for one in candidates])

        left = self._budget - self._bench.trials_run
        return smallest(parts, holds, left) if parts and left > 0 else parts

    def _fails(self, candidates: Sequence[Sequence[Part]]) -> list[bool]:
        """Whether the trial fails in the same way with no more than these parts."""
        sets = [frozenset(one) for one in candidates]
        new = [one for one in dict.fromkeys(sets) if one not in self._known]
        results = self._bench.run([self._request(one) for one in new])
        for one, result in zip(new, results, strict=True):
            self._known[one] = _manner(result.scored.card) == self._wanted
        return [self._known[one] for one in sets]

    def _request(self, parts: frozenset[Part]) -> VariantRequest:
        self._number += 1
        # Every try has an id and a cassette of its own: the gateway keeps a cassette once it is read.
        case = self._case(tuple(parts), f"try-{self._number}")
        path = cassette_path(self._cassettes, self._subject.suite.name, case.id)
        path.parent.mkdir(parents=True, exist_ok=True)
        save_cassette(path, Cassette(self._cut(tuple(parts))), suite=self._subject.suite.name, case=case.id)
        variant = TrialVariant(parent=self._subject.name, interventions=self._subject.interventions)
        return VariantRequest(case=case, variant=variant)

    def _case(self, parts: Sequence[Part], case_id: str) -> Case:
        case = self._subject.case
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
                "origin": self._subject.name,
            }
        )

    def _reference(self, tools: tuple[str, ...]) -> tuple[object, ...] | None:
        """None where a tool that the reference calls was left out: it would be no solution any more."""
        reference = self._subject.case.reference or ()
        return reference if all(one.tool in tools for one in reference) else None

    def _offered(self) -> tuple[str, ...]:
        case = self._subject.case
        return tuple(tool.name for tool in self._subject.suite.tools) if case.tools is None else case.tools

    def _cut(self, parts: Sequence[Part]) -> tuple[Recording, ...]:
        """The recordings that are kept, without the rows that are not."""
        numbers = {part.index for part in parts if part.kind == "recording"}
        kept = {(part.index, part.path) for part in parts if part.kind == "row"}
        cut: list[Recording] = []
        for number, one in enumerate(self._recordings):
            if one.mark.kind == "tool" and number not in numbers:
                continue
            rows = [part.path for part in self._rows_of(number, one)]
            gone = [path for path in rows if (number, path) not in kept]
            cut.append(one if not gone else one.model_copy(update={"body": _without(one.body, gone)}))
        return tuple(cut)

    def _is_kept(self, row: Part, kept: Sequence[Part]) -> bool:
        return any(part.kind == "recording" and part.index == row.index for part in kept)

    def _case_parts(self) -> Iterator[Part]:
        case = self._subject.case
        yield from (Part(kind="tool", name=name) for name in self._offered())
        yield from (
            Part(kind="turn", name="", index=n)
            for n in range(len(case.conversation.turns if case.conversation else ()))
        )
        yield from (Part(kind="fault", name="", index=n) for n in range(len(case.faults)))
        yield from (Part(kind="fixture", name=name) for name in case.fixtures)

    def _recording_parts(self) -> Iterator[Part]:
        for number, one in enumerate(self._recordings):
            if one.mark.kind == "tool":
                yield Part(kind="recording", name="", index=number)

    def _row_parts(self) -> list[Part]:
        rows = [row for number, one in enumerate(self._recordings) for row in self._rows_of(number, one)]
        return rows[:_MOST_ROWS]

    def _rows_of(self, number: int, one: Recording) -> list[Part]:
        """Elements of the answers' outermost lists; of writes none, whose answers say what was done."""
        if one.mark.kind != "tool" or one.mark.effect == "write":
            return []
        try:
            value = json.loads(one.body)
        except ValueError:
            return []
        return [Part(kind="row", name="", index=number, path=path) for path in _rows(value, ())]


def _manner(card: Scorecard) -> tuple[str, ...]:
    """In which way a trial fails: outcome, failed checks, failure modes."""
    failed = sorted(one.check for one in card.verdicts if one.passed is False)
    modes = sorted({str(one.failure) for one in card.diagnoses})
    return (card.outcome, *(f"check {name}" for name in failed), *(mode.replace("_", " ") for mode in modes))


def _rows(value: JsonValue, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    match value:
        case list():
            yield from ((*path, index) for index in range(len(value)))
        case dict():
            for name, inner in value.items():
                yield from _rows(inner, (*path, name))
        case _:
            return


def _without(body: bytes, rows: Sequence[tuple[str | int, ...]]) -> bytes:
    value = json.loads(body)
    for path in sorted(rows, key=lambda one: (len(one), str(one[:-1]), -int(one[-1]))):
        inner = value
        for step in path[:-1]:
            inner = inner[step]
        del inner[path[-1]]
    return json.dumps(value, ensure_ascii=False).encode()


def _counted(parts: Sequence[Part]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for part in parts:
        counts[part.kind] = counts.get(part.kind, 0) + 1
    return counts
