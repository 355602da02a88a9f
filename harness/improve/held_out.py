"""The three parts of a suite's cases, and which optimisations looked at the held-out one."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.errors import UsageError
from harness.judging.calibration_questions import deal_cases
from harness.judging.labels import append_line, read_lines, read_whole
from harness.values import Frozen, digest_of


class CaseSplit(Frozen):
    """No case is in two parts."""

    train: tuple[str, ...]
    """What a reflector is shown."""
    validation: tuple[str, ...]
    """What candidates are chosen by."""
    held_out: tuple[str, ...]
    """What the choice is confirmed by, examined once."""

    @property
    def held_out_digest(self) -> str:
        return digest_of(sorted(self.held_out))


def split_cases(cases: Iterable[str]) -> CaseSplit:
    """40 % of the cases for training, 30 % for validation, 30 % held out, by the digest of their ids.

    The parts do not depend on a seed: another optimisation of the same suite has the same held-out part, so that a
    second look at it can be refused. Raises UsageError for fewer than three cases.
    """
    known = set(cases)
    if len(known) < 3:
        raise UsageError(
            f"{len(known)} case(s) cannot be split into training, validation and held-out",
            remedy="have at least 20 cases in the suite, or select more of them",
        )
    return CaseSplit(**dict(zip(("train", "validation", "held_out"), deal_cases(known), strict=True)))


def cases_for(held_out: int) -> int:
    """The smallest suite with so many cases held out."""
    return next(
        count for count in range(3, 10 * held_out + 10) if len(split_cases(map(str, range(count))).held_out) >= held_out
    )


# The file is committed with the project: each look makes the held-out figures of later optimisations less reliable.


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
    looks = (one for one in read_whole(path, HeldOutUse) if one.run != run)
    return tuple(one for one in looks if set(one.cases) & set(split.held_out))


def refuse_second_look(looks: Sequence[HeldOutUse], *, again: bool) -> None:
    """Raises UsageError if the held-out cases were examined before, unless that is wanted."""
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
