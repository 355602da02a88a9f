"""Every built-in verifier and metric says what it reads of a trajectory, so that a new one is decided about."""

from harness.score.captured import _READS
from harness.score.metrics import METRICS
from harness.score.verifiers import VERIFIERS


def test_every_built_in_verifier_and_metric_is_named() -> None:
    assert {one.__name__ for one in (*VERIFIERS.values(), *METRICS.values())} == _READS.keys()
