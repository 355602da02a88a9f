"""A failure mode that was diagnosed once must not be there again."""

from typing import ClassVar

from harness.score.diagnosis import Failure, Kind, OwnKind
from harness.score.evidence import Evidence
from harness.score.failures import diagnose
from harness.values import Frozen, JsonObject


class NoFailure(Frozen):
    """No detector finds `failure` in the trajectory; `kinds` names its kinds that count (empty: all).

    The detectors run without the other checks' verdicts, so that the same trajectory always gives the same answer. A
    finding below `min_confidence` does not count.
    """

    version: ClassVar[str] = "1"

    failure: Failure
    """The failure that must not be found."""
    kinds: tuple[Kind | OwnKind, ...] = ()
    """Kinds of that failure that count; empty: all."""
    min_confidence: float = 0.0
    """Findings below it do not count; 0 to 1."""

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        found = [
            one
            for one in diagnose(evidence)
            if one.failure == self.failure
            and (not self.kinds or one.kind in self.kinds)
            and one.confidence >= self.min_confidence
        ]
        if not found:
            return True, f"no {self.failure} was found", {}
        first = found[0]
        where = "" if first.origin_step is None else f" from step {first.origin_step}"
        return False, f"{first.kind}{where}: {first.evidence}", {"found": [one.kind for one in found]}
