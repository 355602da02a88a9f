"""The optimisers by name: built in, and of installed packages (entry points in the group `harness.optimiser`)."""

from typing import Final

from harness.errors import UsageError
from harness.optimise.searching.search import Optimiser
from harness.plugins import Registry

OPTIMISERS: Final = Registry(
    seam="optimiser",
    built_in={
        "gepa": "harness.optimise.searching.gepa_optimiser:GepaOptimiser",
        "random": "harness.optimise.searching.baselines:RandomSearch",
        "best_of_n": "harness.optimise.searching.baselines:BestOfN",
    },
)
BASELINES: Final = ("random", "best_of_n")
"""Always run beside the optimiser that was asked for, each with the same number of rollouts."""


def optimisers_of(name: str) -> dict[str, Optimiser]:
    """The optimiser of that name, and the baselines beside it. Raises UsageError for an unknown one."""
    found: dict[str, Optimiser] = {}
    for one in dict.fromkeys((name, *BASELINES)):
        made = OPTIMISERS.find(one)
        if not isinstance(made, type) or not callable(getattr(made, "search", None)):
            raise UsageError(f"optimiser {one!r} is not a class with a method `search`")
        found[one] = made()
    return found
