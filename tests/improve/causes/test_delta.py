"""Delta debugging finds a list of which nothing can be left out."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from harness.improve.blame import smallest


@given(st.sets(st.integers(0, 30), max_size=6), st.integers(1, 31))
def test_what_is_needed_is_all_that_is_left(needed: set[int], size: int) -> None:
    parts = [*range(max(size, max(needed, default=0) + 1))]

    def holds(candidates: Sequence[Sequence[int]]) -> list[bool]:
        return [needed <= set(one) for one in candidates]

    assert sorted(needed) == list(smallest(parts, holds))


@given(st.sets(st.integers(0, 30), max_size=6), st.integers(1, 8))
def test_what_is_left_does_not_depend_on_how_many_are_tried_at_once(needed: set[int], at_once: int) -> None:
    asked: list[int] = []

    def holds(candidates: Sequence[Sequence[int]]) -> list[bool]:
        asked.append(len(candidates))
        return [needed <= set(one) for one in candidates]

    parts = [*range(max(needed, default=0) + 1)]
    one_by_one = smallest(parts, holds)
    fewest, asked[:] = sum(asked), []
    assert one_by_one == smallest(parts, holds, at_once=at_once)
    assert max(asked, default=0) <= at_once
    assert fewest <= sum(asked)
