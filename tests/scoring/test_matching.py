"""Pairing of calls with the reference: the fullest one, in the DAG's order, at any length."""

import random
import time
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.scoring.reference_calls import match_calls
from harness.suite.cases import ReferenceCall


def chain(length: int) -> list[ReferenceCall]:
    return [ReferenceCall(id=str(i), tool="t", after=(str(i - 1),) if i else ()) for i in range(length)]


def unordered(length: int) -> list[ReferenceCall]:
    return [ReferenceCall(id=str(i), tool="t") for i in range(length)]


@st.composite
def questions(draw: st.DrawFn) -> tuple[list[ReferenceCall], list[str], list[str]]:
    length = draw(st.integers(0, 6))
    reference = [
        ReferenceCall(
            id=str(i),
            tool="t",
            after=tuple(draw(st.lists(st.sampled_from([str(j) for j in range(i)]), unique=True)) if i else ()),
        )
        for i in range(length)
    ]
    letters = st.sampled_from("abc")
    keys = draw(st.lists(letters, min_size=length, max_size=length))
    return reference, keys, draw(st.lists(st.sampled_from("abcz"), max_size=8))


def all_before(reference: Sequence[ReferenceCall]) -> dict[str, set[str]]:
    above: dict[str, set[str]] = {}
    for call in reference:
        above[call.id] = set(call.after).union(*(above[name] for name in call.after))
    return above


def fullest_by_trying_everything(reference: Sequence[ReferenceCall], keys: Sequence[str], made: Sequence[str]) -> int:
    above = all_before(reference)

    def best(place: int, met: frozenset[str]) -> int:
        if place == len(made):
            return len(met)
        options = [best(place + 1, met)]
        for call, key in zip(reference, keys, strict=True):
            if key == made[place] and call.id not in met and not any(call.id in above[other] for other in met):
                options.append(best(place + 1, met | {call.id}))
        return max(options)

    return best(0, frozenset())


@settings(max_examples=400, deadline=None)
@given(questions())
def test_as_many_calls_are_paired_as_can_be_and_never_against_the_order(
    question: tuple[list[ReferenceCall], list[str], list[str]],
) -> None:
    reference, keys, made = question

    found = match_calls(reference, keys, made)

    assert found.exact
    assert len(found.pairs) == fullest_by_trying_everything(reference, keys, made)
    assert len(set(found.pairs.values())) == len(found.pairs)
    above = all_before(reference)
    for name, place in found.pairs.items():
        assert made[place] == keys[int(name)]
        assert all(found.pairs[before] < place for before in above[name] if before in found.pairs)


def test_one_call_meets_only_one_reference_call() -> None:
    assert len(match_calls(unordered(2), ["a", "a"], ["a"]).pairs) == 1


@pytest.mark.slow
def test_thousands_of_calls_on_a_hostile_trajectory_are_paired_in_bounded_time() -> None:
    draw = random.Random(1)
    keys = [str(i) for i in range(60)]
    six_chains = [ReferenceCall(id=str(i), tool="t", after=(str(i - 6),) if i > 5 else ()) for i in range(60)]
    letters = [draw.choice("ab") for _ in range(60)]
    started = time.process_time()

    assert len(match_calls(chain(60), keys, keys[::-1] * 100).pairs) == 60
    assert len(match_calls(unordered(60), ["a"] * 60, ["a"] * 5000).pairs) == 60
    assert len(match_calls(chain(60), ["a"] * 60, ["a", "b"] * 2500).pairs) == 60
    bounded = match_calls(six_chains, letters, [draw.choice("ab") for _ in range(70)])

    assert not bounded.exact
    assert len(bounded.pairs) > 40
    assert time.process_time() - started < 20
