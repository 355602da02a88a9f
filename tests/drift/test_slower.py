"""An operation that answers slower than it ever did."""

from datetime import date

from harness.cassettes.profiles import LatencySample, OperationProfile, ToolProfile
from harness.drift.observations import CallObservations, OperationIndex, slower_findings
from tests.drift.noise import SUITE, recording


def _slower(took_ms: list[float], *usual: tuple[float, float]) -> list[str]:
    samples = tuple(
        LatencySample(day=date(2026, 3, number + 1), calls=9, p50_ms=middle, p95_ms=slow)
        for number, (middle, slow) in enumerate(usual)
    )
    profile = ToolProfile(tool="t", operations={"t": OperationProfile(latency=samples)})
    look = CallObservations(recorded=recording({}), cases={"c"}, took_ms=took_ms)
    return [
        f"{one.severity} {one.old_kind} -> {one.new_kind}"
        for one in slower_findings([look], OperationIndex(SUITE, {}, {"t": profile}))
    ]


def test_only_what_is_far_beyond_every_sitting_is_told() -> None:
    usual = ((100.0, 200.0), (120.0, 300.0))
    assert ["info usual time -> slower"] == _slower([900.0] * 5, *usual)
    assert [] == _slower([700.0] * 5, *usual)
    assert [] == _slower([900.0] * 4, *usual)
    assert [] == _slower([900.0] * 5, usual[0])
    assert [] == _slower([100.0] * 3 + [9000.0] * 2, *usual)
