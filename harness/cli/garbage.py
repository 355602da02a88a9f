"""When the command collects garbage: imports make many objects and no garbage."""

import gc
from typing import Final

_FIRST_AFTER: Final = 400_000
"""Objects before the first collection. A short run makes half as many; collecting on the way would cost it a tenth of
its processor time.
"""
_THEN_AFTER: Final = 20_000
"""Objects between two collections after the first."""


def collect_garbage_late() -> None:
    """Collects nothing before the process holds as many objects as a long run."""
    gc.callbacks.append(_from_now_on)
    gc.set_threshold(_FIRST_AFTER)


def leave_garbage() -> None:
    """Spares the interpreter's own collection of everything as it ends."""
    gc.freeze()


def _from_now_on(phase: str, _: dict[str, int]) -> None:
    if phase == "stop":
        gc.callbacks.remove(_from_now_on)
        gc.set_threshold(_THEN_AFTER)
