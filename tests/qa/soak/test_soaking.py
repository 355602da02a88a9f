"""The soak says of each part what came of it, and passes only where every row of every part is as it should be."""

import json
import os
import random
import signal
from collections.abc import Iterator

import pytest

from qa.soak.parts import PARTS, Part, of_module
from qa.soak.rows import Row, Unable
from qa.soak.soaking import main

GOOD = Row(what="a door that is tried", tries=3, survived=3, said="seed 7")


def _part(*rows: Row, then: BaseException | None = None) -> Part:
    def made(random: random.Random, scale: float) -> Iterator[Row]:
        yield from rows
        if then is not None:
            raise then

    return Part(rows=made, minutes=1, least_minutes=0.1)


def test_a_good_row_passes_and_stands_in_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main({"doors": _part(GOOD)}, 7, [])
    told = capsys.readouterr()
    assert (
        "attack or fault                                              tries survived  lost left behind\n"
        "a door that is tried                                             3        3     0           0  seed 7\n"
        "\n0 of 1 row(s) are not as they should be, 0 s\n"
    ) == told.out
    assert "seed 7, scale 1: about 1 min" in told.err


@pytest.mark.parametrize(
    "bad",
    [
        {"survived": 2},
        {"lost": 1},
        {"left": 1},
        {"void": True},
    ],
)
def test_a_bad_row_makes_the_soak_fail(bad: dict[str, int], capsys: pytest.CaptureFixture[str]) -> None:
    row = Row(**{"what": "a door", "tries": 3, "survived": 3, **bad})
    assert 1 == main({"doors": _part(GOOD, row, GOOD)}, 7, [])
    table = capsys.readouterr().out
    assert "1 of 3 row(s)" in table
    assert 1 == table.count("BAD") + table.count("VOID")


def test_a_part_that_cannot_run_here_is_an_error_and_the_others_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    parts = {"mounts": _part(then=Unable("it needs root")), "doors": _part(GOOD)}
    assert 1 == main(parts, 7, [])
    table = capsys.readouterr().out
    assert "mounts: NOT DONE, cannot run here: it needs root" in table
    assert "0 of 1 row(s)" in table


def test_a_part_that_breaks_is_an_error_and_its_rows_stay(capsys: pytest.CaptureFixture[str]) -> None:
    parts = {"mounts": _part(GOOD, then=ValueError("odd")), "doors": _part(GOOD)}
    assert 1 == main(parts, 7, ["--json"])
    told = json.loads(capsys.readouterr().out)
    assert {"mounts": "failed: ValueError: odd"} == told["undone"]
    assert [True, True] == [row["good"] for row in told["rows"]]


def test_an_interrupted_soak_cleans_up_and_tells_what_it_knows(capsys: pytest.CaptureFixture[str]) -> None:
    cleaned = []

    def interrupted(random: random.Random, scale: float) -> Iterator[Row]:
        try:
            yield GOOD
            os.kill(os.getpid(), signal.SIGTERM)
            yield GOOD
        finally:
            cleaned.append(True)

    part = Part(rows=interrupted, minutes=1, least_minutes=1)
    assert 130 == main({"doors": part, "never": _part(then=AssertionError("it goes on"))}, 7, [])
    assert [True] == cleaned
    table = capsys.readouterr().out
    assert "doors: NOT DONE, interrupted" in table
    assert "0 of 1 row(s)" in table


def test_the_same_seed_gives_every_part_the_same_chance_whatever_runs_before_it() -> None:
    drawn = []

    def draws(random: random.Random, scale: float) -> Iterator[Row]:
        drawn.append(random.random())
        yield GOOD

    part = Part(rows=draws, minutes=1, least_minutes=1)
    main({"one": part, "two": part}, 7, ["--seed", "5"])
    main({"one": part, "two": part}, 8, ["--seed", "5", "--only", "two"])
    assert 1 == len(set(drawn))


def test_a_part_whose_module_is_missing_fails() -> None:
    part = Part(rows=of_module("qa.soak.nothing"), minutes=1, least_minutes=1)
    assert 1 == main({"nothing": part}, 7, [])


def test_the_whole_soak_is_estimated_at_little_more_than_an_hour_and_a_tenth_at_a_quarter() -> None:
    assert sum(part.takes_minutes(1.0) for part in PARTS.values()) < 75
    assert sum(part.takes_minutes(0.1) for part in PARTS.values()) < 18
