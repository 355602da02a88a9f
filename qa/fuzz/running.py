"""Many tries of one reader by hypothesis: seeded, and shrunk to the smallest input that breaks it."""

from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from qa.fuzz.mutation import Mutator
from qa.fuzz.reader import Broken, Reader, tried
from qa.soak.rows import Row

_PHASES = (Phase.generate, Phase.shrink)


def inputs(reader: Reader) -> st.SearchStrategy[bytes]:
    """Nearly valid inputs of a reader."""
    return st.builds(Mutator(reader.syntax, tuple(reader.seeds())).make, st.randoms(use_true_random=False))


def row(reader: Reader, folder: Path, tries: int, number: int) -> Row:
    """A row of the table; a find tells its smallest input. `number` seeds it."""
    made, whole, broken = 0, 0, False

    @seed(number)
    @settings(max_examples=tries, phases=_PHASES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(inputs(reader))
    def each(content: bytes) -> None:
        nonlocal made, whole, broken
        counts = not broken
        made += counts
        try:
            whole += tried(reader, content, folder) and counts
        except Broken as error:
            broken = True
            error.add_note(f"input: {content[:2000]!r}")
            raise

    try:
        each()
    except Broken as error:
        said = f"{error}; {'; '.join(getattr(error, '__notes__', []))}"
        return Row(what=f"bad input: {reader.name}", tries=made, survived=made - 1, said=said)
    return Row(what=f"bad input: {reader.name}", tries=made, survived=made, said=f"{whole:,} read, the others refused")
