"""One dimension of a suite's coverage: what there is, and what of it was touched."""

from collections.abc import Sequence

from harness.values import Frozen


class Covered(Frozen):
    """One dimension of the coverage."""

    touched: tuple[str, ...]
    untouched: tuple[str, ...]

    @property
    def share(self) -> float | None:
        """Touched of all; None where there is nothing to touch."""
        every = len(self.touched) + len(self.untouched)
        return len(self.touched) / every if every else None


def covered(every: Sequence[str], touched: Sequence[str]) -> Covered:
    """All in their order, each once; what was touched and is not known is not counted."""
    known, hit = dict.fromkeys(every), set(touched)
    return Covered(
        touched=tuple(one for one in known if one in hit), untouched=tuple(one for one in known if one not in hit)
    )
