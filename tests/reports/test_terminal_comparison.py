"""A comparison in a terminal: the tables by category and metric, the trials that changed, and the other differences."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

from harness.reports.compare import compare
from harness.reports.render.terminal import comparison_view
from harness.runs.store.manifest import RunManifest
from harness.scoring.scorecard import Scorecard

Card = Callable[..., Scorecard]
Manifest = Callable[..., RunManifest]


@pytest.fixture
def shown(card: Card, manifest: Manifest) -> Callable[..., list[str]]:
    """Lines with single blanks, of two runs of cases by their marks: `.` succeeds, `x` fails, `?` is undecided."""

    def build(before: str, after: str, **fields: Any) -> list[str]:
        runs = [
            [
                card(
                    f"c{n}", {".": True, "x": False, "?": None}[mark], category="not_on_menu", figures={"own_figure": n}
                )
                for n, mark in enumerate(marks)
            ]
            for marks in (before, after)
        ]
        plan = manifest(runs[0]).planned
        found = compare(
            manifest(runs[0], planned=plan), runs[0], manifest(runs[1], "later", planned=plan, **fields), runs[1]
        )
        stream = io.StringIO()
        Console(file=stream, width=160, highlight=False).print(comparison_view(found))
        return [" ".join(line.split()) for line in stream.getvalue().splitlines()]

    return build


def test_categories_are_words_and_metrics_keep_their_names(shown: Callable[..., list[str]]) -> None:
    lines = shown("xx..", "..x.")
    assert any(line.startswith("not on menu 50 % 75 % +25 pt 2 1 4 ") for line in lines)
    assert any(line.startswith("own_figure 1.5 1.5 0 - - 4 ") for line in lines)


def test_the_trials_that_changed_stand_below_the_way_they_changed(shown: Callable[..., list[str]]) -> None:
    lines = shown("xx..", "..x?")
    fail, hidden, passing = (
        lines.index(next(line for line in lines if line.startswith(words)))
        for words in ("1 now fail", "1 passed before and are unknown now", "2 now pass")
    )
    assert fail < hidden < passing
    assert ["c2/1 k: as seen"] == lines[fail + 1 : fail + 2]
    assert ["c3/1 k: as seen"] == lines[hidden + 1 : hidden + 2]
    assert ["c0/1", "c1/1"] == lines[passing + 1 : passing + 3]
    assert "1 trials without a measured counterpart are omitted" in lines
    same = shown("x.", "x.")
    assert not any("now " in line or "unknown now" in line or "omitted" in line for line in same)


def test_more_trials_than_ten_are_counted(shown: Callable[..., list[str]]) -> None:
    lines = shown("." * 12, "x" * 12)
    assert 10 == sum("k: as seen" in line for line in lines)
    assert "and 2 more, in the report" in lines
    assert not any(" more, in the report" in line for line in shown("." * 10, "x" * 10))


def test_other_differences_are_named_or_said_to_be_none(shown: Callable[..., list[str]]) -> None:
    assert "the two runs have no other differences" in shown(".", "x")
    lines = shown(".", "x", tool_mode="live", agent_digest="b" * 64)
    place = lines.index("differences between the runs")
    assert any(line.startswith("tool mode: replay → live") for line in lines[place:])
    assert any(line.startswith("warning: ") for line in lines[place:])
    assert "the two runs have no other differences" not in lines
