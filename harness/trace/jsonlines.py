"""Spans on disk: one JSON line each, in the order in which they began."""

from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from harness.documents import write_atomically
from harness.errors import ResultsError
from harness.trace.span import Span


def write_spans(path: Path, spans: Iterable[Span]) -> None:
    """Writes the whole file at once: it is there in full or not at all."""
    write_atomically(path, "".join(f"{span.model_dump_json()}\n" for span in spans).encode())


def read_spans(path: Path) -> tuple[Span, ...]:
    """The spans of a file. Raises ResultsError that names file and line."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read: {error.strerror}") from None
    if content and not content.endswith(b"\n"):
        last = len(content.splitlines())
        raise ResultsError(f"{path}:{last}: the last line is cut off", remedy="run this trial again")
    return tuple(_span(path, number, line) for number, line in enumerate(content.splitlines(), start=1))


def _span(path: Path, number: int, line: bytes) -> Span:
    try:
        return Span.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = f" field {'.'.join(str(part) for part in first['loc'])!r}:" if first["loc"] else ""
        raise ResultsError(f"{path}:{number}:{field} {first['msg']}") from None
