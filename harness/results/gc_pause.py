"""Pauses Python's cyclic garbage collector while many stored values are read.

The search walks over all values that live, as often as these have grown by a quarter: a run of 10,000 trials would cost
half as much again a trial. Stored values are trees, and hold no cycles to be found.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Holds for the whole process; from several threads it ends, at the latest, with the last of them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
