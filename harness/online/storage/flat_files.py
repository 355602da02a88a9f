"""Parquet files of flat rows: whether one is whole, and DuckDB's errors about them in words."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from harness.errors import ResultsError
from harness.online.storage.engine import connect, parquet

_MAGIC: Final = b"PAR1"
_TAIL: Final = 8
_LONGEST_FOOTER: Final = 16 << 20


def has_columns(path: Path, columns: Collection[str]) -> bool:
    """Whether the file begins and ends as a Parquet file does, and its footer names all of these columns."""
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            if size < len(_MAGIC) + _TAIL:
                return False
            stream.seek(size - _TAIL)
            tail = stream.read(_TAIL)
            length = int.from_bytes(tail[:4], "little")
            if tail[4:] != _MAGIC or length > min(_LONGEST_FOOTER, size - _TAIL):
                return False
            stream.seek(size - _TAIL - length)
            footer = stream.read(length)
    except OSError:
        return False
    return all(name.encode() in footer for name in columns)


@contextmanager
def readable_errors(path: Path, remedy: str) -> Iterator[None]:
    """What DuckDB cannot read or write is a ResultsError that names the path."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        first = str(error).splitlines()[0][:300] if str(error) else type(error).__name__
        raise ResultsError(f"{path}: {first}", remedy=remedy) from error


def refuse_damaged(files: Sequence[Path], remedy: str) -> None:
    """Raises ResultsError that names the first of these files that cannot be read to its end."""
    for path in files:
        with connect() as connection, readable_errors(path, remedy.format(name=path.name)):
            connection.execute(f"SELECT max(hash(COLUMNS(*))) FROM {parquet([path])}").fetchall()
