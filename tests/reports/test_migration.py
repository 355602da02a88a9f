"""The page on a change of the base model: which figures decide, and what it names of the trials that were lost."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.errors import ExitCode
from harness.reports.compare import compare_runs
from harness.reports.migration import Migration, migration_of
from harness.reports.render.migration import migration_markdown, migration_view
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import RunManifest
from harness.scoring.scorecard import Score, Scorecard, ToolUse
from harness.traces.trajectory import Trajectory
from harness.traces.trial import Trial

Card = Callable[..., Scorecard]
Manifest = Callable[..., RunManifest]
WIDE = ("task_success=0.5",)
LIST_AS_TEXT = (ToolUse(tool="add", calls=1, invalid={"wrong_type": 1}),)


@pytest.fixture
def store(tmp_path: Path, card: Card, manifest: Manifest) -> Callable[..., RunFolder]:
    """A run with one trial for each mark: `.` succeeds, `x` fails by an argument's type, `?` is undecided."""

    def build(run: str, marks: str, costs: tuple[float, ...] = (), **fields: Any) -> RunFolder:
        cards = [
            card(
                f"c{place}",
                {".": True, "x": False, "?": None}[mark],
                scores=tuple(
                    Score(metric="cost_usd", version="1", value=cost, lower_is_better=True)
                    for cost in costs[place : place + 1]
                ),
                models=(run,) if fields.get("seen", True) else (),
                tool_use=LIST_AS_TEXT if mark == "x" else (),
            )
            for place, mark in enumerate(marks)
        ]
        own = {name: value for name, value in fields.items() if name != "seen"}
        with RunFolder.create(tmp_path, manifest(cards, run, **own)) as folder:
            for one in cards:
                nothing = Trajectory(trace_id="t", agent="a", steps=())
                folder.commit(Trial(case_id=one.case_id, attempt=1, outcome="finished", trajectory=nothing), (), one)
        return RunFolder.open(folder.path)

    return build


def migrated(old: RunFolder, new: RunFolder, *margins: str) -> Migration:
    return migration_of((old, new), compare_runs(old, new), margins)


def row(found: Migration, figure: str) -> list[str]:
    line = next(line for line in migration_markdown(found).splitlines() if line.startswith(f"| {figure}"))
    return [cell.strip().replace("\\", "") for cell in line.strip("|").split("|")]


@pytest.mark.parametrize(
    ("marks", "margins", "standing", "words"),
    [
        ("..", (), "cannot_tell", "cannot tell: task_success"),
        ("..", WIDE, "parity", "at parity: "),
        ("x.", (), "better", "better: task_success; "),
        (".x", WIDE, "worse", "worse: task_success"),
        ("..", (*WIDE, "latency_s=10%"), "cannot_tell", "cannot tell: latency_s"),
        (".x", (*WIDE, "latency_s=10%"), "worse", "worse: task_success"),
    ],
)
def test_a_figure_that_is_worse_decides_then_one_that_is_undecided_then_success(
    store: Callable[..., RunFolder], marks: tuple[str, str], margins: tuple[str, ...], standing: str, words: str
) -> None:
    """Latency, which no run measured, decides only where a margin is given for it."""
    found = migrated(store("old", marks[0] * 12), store("new", marks[1] * 12), *margins)
    codes = {"worse": ExitCode.VERDICT, "cannot_tell": ExitCode.COULD_NOT}
    assert (standing, codes.get(standing, ExitCode.DONE)) == (found.standing, found.exit_code)
    assert f"**{words}" in migration_markdown(found).replace("\\", "")


def test_an_amount_is_held_against_a_percentage_of_its_value_before(store: Callable[..., RunFolder]) -> None:
    old = store("old", "." * 12, tuple(0.01 + place / 1000 for place in range(12)))
    new = store("new", "." * 12, tuple((0.01 + place / 1000) * 1.5 for place in range(12)))
    found = migrated(old, new, *WIDE)
    assert "worse" == found.standing
    name, before, after, change, interval, margin, says = row(found, "cost\\_usd")
    assert ("cost_usd", "0.0155 USD", "0.0233 USD", "+50 %", "10%", "worse") == (
        name,
        before,
        after,
        change,
        margin,
        says,
    )
    low, high = (float(end.strip("+%")) for end in interval.split(" to "))
    assert 30 < low < 50 < high < 70
    in_dollars = row(migrated(old, new, *WIDE, "cost_usd=1"), "cost\\_usd")
    assert ("+0.00775 USD", "1", "parity") == (in_dollars[3], in_dollars[5], in_dollars[6])
    low, high = (float(end) for end in in_dollars[4].removesuffix(" USD").split(" to "))
    assert 0 < low < 0.00775 < high
    assert ["-", "-", "-", "-", "10%", "not measured"] == row(found, "latency\\_s")[1:]
    assert ["100 %", "100 %", "0"] == row(found, "task\\_success")[1:4]


def test_the_trials_that_were_lost_are_named_with_the_kind_of_failure_that_they_have(
    store: Callable[..., RunFolder],
) -> None:
    found = migrated(store("old", "....xx"), store("new", "xx?..x", agent_digest="b" * 64))
    assert ([("c2", None), ("c0", False), ("c1", False)], 1) == (
        [(one.case_id, one.after) for one in found.lost],
        found.won,
    )
    text = migration_markdown(found)
    assert text.startswith("# drive\\_thru: old → new\n")
    for words in ("c2/1 is undecided now", "c0/1 now fails", "not now: 3; trials that pass only now: 1"):
        assert words in text
    # one trial lost the failure and two got it: 2 of 6 before, 3 of 6 now
    assert ["2 of 6", "3 of 6", "more"] == row(found, "invalid arguments")[1:4]
    assert "c0/1" == row(found, "invalid arguments")[5]
    assert "- tool add: invalid arguments: wrong type (3)" in text
    assert "- agent: aaaaaaaaaaaa → bbbbbbbbbbbb" in text
    stream = io.StringIO()
    Console(file=stream, width=200).print(migration_view(found))
    assert "  tool add: invalid arguments: wrong type (3)" in stream.getvalue().splitlines()
    assert "new" == row(migrated(store("a", "." * 6), store("b", "x" * 6)), "invalid arguments")[3]


def test_a_page_without_losses_says_so_and_a_long_one_is_cut(store: Callable[..., RunFolder]) -> None:
    same = migration_markdown(migrated(store("old", ".."), store("new", ".."), *WIDE))
    assert 1 == same.count("\n- none\n")
    assert "not now: 0; trials that pass only now: 0" in same
    assert "tools, agents and prompts" not in same
    many = migration_markdown(migrated(store("a", "." * 14, seen=False), store("b", "x" * 14, seen=False)))
    assert 12 == many.count("now fails")
    assert "and 2 more" in many
    assert "not seen → model not seen" in many
    enough = migration_markdown(migrated(store("c", "." * 12), store("d", "x" * 12)))
    assert (12, False) == (enough.count("now fails"), " more;" in enough)
    variables = store("e", "..", seen=False, variables={"model": "small"}), store("f", "..", variables={"model": "big"})
    assert "# drive\\_thru: model not seen → f" in migration_markdown(migrated(*variables))
