"""A matrix of runs for a terminal and as Markdown; times, streams and counts in JUnit."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from harness.reports.durations import PrintedEnd
from harness.reports.matrix import matrix_table
from harness.reports.render.markdown import junit_xml
from harness.reports.render.matrix import matrix_markdown, matrix_view
from harness.reports.summarising import summarise
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import Matrix, PlannedTrial, RunManifest
from harness.scoring.scorecard import Scorecard
from harness.traces.trajectory import Trajectory
from harness.traces.trial import Trial

Card = Callable[..., Scorecard]
Manifest = Callable[..., RunManifest]


@pytest.fixture
def table(tmp_path: Path, card: Card, manifest: Manifest) -> Any:
    """Of two models: the second is worse at one of two cases, and its run was stopped before the third."""
    plan = tuple(PlannedTrial(case_id=name, attempt=1) for name in ("a", "b", "c"))
    runs = []
    for name, marks in (("small", (True, True, True)), ("large", (True, False))):
        cards = [
            card(case, mark, figures={"steps": 4.25, "cost_usd": 0.012345, "tokens": 99.5})
            for case, mark in zip("abc", marks, strict=False)
        ]
        own = manifest(cards, f"m-{name}", planned=plan, variables={"model": name}, tool_mode="live")
        with RunFolder.create(tmp_path, own) as folder:
            trials = []
            for one in cards:
                nothing = Trajectory(trace_id="t", agent="a", steps=())
                trials.append(
                    Trial(case_id=one.case_id, attempt=1, outcome="finished", trajectory=nothing, duration_s=2.5)
                )
                folder.commit(trials[-1], (), one)
        stopped = "budget" if name == "large" else None
        runs.append((folder, summarise(own, cards, trials=trials).model_copy(update={"stopped": stopped})))
    matrix = Matrix(name="m", created="", suite="s", agent="v1", variables=("model",), runs=("m-small", "m-large"))
    return matrix_table(matrix, runs)


def test_a_matrix_shows_each_run_beside_the_first(table: Any) -> None:
    small, large = table.rows
    assert (None, 3, 2) == (small.difference, small.measured, large.measured)
    assert -0.5 == large.difference.difference
    text = matrix_markdown(table)
    assert text.startswith("# s: v1 by model\n")
    assert "| small | 100 % |" in text
    assert "| large | 50 % |" in text
    assert "| -50 pt | 0.0123 USD |" in text
    assert "small: run m-small, 3 of 3 trials measured\n" in text
    assert "large: run m-large, 2 of 3 trials measured; stopped: budget; only 1 case(s) changed" in text.replace(
        "\\", ""
    )
    stream = io.StringIO()
    Console(file=stream, width=120, highlight=False).print(matrix_view(table))
    shown = stream.getvalue()
    assert "by model; the difference is from small" in shown
    assert "p50 and p95 of latency" in shown


def test_junit_has_the_times_of_trials_and_the_last_output_of_those_without_success(
    card: Card, manifest: Manifest
) -> None:
    cards = [card("a", category="x"), card("b", False, category="x"), card("c", category="y")]
    made = summarise(manifest(cards, release="r1"), cards)
    end = PrintedEnd(stream="stderr", lines=("Traceback", "Error"), kept_bytes=10, printed_bytes=20)
    out = PrintedEnd(stream="stdout", lines=("half",), kept_bytes=10, printed_bytes=10)
    failed = tuple(one.model_copy(update={"printed": (end, out)}) for one in made.failed)
    shown = made.model_copy(update={"failed": failed, "seconds": {"a/1": 1.5, "b/1": 0.25}, "provenances": {"hand": 1}})
    root = ET.fromstring(junit_xml(shown, cards))
    assert {"a/1": "1.500", "b/1": "0.250", "c/1": None} == {
        str(one.get("name")): one.get("time") for one in root.iter("testcase")
    }
    assert [("x", "1.750", "2", "1"), ("y", None, "1", "0")] == [
        (one.get("name"), one.get("time"), one.get("tests"), one.get("failures")) for one in root.iter("testsuite")
    ]
    assert "1.750" == root.get("time")
    [error] = root.iter("system-err")
    [output] = root.iter("system-out")
    assert ["Traceback", "Error"] == (error.text or "").splitlines()[1:]
    assert "half" == output.text
    properties = {one.get("name"): one.get("value") for one in root.iter("property")}
    assert ("run", "r1", "1 written by hand") == (
        properties["run"],
        properties["release"],
        properties["provenance"],
    )


def test_a_case_without_a_check_is_skipped_in_junit(card: Card, manifest: Manifest) -> None:
    cards = [card("a", None, verdicts=())]
    [test] = ET.fromstring(junit_xml(summarise(manifest(cards), cards), cards)).iter("testcase")
    assert [("skipped", "the case has no check")] == [(part.tag, part.get("message")) for part in test]
