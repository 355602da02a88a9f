"""The short version of the fuzzing in `make soak`: the same inputs every time."""

import pytest

from qa.fuzz.__main__ import PARTS
from qa.soak.fuzzing import by_coverage, by_hypothesis

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("part", PARTS)
def test_bad_input_is_read_or_refused(part: str) -> None:
    found = list(by_hypothesis(part, 40, 1))
    assert [] == [row for row in found if not row.good]
    assert len(found) >= 10


def test_bad_input_that_reaches_new_code_is_read_or_refused() -> None:
    found = by_coverage("strict JSON", 100, 1)
    assert found.good, found.said
    assert 100 <= found.tries
