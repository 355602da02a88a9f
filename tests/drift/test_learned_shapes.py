"""What a sampling session keeps of the shape of answers: kinds, counts and words."""

import asyncio
import itertools
from collections.abc import Iterator
from datetime import date
from typing import Any

from harness.cassettes.cassette import Cassette
from harness.cassettes.profiles import OperationProfile, ToolProfile
from harness.drift.learning import ProbeSession, learned
from harness.drift.observations import OperationIndex
from harness.drift.probe import probe
from harness.drift.replayable import ReplayableRead
from harness.gateway.upstream.sources import ToolRequest
from tests.drift.noise import KEY, SPEC, SUITE, Simulated, recording

DAY = date(2026, 3, 2)


class Turns:
    """Gives its answers by turns."""

    def __init__(self, *answers: Any) -> None:
        self._turns: Iterator[Any] = itertools.cycle(answers)

    def answer(self, day: date) -> Any:
        del day
        return next(self._turns)


def session(*answers: Any, profile: ToolProfile | None = None, day: date = DAY) -> ToolProfile:
    profile = profile or ToolProfile(tool="t")
    cassette = Cassette([recording(answers[0])])
    book = OperationIndex(SUITE, {"c": cassette}, {"t": profile})
    ask = ReplayableRead(recordings={"c": cassette.recordings[0]}, call=ToolRequest(tool=SPEC, arguments={}, key=KEY))
    looks = asyncio.run(probe(Simulated(Turns(*answers), day), [ask], book, samples=len(answers))).observations
    return learned(profile, looks, book.rules("t"), ProbeSession(day=day, shape=True))


def operation(profile: ToolProfile) -> OperationProfile:
    return profile.operations["t"]


def test_words_and_kinds_grow_with_each_session() -> None:
    one = session({"n": 3, "word": "open", "maybe": None})
    two = session({"n": 7, "word": "shut", "maybe": "x"}, profile=one)
    first, both = operation(one).paths, operation(two).paths
    assert (("open",), ("open", "shut"), None) == (first["word"].words, both["word"].words, both["n"].words)
    assert {"null": 1, "string": 1} == both["maybe"].kinds
    assert (1, 2) == (first["n"].present, both["n"].present)


def test_each_day_counts_once_and_the_samples_all() -> None:
    one = session({"n": 1}, {"n": 1})
    same, later = session({"n": 1}, profile=one), session({"n": 1}, profile=one, day=date(2026, 3, 5))
    assert [(DAY,), (DAY,), (DAY, date(2026, 3, 5))] == [operation(made).days for made in (one, same, later)]
    assert operation(one).samples < operation(same).samples
    assert not operation(one).is_settled
