"""The soak's search for secrets, on a small scale."""

import random

import pytest

from qa.soak.secrets import rows
from qa.soak.soaking import line

pytestmark = [pytest.mark.docker, pytest.mark.slow]


def test_no_canary_is_found_anywhere_and_what_nobody_called_a_secret_is() -> None:
    found = list(rows(random.Random(1), 0.01))
    assert len(found) > 10
    assert [] == [line(row) for row in found if not row.good]
