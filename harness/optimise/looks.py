"""Which optimisations examined the held-out cases of a suite: `suites/<suite>/optimisations.jsonl`, one line each.

The file is committed with the project: each look makes the held-out figures of later optimisations less reliable.
"""

from collections.abc import Sequence
from pathlib import Path

from harness.errors import InvalidDocument, UsageError
from harness.judge import append_line, read_lines
from harness.optimise.searching.splitting import CaseSplit
from harness.values import Frozen


class HeldOutUse(Frozen):
    """One optimisation that examined held-out cases."""

    time: str
    """ISO 8601, UTC."""
    run: str
    mode: str
    component: str | None = None
    cases: tuple[str, ...]
    again: bool = False
    """Another optimisation had examined some of them before, and `--again` was given."""


def looks_path(suite_folder: Path) -> Path:
    """The file of a suite."""
    return suite_folder / "optimisations.jsonl"


def earlier_looks(path: Path, run: str | None, split: CaseSplit) -> tuple[HeldOutUse, ...]:
    """Looks at any of the held-out cases, oldest first, besides those of `run`, which goes on. Raises InvalidDocument
    with the line.
    """
    found = []
    for number, look in read_lines(path, HeldOutUse):
        if isinstance(look, str):
            raise InvalidDocument(path, look, line=number)
        if look.run != run and set(look.cases) & set(split.held_out):
            found.append(look)
    return tuple(found)


def refuse_second_look(looks: Sequence[HeldOutUse], *, again: bool) -> None:
    """Raises UsageError where the held-out cases were examined before, unless that is wanted."""
    if looks and not again:
        last = looks[-1]
        raise UsageError(
            f"the held-out cases were examined by {len(looks)} optimisation{'s'[: len(looks) > 1]} before, last by "
            f"{last.run!r} on {last.time[:10]}",
            remedy="add cases to the suite, or look --again: the test is then stricter, and the look is recorded",
        )


def record_look(path: Path, look: HeldOutUse) -> None:
    """Adds a line, unless the run has one already."""
    if not any(isinstance(one, HeldOutUse) and one.run == look.run for _, one in read_lines(path, HeldOutUse)):
        append_line(path, look)
