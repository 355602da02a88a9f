"""The result of a calibration, with the names of models and data."""

from harness.judge.lab.calibration.calibrate import Outcome
from harness.values import Frozen


class Calibrated(Frozen):
    """The result of a calibration."""

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
