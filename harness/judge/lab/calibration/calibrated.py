"""The result of a calibration, with the names of models and data."""

from harness.judge.lab.calibration.calibrate import Outcome
from harness.values import Frozen


class Calibrated(Frozen):
    """The result of a calibration."""

    outcome: Outcome
    prompt: str
    before: str
    """The version that was current before."""
    after: str | None
    """The new version, which has the label `candidate`; None: no revision was accepted."""
    model: str
    labels: int
    annotators: tuple[str, ...]
    left_out: tuple[str, ...]
    """Descriptions of labels that do not count."""
    held_out_seen_before: int
