"""The runs that the detectors are evaluated on: where they are, and how they are split.

Nothing of the data is copied into the repository; HARNESS_REAL_DATA says where it is.
"""

import hashlib
import os
from pathlib import Path
from typing import Literal

from harness.scoring.evidence import Evidence, Verdict

Split = Literal["development", "held-out"]
DEVELOPMENT_SHARE = 0.8


def data_folder() -> Path:
    """The folder of real runs; may be absent."""
    default = Path(__file__).resolve().parents[3] / "shared" / "data"
    return Path(os.environ.get("HARNESS_REAL_DATA", default))


def split_of(name: str) -> Split:
    """80 % of the runs are for development: thresholds are chosen on these alone."""
    share = int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) / 0x1_0000_0000
    return "development" if share < DEVELOPMENT_SHARE else "held-out"


def failed(evidence: Evidence) -> Evidence:
    """The same evidence with a check that failed, for detectors that explain a failure."""
    verdict = Verdict(check="reward", verifier="recorded", version="1", passed=False, reason="recorded as failed")
    return evidence.model_copy(update={"verdicts": (verdict,)})
