"""Judgements of a run: JSON lines in its folder, append-only."""

import fcntl
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Self, TypeVar

from pydantic import JsonValue, ValidationError

from harness.disk import UnusableEntry, open_plain, open_plain_to_add, write_atomically
from harness.errors import ResultsError
from harness.judging.rubrics import Rubric
from harness.judging.verdicts import Judgement
from harness.runs.store.storage import json_bytes, read_as, refused_entry
from harness.suite.problems import first_words
from harness.traces.spans import evaluation_event
from harness.values import Frozen

# Judgements of a run: `judgements/<rubric>.jsonl` in its folder, one event per line, append-only.
#
# A line holds the event `gen_ai.evaluation.result` and the whole judgement. An incomplete line of a killed harness is
# not a judgement; the next writer terminates it. The checksums of the trials do not cover the file, because it may grow
# after the run.

_JUDGEMENTS = "judgements"
_File = TypeVar("_File", bound=IO[bytes])


class JudgementLine(Frozen):
    """One line of the file."""

    event_name: str
    trace_id: str
    span_id: str = ""
    attributes: dict[str, JsonValue]
    judgement: Judgement


class JudgementWriter:
    """Adds judgements to a run; one writer a file, a context manager."""

    def __init__(self, run: Path, rubric: str) -> None:
        """Raises ResultsError if another harness is writing."""
        path = run / _JUDGEMENTS / f"{rubric}.jsonl"
        path.parent.mkdir(exist_ok=True)
        self._file: IO[bytes] = _open_checked(path, open_plain_to_add)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise ResultsError(
                f"{path} is being written by another harness", remedy="wait until it has ended"
            ) from None
        self._end_the_last_line()

    def add(self, judgement: Judgement) -> None:
        """Is with the operating system when this returns."""
        self._file.write(_json_line(judgement))
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _end_the_last_line(self) -> None:
        size = self._file.seek(0, 2)
        if not size:
            return
        self._file.seek(size - 1)
        if self._file.read(1) != b"\n":
            self._file.write(b"\n")


def keep_rubric(run: Path, rubric: Rubric) -> None:
    """Keeps the rubric beside its judgements, so that they can be counted without the project."""
    path = _rubric_path(run, rubric.name, rubric.digest)
    if not path.exists():
        write_atomically(path, json_bytes(rubric.model_dump(mode="json", by_alias=True)))


def kept_rubric(run: Path, name: str, digest: str) -> Rubric:
    """The rubric as it was when it was judged by; raises ResultsError."""
    path = _rubric_path(run, name, digest)
    if not digest[:12].isalnum():  # it is read from the run folder, and becomes part of a file's name
        raise ResultsError(f"{path.parent / name}.jsonl: field 'rubric_digest': {digest[:100]!r} is not a digest")
    return read_as(path, Rubric)


def _rubric_path(run: Path, name: str, digest: str) -> Path:
    return run / _JUDGEMENTS / f"{name}.{digest[:12]}.rubric.json"


def judged_rubrics(run: Path) -> tuple[str, ...]:
    """The rubrics that the run has judgements of, by name."""
    return tuple(sorted(path.stem for path in (run / _JUDGEMENTS).glob("*.jsonl")))


def read_judgements(run: Path, rubric: str) -> Iterator[Judgement]:
    """All judgements, oldest first; half a line is passed over. Raises ResultsError naming the damaged line."""
    path = run / _JUDGEMENTS / f"{rubric}.jsonl"
    if not path.exists():
        return
    with _open_checked(path, open_plain) as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield _parsed_line(line).judgement
            except ValidationError as error:
                field, problem = first_words(error)
                raise ResultsError(f"{path}:{number}: field {field!r}: {problem}") from None
            except (ValueError, RecursionError):
                continue  # no JSON: a killed harness has not finished it


def _open_checked(path: Path, opening: Callable[[Path], _File]) -> _File:
    try:
        return opening(path)
    except UnusableEntry as error:
        raise refused_entry(error) from None


def latest(judgements: Iterable[Judgement]) -> dict[tuple[str, int, str], Judgement]:
    """By case, attempt and criterion, the judgement that was made last."""
    return {(one.case_id, one.attempt, one.criterion): one for one in judgements}


def of_last_judge(judgements: Iterable[Judgement]) -> list[Judgement]:
    """What the judge said that answered last, and what code decided: verdicts of several judges make no one score."""
    every = list(judgements)
    last = next((one.judge for one in reversed(every) if one.judge.prompt is not None), None)
    return [one for one in every if one.judge.prompt is None or one.judge == last]


def _json_line(one: Judgement) -> bytes:
    span = next((span for span in one.spans if not span.startswith("step:")), "")
    event = evaluation_event(one.trace_id, span, one.evaluation).model_dump()
    whole = event | {"judgement": one.model_dump(mode="json")}
    return (json.dumps(whole, ensure_ascii=True, separators=(",", ":")) + "\n").encode()


def _parsed_line(line: bytes) -> JudgementLine:
    """Raises ValidationError, and another ValueError if the line is not JSON."""
    try:
        return JudgementLine.model_validate_json(line)
    except ValidationError:
        # Only the slower parser accepts half a surrogate pair, which a model may return.
        return JudgementLine.model_validate(json.loads(line))
