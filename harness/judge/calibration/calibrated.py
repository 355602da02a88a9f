"""What came of a calibration, with the names of what was tried on whom."""

from harness.judge.calibration.calibrate import Outcome
from harness.values import Frozen


class Calibrated(Frozen):
    """What came of it."""

    outcome: Outcome
    prompt: str
    before: str
    """Version that was in use."""
    after: str | None
    """The new version, which has the label `candidate`; None: no revision was accepted."""
    model: str
    labels: int
    annotators: tuple[str, ...]
    left_out: tuple[str, ...]
    """Labels that do not count, in words."""
    held_out_seen_before: int
