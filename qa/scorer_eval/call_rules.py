"""What the loop detector is measured against: three rules that look at the calls alone."""

from collections import Counter
from collections.abc import Callable, Sequence

from harness.scoring.evidence import Evidence
from harness.scoring.failures.reading import read

Rule = Callable[[Sequence[str]], bool]


def keys(evidence: Evidence) -> list[str]:
    """The agent's calls, equal where tool and arguments are."""
    return [act.key for act in read(evidence).acts]


def three_identical(made: Sequence[str]) -> bool:
    """The same call three times, anywhere."""
    return any(count >= 3 for count in Counter(made).values())


def cycle(made: Sequence[str]) -> bool:
    """A cycle of period 1 to 4, three times running."""
    for period in (1, 2, 3, 4):
        run = 0
        for place in range(period, len(made)):
            run = run + 1 if made[place] == made[place - period] else 0
            if run >= 2 * period:
                return True
    return False


def longer_than(calls: int) -> Rule:
    """More calls than that."""
    return lambda made: len(made) > calls
