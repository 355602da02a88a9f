"""What a failing case is made of, as far as it can be left out, and what is left of it."""

import json
from collections.abc import Iterator, Sequence
from typing import Literal

from harness.cassette import Recording
from harness.score import Scorecard
from harness.values import Frozen, JsonValue

PartKind = Literal["recording", "row", "tool", "turn", "fault", "fixture", "file", "seed_row"]
"""`row`: of a recorded answer. `file`, `seed_row`: of the snapshot that the trial begins from."""


class CasePart(Frozen):
    """Something that can be left out."""

    kind: PartKind
    name: str = ""
    """Of a tool or a fixture pack; path of a file; service of a seed row; else empty."""
    index: int = 0
    """Number of the recording, the turn, the fault or the seed row."""
    path: tuple[str | int, ...] = ()
    """Of a row: its place in the answer of the recording."""


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
    snapshot: str | None = None
    """The stored snapshot, which the case names; None: nothing was left out of it, or nothing was stored."""
    line: str | None = None
    """The line of suite.yaml that makes the suite read the file; None: it does."""

    @property
    def share_left(self) -> float:
        """Parts left, over all kinds."""
        return sum(self.after.values()) / max(sum(self.before.values()), 1)


def counted(parts: Sequence[CasePart]) -> dict[str, int]:
    """Kind -> number of parts."""
    counts: dict[str, int] = {}
    for part in parts:
        counts[part.kind] = counts.get(part.kind, 0) + 1
    return counts


def manner_of(card: Scorecard) -> tuple[str, ...]:
    """In which way a trial fails: outcome, failed checks, failure modes."""
    failed = sorted(one.check for one in card.verdicts if one.passed is False)
    modes = sorted({str(one.failure) for one in card.diagnoses})
    return (card.outcome, *(f"check {name}" for name in failed), *(mode.replace("_", " ") for mode in modes))


def rows_of_recording(number: int, one: Recording) -> list[CasePart]:
    """Elements of the answer's outermost lists; of writes none, whose answers say what was done."""
    if one.mark.kind != "tool" or one.mark.effect == "write":
        return []
    try:
        value = json.loads(one.body)
    except ValueError:
        return []
    return [CasePart(kind="row", index=number, path=path) for path in _rows(value, ())]


def without_rows_of_answer(body: bytes, rows: Sequence[tuple[str | int, ...]]) -> bytes:
    """A recorded answer without these elements."""
    value = json.loads(body)
    for path in sorted(rows, key=lambda one: (len(one), str(one[:-1]), -int(one[-1]))):
        inner = value
        for step in path[:-1]:
            inner = inner[step]
        del inner[path[-1]]
    return json.dumps(value, ensure_ascii=False).encode()


def _rows(value: JsonValue, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    match value:
        case list():
            yield from ((*path, index) for index in range(len(value)))
        case dict():
            for name, inner in value.items():
                yield from _rows(inner, (*path, name))
        case _:
            return
