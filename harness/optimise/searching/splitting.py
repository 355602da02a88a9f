"""The three parts of a suite's cases: to learn by, to choose by, and to confirm by."""

from collections.abc import Iterable

from harness.errors import UsageError
from harness.judge import deal_cases
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
