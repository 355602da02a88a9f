"""How nearly the checks passed that can be passed in part."""

import math
from typing import ClassVar

from harness.score.evidence import Evidence


class PartialCredit:
    """Mean credit of the checks that give one (`credit` in their evidence: the verifier `trajectory` does); 0 to 1.

    Checks without a credit are left out: a pass or a fail is not a credit. None where no check gives one.
    """

    name: ClassVar[str] = "partial_credit"
    version: ClassVar[str] = "1"

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        found = [(one.check, one.evidence.get("credit")) for one in evidence.verdicts]
        credits = [(name, float(value)) for name, value in found if isinstance(value, int | float)]
        if not credits:
            return None, "no check gives a credit"
        return math.fsum(value for _, value in credits) / len(credits), ", ".join(f"{n} {v:.2f}" for n, v in credits)
