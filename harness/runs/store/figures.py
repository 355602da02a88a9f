"""The figures of a run, stored with it when it was last written: what tables, trends and lists need of each scorecard.

Two hidden files of the run folder: `.figures.json` with the counts, and `.figures.jsonl` with slim scorecards: without
evidence of checks and explanations of figures, and each equal part once. They hold nothing that is not in the trials.
A reader uses them for trials whose `scorecard.json` has the size and the time of change that it had then, and only if
manifest and latest scoring are the same; all else is read from the trials. They are not flushed: what a crash leaves
of them does not match its digest.
"""

import hashlib
import json
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from harness.disk import open_plain, read_plain_file
from harness.errors import ResultsError
from harness.processes import partial_name
from harness.runs.store.storage import json_line, parsed
from harness.scoring.evidence import Verdict
from harness.scoring.rules.learned import RuleResult
from harness.scoring.scorecard import METRIC_FAILED, Diagnosis, Score, Scorecard, ToolUse
from harness.values import Frozen

T = TypeVar("T", bound=BaseModel)

HEAD: Final = ".figures.json"
_CARDS: Final = ".figures.jsonl"

Stamp = tuple[int, int]
"""Size of a trial's scorecard, and nanoseconds of its last change."""
_Key = tuple[str, int]
Row = tuple[_Key, Stamp, Scorecard, float | None]
"""Of a trial, with its latest slim scorecard and the seconds that it took."""

_PARTS: Final[Mapping[str, type[BaseModel]]] = {
    "verdicts": Verdict,
    "scores": Score,
    "diagnoses": Diagnosis,
    "rules": RuleResult,
    "tool_use": ToolUse,
}
"""Fields of a scorecard that are lists."""
_FRAME: Final = "frame"
"""All else of a scorecard but its case, attempt and digest."""
_Places = tuple[Annotated[int, Field(ge=0)], ...]
_LINE: Final = TypeAdapter[Any](
    tuple[
        str,
        int,
        int,
        int,
        str,
        float | None,
        Annotated[int, Field(ge=0)],
        tuple[_Places, _Places, _Places, _Places, _Places],
    ],
    config={"defer_build": True},
)
_ROW: Final = b"="


class Counts(Frozen):
    """Trials of a run that have a scorecard; of those with unknown success neither number counts any."""

    done: int
    succeeded: int
    failed: int


class Head(Frozen):
    """The file with the counts; digests are SHA-256."""

    state: str
    """Of what the cards depend on besides the trials: the manifest and the latest scoring."""
    stamps: str
    """Of the stamps of all planned trials, in their order."""
    cards: str
    """Of the other file."""
    counts: Counts


class Pool:
    """Makes scorecards slim; equal parts are one object."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Any] = {}

    def slim(self, card: Scorecard) -> Scorecard:
        """Without what no table shows; the parts that tell why a trial failed stay."""
        own = dict(card.__dict__)
        for name in _PARTS:
            own[name] = self._one(tuple(map(self._part, own[name])))
        for name in ("category", "tags", "models", "prompt", "reason", "case_id"):
            own[name] = self._one(own[name])
        return _made(Scorecard, own)

    def _one(self, value: Any) -> Any:
        key = value if isinstance(value, str | None) else (tuple, *map(id, value))
        if isinstance(value, tuple) and value and isinstance(value[0], str):
            key = value
        return self._known.setdefault(key, value)

    def _part(self, one: BaseModel) -> Any:
        own = dict(one.__dict__)
        if isinstance(one, Verdict):
            own |= {"evidence": {}, "reason": "" if one.passed else one.reason}
        elif isinstance(one, Score) and not (one.value is None and one.explanation.startswith(METRIC_FAILED)):
            own["explanation"] = ""
        key = (type(one), *(tuple(part.items()) if isinstance(part, dict) else part for part in own.values()))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _made(type(one), own)
        return found


def _made(shape: type[T], values: dict[str, Any]) -> T:
    """As `model_construct`, of values that were checked, and with one set of names for all instances."""
    made = shape.__new__(shape)
    object.__setattr__(made, "__dict__", values)
    object.__setattr__(made, "__pydantic_fields_set__", _names(shape))
    object.__setattr__(made, "__pydantic_extra__", None)
    object.__setattr__(made, "__pydantic_private__", None)
    return made


@cache
def _names(shape: type[BaseModel]) -> set[str]:
    return set(shape.model_fields)


def counts_of(cards: Iterable[Scorecard]) -> Counts:
    """Of scorecards, read one by one."""
    done = succeeded = failed = 0
    for card in cards:
        done += 1
        succeeded += card.success is True
        failed += card.success is False
    return Counts(done=done, succeeded=succeeded, failed=failed)


def digest_of_stamps(stamps: Iterable[Stamp | None]) -> str:
    """In their order; None: there is no such trial."""
    return hashlib.sha256(array("q", (part for one in stamps for part in one or (-1, -1)))).hexdigest()


def write_figures(run: Path, state: str, rows: Iterable[tuple[_Key, Row | None]]) -> None:
    """Replaces the files of the run; `rows`: of every planned trial. Without effect if they cannot be written: a full
    disk must not fail a run that is stored.
    """
    temporary = run / partial_name(_CARDS)
    stamps, shown, digest = list[Stamp | None](), list[Scorecard](), hashlib.sha256()
    try:
        with temporary.open("xb") as stream:
            for line in _lines(_noting(rows, stamps, shown)):
                digest.update(line)
                stream.write(line)
        temporary.replace(run / _CARDS)
        head = Head(state=state, stamps=digest_of_stamps(stamps), cards=digest.hexdigest(), counts=counts_of(shown))
        temporary.write_bytes(head.model_dump_json().encode())
        temporary.replace(run / HEAD)
    except OSError:
        temporary.unlink(missing_ok=True)


def _noting(
    rows: Iterable[tuple[_Key, Row | None]], stamps: list[Stamp | None], shown: list[Scorecard]
) -> Iterator[Row]:
    for _, row in rows:
        stamps.append(None if row is None else row[1])
        if row is not None:
            shown.append(row[2])
            yield row


def _lines(rows: Iterable[Row]) -> Iterator[bytes]:
    """A line for each part when it is first needed, and one for each trial."""
    places: dict[Hashable, int] = {}
    many = dict.fromkeys((*_PARTS, _FRAME), 0)
    for (case_id, attempt), stamp, card, took_s in rows:
        own = []
        for name in _PARTS:
            parts = getattr(card, name)
            for one in parts:
                if (name, id(one)) not in places:
                    places[name, id(one)] = many[name]
                    many[name] += 1
                    yield name.encode() + _ROW + json_line(one)
            own.append([places[name, id(one)] for one in parts])
        frame = card.model_copy(update=dict.fromkeys(_PARTS, ()) | {"case_id": "", "attempt": 0, "digest": ""})
        text = _FRAME.encode() + _ROW + json_line(frame)
        if text not in places:
            places[text] = many[_FRAME]
            many[_FRAME] += 1
            yield text
        yield f"={json.dumps([case_id, attempt, *stamp, card.digest, took_s, places[text], own])}\n".encode()


def read_head(run: Path, state: str) -> Head | None:
    """None: there is none of this state that can be read."""
    try:
        head = Head.model_validate_json(read_plain_file(run / HEAD))
    except (OSError, ValidationError):
        return None
    return head if head.state == state else None


def stored_rows(run: Path, state: str) -> Callable[[_Key], Row | None]:
    """Gives the row of each planned trial, which are asked for in their order."""
    rows = _rows(run, read_head(run, state))
    ahead: list[Row | None] = [next(rows, None)]

    def row_of(key: _Key) -> Row | None:
        found = ahead[0]
        if found is None or found[0] != key:
            return None
        ahead[0] = next(rows, None)
        return found

    return row_of


def _rows(run: Path, head: Head | None) -> Iterator[Row]:
    """Until the first line that is damaged."""
    if head is None:
        return
    try:
        with open_plain(run / _CARDS) as stream:
            if hashlib.file_digest(stream, "sha256").hexdigest() != head.cards:
                return
            stream.seek(0)
            yield from _read_rows(run / _CARDS, stream)
    except (OSError, ResultsError, ValueError, KeyError, IndexError):
        return


def _read_rows(path: Path, lines: Iterable[bytes]) -> Iterator[Row]:
    pools: dict[str, list[Any]] = {name: [] for name in (*_PARTS, _FRAME)}
    fields = [(name, pools[name], dict[_Places, tuple[Any, ...]]()) for name in _PARTS]
    _LINE.rebuild()
    read = _LINE.validator.validate_json
    for line in lines:
        name, _, text = line.partition(_ROW)
        if name:
            field = name.decode()
            shape = _PARTS.get(field, Scorecard)
            pools[field].append(_made(shape, parsed(path, text, shape).__dict__))
            continue
        case_id, attempt, size, time_ns, digest, took_s, frame, places = read(text)
        own = {**pools[_FRAME][frame].__dict__, "case_id": case_id, "attempt": attempt, "digest": digest}
        for (part, pool, known), of in zip(fields, places, strict=True):
            found = known.get(of)
            if found is None:
                found = tuple([pool[place] for place in of])
                if part != "scores":  # which are seldom all equal
                    known[of] = found
            own[part] = found
        yield (case_id, attempt), (size, time_ns), _made(Scorecard, own), took_s
