"""Tables that every rendering shows alike: which are shown, their columns, and their notes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.reports.compare import compare
from harness.reports.durations import Latency, Spread
from harness.reports.figures import FailureMode, Reliability, ToolRow
from harness.reports.named import run_rows, trial_rows
from harness.reports.render.markdown import comparison_markdown, summary_markdown
from harness.reports.render.sections import sections
from harness.reports.summarising import summarise
from harness.reports.summary import Summary
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import RunManifest
from harness.scoring.evidence import Verdict
from harness.scoring.scorecard import Diagnosis, Scorecard
from harness.traces.trajectory import Trajectory
from harness.traces.trial import Trial

Card = Callable[..., Scorecard]
Manifest = Callable[..., RunManifest]


@pytest.fixture
def shown(card: Card, manifest: Manifest) -> Callable[..., dict[str, Any]]:
    """Title -> section, of a run of one trial with these fields in place of its own."""

    def build(**fields: Any) -> dict[str, Any]:
        cards = [card("a")]
        summary = summarise(manifest(cards), cards).model_copy(update={"tools": (), "latency": None} | fields)
        return {section.title: section for section in sections(summary)}

    return build


def tool(name: str = "find", **fields: Any) -> ToolRow:
    values = {"calls": 4, "trials": 1, "wrong": 0, "invalid": {}, "errors": 0, "recovered": 0, "faults": 0}
    return ToolRow.model_validate({"name": name, "misses": 0, "cost_usd": None} | values | fields)


def test_only_tables_with_something_in_them_are_shown(shown: Callable[..., dict[str, Any]]) -> None:
    assert [] == list(shown())


def test_columns_without_content_are_left_out_and_notes_name_what_is_wrong(
    shown: Callable[..., dict[str, Any]],
) -> None:
    assert (("tool", "calls"), (("find", "4"),), ()) == _parts(shown(tools=(tool(),))["tools"])
    rows = (
        tool(wrong=1, invalid={"missing": 2}, cost_usd=0.01234, latency=Spread(n=1, p50_ms=10.4, p95_ms=20.6)),
        tool("look", errors=3),
    )
    heads, cells, notes = _parts(shown(tools=rows)["tools"])
    assert ("tool", "calls", "wrong", "invalid", "errors", "p50", "p95", "cost") == heads
    assert (
        ("find", "4", "1", "2", "-", "0.0104 s", "0.0206 s", "0.0123 USD"),
        ("look", "4", "-", "-", "3", "-", "-", "-"),
    ) == cells
    assert ("find: invalid arguments: 2 missing",) == notes


def test_invalid_arguments_are_told_by_tool_and_by_model(shown: Callable[..., dict[str, Any]]) -> None:
    wrong = {"invalid": {"missing": 1}}
    found = shown(tools=(tool(**wrong),), models=(tool("m", **wrong),))
    assert ("find: invalid arguments: 1 missing",) == found["tools"].notes
    heads, _, notes = _parts(found["tool calls by model"])
    assert ("model", "tool calls", "invalid") == heads
    assert ("m: invalid arguments: 1 missing",) == notes


def _parts(section: Any) -> tuple[Any, Any, Any]:
    return section.heads, section.rows, section.notes


def test_failure_modes_have_their_share_and_an_example(shown: Callable[..., dict[str, Any]]) -> None:
    mode = FailureMode(
        failure="loop_trap", trials=1, failed_trials=1, measured=4, kinds={"repeated_call": 2}, examples=("a/1",)
    )
    unknown = mode.model_copy(update={"measured": 0})
    section = shown(failure_modes=(mode, unknown))["failure modes"]
    assert ("loop trap", "1", "25 %", "1", "repeated call 2") == section.rows[0]
    assert "-" == section.rows[1][2]
    silent = "cascading error, goal drift, premature commitment, tool hallucination"
    assert ("loop trap: a/1", "loop trap: a/1", f"not measured without a judge: {silent}") == section.notes


def test_reliability_and_latency_are_tables_of_what_was_measured(shown: Callable[..., dict[str, Any]]) -> None:
    one = Reliability(
        k=2, cases=5, at_least_one=0.8, at_least_one_interval=None, all_of_them=0.4, all_of_them_interval=None
    )
    spread = Spread(n=3, p50_ms=1234.5, p95_ms=2000.4)
    found = shown(reliability=(one,), latency=Latency(first_token=None, turn=spread, trial=spread))
    assert (("k = 2", "80 %", "", "40 %", "", "5"),) == found["reliability"].rows
    assert (("turn", "3", "1.23 s", "2 s"), ("trial", "3", "1.23 s", "2 s")) == found["latency"].rows


def test_a_comparison_in_markdown_names_each_trial_that_changed(card: Card, manifest: Manifest) -> None:
    before = [card("won", False), card("lost"), card("same"), card("hidden"), card("gone")]
    after = [card("won"), card("lost", False), card("same"), card("hidden", None), card("new")]
    own = {"planned": manifest(before).planned}
    text = comparison_markdown(compare(manifest(before, **own), before, manifest(after, "after", **own), after))
    assert text.startswith("# run → after\n")
    assert "- won/1 now passes\n" in text
    assert "- lost/1 now fails: k: as seen" in text
    assert "- hidden/1 passed before, cannot be determined now: k: as seen" in text
    assert "same/1" not in text
    assert "trials without a measured counterpart are omitted" in text
    assert "\nNothing else.\n" in text
    other = comparison_markdown(compare(manifest(before), before, manifest(before, "b", agent="v2"), before))
    assert "- agent: v1 → v2" in other
    assert "Nothing else." not in other
    assert "## Changed" not in other


def test_a_summary_in_markdown_shows_own_metrics_first_and_ends_with_what_to_be_careful_with(
    card: Card, manifest: Manifest
) -> None:
    cards = [card("a", figures={"own_figure": 0.25, "steps": 3.0})]
    made: Summary = summarise(manifest(cards), cards)
    text = summary_markdown(made.model_copy(update={"unsaid_turns": ("a/1: t",), "tiers": {"exact": 1}}))
    lines = text.splitlines()
    own, steps = (
        next(at for at, line in enumerate(lines) if line.startswith(f"| {name}")) for name in ("own", "steps")
    )
    assert own < steps
    assert "| 0.25 |" in lines[own]
    assert "Tool answers: 1 exact." in lines
    assert ["## Warnings", "", "- message that the scripted user did not send: a/1: t"] == lines[-3:]
    assert "## Warnings" not in summary_markdown(made)
    assert "not measured" not in text


def test_runs_and_trials_are_listed_newest_last_with_what_failed(
    tmp_path: Path, card: Card, manifest: Manifest
) -> None:
    loop = Diagnosis(
        failure="loop_trap", kind="repeated_call", origin_step=1, evidence="e", confidence=0.9, version="1"
    )
    unsure = Verdict(check="j", verifier="v", version="1", passed=None, reason="cannot tell")
    cards = [card("a"), card("b", False, diagnoses=(loop,)), card("c", None, verdicts=(unsure,))]
    folders = []
    for name, created, suite in (("new", "3", "s"), ("old", "1", "s"), ("other", "2", "t")):
        own = manifest(cards, name, created=created, suite=suite, variables={"m": "x"}, release="r")
        with RunFolder.create(tmp_path, own) as folder:
            for one in cards[:2] if name == "old" else cards:
                nothing = Trajectory(trace_id="t", agent="a", steps=())
                folder.commit(Trial(case_id=one.case_id, attempt=1, outcome="finished", trajectory=nothing), (), one)
        folders.append(RunFolder.open(folder.path))
    assert ["old", "other", "new"] == [row.run for row in run_rows(folders)]
    assert ["old", "new"] == [row.run for row in run_rows(folders, "s")]
    [new] = run_rows(folders, last=1)
    assert ("new", 3, 3, 1, 1) == (new.run, new.planned, new.scored, new.succeeded, new.failed)
    assert 2 == run_rows(folders)[0].scored
    rows = list(trial_rows(cards))
    assert ["a", "b", "c"] == [row.case_id for row in rows]
    assert ["b", "c"] == [row.case_id for row in trial_rows(cards, failed=True)]
    assert [(), (("k", False),), (("j", None),)] == [
        tuple((one.check, one.passed) for one in row.failed_checks) for row in rows
    ]
    assert [("repeated_call", 1)] == [(one.kind, one.origin_step) for one in rows[1].findings]
