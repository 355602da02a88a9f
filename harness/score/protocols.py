"""The seams of scoring: what decides, measures and diagnoses."""

from collections.abc import Sequence
from typing import ClassVar, Protocol

from harness.score.diagnosis import Diagnosis
from harness.score.evidence import Evidence
from harness.score.scorecard import Scorecard
from harness.values import JsonObject


class Verifier(Protocol):
    """A check. Implementations are Frozen models whose fields are the check's `with:` parameters.

    A class attribute `reads` names the content that it reads (`harness.trace.Content`); without one, it is not asked
    where the spans of another program leave out any.
    """

    version: ClassVar[str]
    """Changed whenever the same evidence could give another verdict."""

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        """Returns (passed, description of the reason, observed data). Never raises for actions of the agent."""
        ...


class Metric(Protocol):
    """A figure about one trial. Higher is better, unless the class sets `lower_is_better = True`."""

    name: ClassVar[str]
    version: ClassVar[str]

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        """(value or None, explanation in words). Never raises for what the agent did."""
        ...


class Detector(Protocol):
    """Finds one way in which a trial went wrong, and where it began."""

    name: ClassVar[str]
    version: ClassVar[str]
    """Changed whenever the same evidence could give another finding."""

    def find(self, evidence: Evidence) -> Sequence[Diagnosis]:
        """Every finding, in any order. Pure: looks at nothing but the evidence. Never raises for what the agent did.

        A detector of a third party gives its kinds as `<name of the detector>:<kind>`.
        """
        ...


class RunMetric(Protocol):
    """A figure over a whole run."""

    name: ClassVar[str]
    version: ClassVar[str]

    def measure(self, scorecards: Sequence[Scorecard]) -> tuple[float | None, str]:
        """(value or None, explanation), over the scorecards in their fixed order."""
        ...
