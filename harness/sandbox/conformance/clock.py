"""The pinned clock. The image must hold the harness's clock library."""

from harness.errors import SandboxError
from harness.sandbox.conformance.provider_fixture import (
    ProviderFixture,
    ProviderNotConforming,
    answer_of,
    expect,
    expect_raises,
    isolation_check,
    python,
    shell,
)

_NOW = "import time, datetime, json; print(json.dumps([time.time(), datetime.datetime.now().isoformat()]))"
_PINNED = "2024-02-29T12:00:00Z"
_PINNED_S = 1_709_208_000


def clock_starts_where_it_is_pinned(stand: ProviderFixture) -> None:
    sandbox = stand.start(clock=_PINNED)
    seconds, text = answer_of("time", python(sandbox, _NOW))
    if not 0 <= seconds - _PINNED_S < 30:
        raise ProviderNotConforming(f"the clock says {seconds} where it starts at {_PINNED_S}")
    expect("day", text[:10], "2024-02-29")
    expect("other programs", shell(sandbox, "date -u +%F").stdout, "2024-02-29\n")


def pinned_clock_goes_on(stand: ProviderFixture) -> None:
    sandbox = stand.start(clock="2024-02-29T12:00:00+00:00")
    first = answer_of("time", python(sandbox, _NOW + "; time.sleep(0.2)"))[0]
    second = answer_of("time", python(sandbox, _NOW))[0]
    if not 0.2 <= second - first < 30:
        raise ProviderNotConforming(f"the clock went from {first} to {second}")


def pinned_clock_moves_no_timer(stand: ProviderFixture) -> None:
    code = """
import json, queue, time
began = time.monotonic()
try:
    queue.Queue().get(timeout=0.2)
except queue.Empty:
    pass
time.sleep(0.1)
print(json.dumps(0.3 <= time.monotonic() - began < 5))
"""
    expect("sleeps and timeouts", answer_of("timers", python(stand.start(clock=_PINNED), code, timeout_s=15)), True)


def wrong_instant_is_refused(stand: ProviderFixture) -> None:
    expect_raises("start", SandboxError, lambda: stand.start(clock="yesterday"))


CHECKS = tuple(
    isolation_check(run)
    for run in (
        clock_starts_where_it_is_pinned,
        pinned_clock_goes_on,
        pinned_clock_moves_no_timer,
        wrong_instant_is_refused,
    )
)
