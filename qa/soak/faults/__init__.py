"""Faults around the harness: full and read-only disks, odd surroundings, damaged evidence, an engine that goes away."""

import random
from collections.abc import Generator

from qa.soak.faults import clocks, engine, evidence, surroundings
from qa.soak.faults.place import place
from qa.soak.rows import Row

_TRIALS = 500
_FEWEST = 12


def rows(random: random.Random, scale: float) -> Generator[Row, None, None]:
    """Every fault once; those of the engine in the middle of `scale` x 500 trials, by both providers of containers."""
    del random  # what happens is fixed; when, is the machine's
    with place() as here:
        yield from surroundings.rows(here, (*surroundings.FAULTS, *evidence.FAULTS, *clocks.FAULTS))
        yield from engine.rows(here, max(_FEWEST, round(_TRIALS * scale)))
