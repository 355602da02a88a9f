"""What the simulation's table says, on fewer tools."""

import itertools
import random
from datetime import UTC, datetime
from typing import Any

from tests.drift.conftest import Project, probe_on, told
from tests.drift.noise import Baseline, simulate


def test_drift_is_found_and_noise_is_not_taken_for_it() -> None:
    row = simulate(Baseline(3, 2), tools=15)
    assert {"removed": 1.0, "type": 1.0, "value": 1.0, "added": 1.0} == row.found
    assert row.false <= 1 / 15


def test_nothing_is_said_of_values_before_they_are_known() -> None:
    row = simulate(Baseline(0, 0), tools=8)
    assert 0.0 == row.found["value"]
    assert 1.0 == row.found["removed"]


def test_a_noisy_service_that_stays_the_same_is_never_said_to_drift(project_of_shop: Project) -> None:
    """Moments, ids, orderings, floats, counters: recorded once, looked at on ten nights and in a live run."""
    chance, count = random.Random(7), itertools.count(1)

    def noisy(number: int) -> dict[str, Any]:
        tags = ["warm", "salt", "new", "cheap"]
        chance.shuffle(tags)
        return {
            "id": number,
            "name": "Biscuit",
            "trace": f"{chance.getrandbits(128):032x}",
            "short": f"{chance.getrandbits(32):08x}",
            "served": datetime.fromtimestamp(1_800_000_000 + chance.randrange(10**7), UTC).isoformat(),
            "epoch": 1_800_000_000 + chance.randrange(10**7),
            "score": chance.random(),
            "price": 0.1 * 3 + chance.choice((0, 1e-12)),
            "seen": next(count),
            "tags": tags,
            "near": [{"id": one, "km": chance.random()} for one in chance.sample(range(9), 4)],
            "note": f"Answered in {chance.randrange(90)} ms by {chance.choice('abc')}.",
        }

    shop = project_of_shop.shop
    shop.answers["GET /items/1"] = lambda: noisy(1)
    shop.answers["GET /items/2"] = lambda: noisy(2)
    shop.answers["POST /orders"] = lambda: {"order": chance.randrange(10**6), "state": "open", "at": next(count)}
    project_of_shop.type("record", "s", "--refresh", "--sandbox", "local")
    for night in range(1, 11):
        assert [] == told(probe_on(project_of_shop, night))
    project_of_shop.type("drift", "s", "--sandbox", "local", "--run-name", "night")
    assert [] == told(project_of_shop.report("night"))
