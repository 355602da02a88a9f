"""The attacks of `make soak` that need no container, on a small scale: nothing gets through, and the controls do.

Those that a room tests by itself are left to `make soak`: redirects, hiding agents, run folders, imports.
"""

import random

import pytest

from qa.soak.parts import PARTS
from qa.soak.soaking import line

ATTACKS = (
    "received secrets",
    "forged evidence",
    "model endpoint",
    "paths",
    "telemetry",
    "forged order",
    "disguised writes",
)
SCALE = 0.02


@pytest.mark.slow
@pytest.mark.parametrize("part", ATTACKS)
def test_nothing_gets_through_and_the_controls_do(part: str) -> None:
    found = list(PARTS[part].rows(random.Random(7), SCALE))
    assert found
    assert [] == [line(row) for row in found if not row.good]
