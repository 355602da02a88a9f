"""The findings' vocabulary, which stands beside the scorecard's other values because scorecards keep findings."""

from harness.score.diagnosis import Diagnosis, Failure, Kind, OwnKind

__all__ = ["Diagnosis", "Failure", "Kind", "OwnKind"]
