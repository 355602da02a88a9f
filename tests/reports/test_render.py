"""Renderings: the same figures everywhere, the same bytes each time, and no agent's text steers a reader."""

import html
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console, RenderableType

from harness.reports.compare import compare
from harness.reports.render.markdown import (
    comparison_json,
    comparison_markdown,
    junit_xml,
    summary_json,
    summary_markdown,
    write_report,
)
from harness.reports.render.terminal import SummaryView, comparison_view, first_comparison, first_report
from harness.reports.summarising import summarise, summarise_run
from harness.reports.summary import Summary
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import RunManifest
from harness.scoring.evidence import Verdict
from harness.scoring.scorecard import Scorecard
from harness.suite.suites import Gates
from harness.traces.trajectory import Trajectory
from harness.traces.trial import Trial

Card = Callable[..., Scorecard]
Manifest = Callable[..., RunManifest]

HOSTILE = "\x1b[2J\x07 <script> | [x](y) [bold]&\x00 \udcff ]]> \u202e`*\r\n# heading"


def printed(view: RenderableType, width: int = 80) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width, highlight=False).print(view)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


@pytest.fixture
def cards(card: Card) -> list[Scorecard]:
    return [
        card("a-1", True, category="not_on_menu"),
        card("a-2", False, category="not_on_menu"),
        card("b-1", None, category="simple", outcome="inconclusive", reason="1 call(s) met no recording"),
    ]


@pytest.fixture
def summary(cards: list[Scorecard], manifest: Manifest) -> Summary:
    near: Any = {"tool": "find", "arguments": {"q": "a"}, "difference": "/q differs"}
    missed = Trial(
        case_id="b-1",
        attempt=1,
        outcome="inconclusive",
        trajectory=Trajectory(trace_id="t", agent="a", steps=()),
        misses=({"tool": "find", "arguments": {"q": "b"}, "nearest": [near]},),
        tiers={"exact": 4, "exact_reused": 1, "miss": 1},
    )
    return summarise(manifest(cards, isolates=False, provider="local"), cards, trials=[missed])


def test_the_terminal_shows_scores_what_was_not_measured_and_where_the_report_is(summary: Summary) -> None:
    expected = """\
        drive_thru · v1                                                              run
        suite     drive_thru dddddddddddd
        agent     v1 aaaaaaaaaaaa
        answers   tools replay, no model
        sandbox   local: NOT isolated from this machine
        snapshot  breakfast eeeeeeeeeeee

        1/2 passed = 50 % (95 %: 9 to 91 %); unknown for 1 of 3
        2 of 3 trials measured

        1 of 3 trials not measured: 1 inconclusive; they are in no figure
          b-1/1  inconclusive: 1 call(s) met no recording
        no recording answers 1 call(s) of find, first {"q":"b"}
          nearest  find({"q":"a"}): /q differs
        record the missing answers:  harness record drive_thru --agent v1

        by category
        own
        category trials passed % 95 % figure

        not on menu 2 1/2 50 % 9 to 91 % 0.5
        simple 1 - (1 unknown) - -

        by metric
        metric mean 95 % known for

        own_figure 0.5 0 to 1 2 of 2

        did not pass
          a-2/1  k: as seen

        tool answers: 4 exact, 1 exact reused, 1 miss; replay fidelity 83 %
        report  runs/run/report/summary.md
        """

    actual = printed(SummaryView(summary, "runs/run/report/summary.md"))

    assert squeezed(actual) == squeezed(dedent(expected))


@pytest.mark.parametrize("width", [60, 100])
def test_a_first_report_has_at_most_25_lines_with_what_failed_and_why(
    card: Card, manifest: Manifest, width: int
) -> None:
    def many(success: bool) -> list[Scorecard]:
        broken = [card(f"broken-{n}", None, outcome="harness_failed", reason="x " * 90) for n in range(30)]
        return [*(card(f"case-{n}", success, figures={"own_figure": n}) for n in range(30)), *broken]

    lost = many(False)
    for view, first in (
        (first_report(summarise(manifest(lost), lost), "runs/run/report/summary.md"), "case-0/1"),
        (first_comparison(compare(manifest(lost), many(True), manifest(lost), lost), "before"), "case-0/1"),
    ):
        lines = printed(view, width).splitlines()
        assert 20 < len(lines) <= 25
        assert any(first in line and "k: as seen" in line for line in lines)
        assert "--all" in lines[-1]
        assert not any("own_figure" in line for line in lines)


def test_metrics_that_no_trial_knows_stand_in_one_line(card: Card, manifest: Manifest) -> None:
    cards = (card("a", figures={"redundancy": 0.0, "recovery": None, "plan_quality": None}),)
    actual = printed(SummaryView(summarise(manifest(cards), cards), "report/summary.md"))
    assert "known for no trial: recovery, plan quality" in actual
    assert "redundancy" in actual


def squeezed(text: str) -> list[str]:
    """Lines without their alignment: column widths are the table library's."""
    return [" ".join(line.replace("─", "").split()) for line in text.splitlines()]


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_wider_than_the_terminal_and_none_is_coloured_where_there_is_no_terminal(
    card: Card, manifest: Manifest, width: int
) -> None:
    figures = dict.fromkeys(("order_correctness", "no_hallucinated_items", "completion", "step_efficiency"), 0.5)
    many = [card(f"order-correctness-{i:03d}", i % 2 == 0, category="c" * 20, figures=figures) for i in range(30)]
    shown = summarise(manifest(many), many)

    output = printed(SummaryView(shown), width) + printed(
        comparison_view(compare(manifest(many), many, manifest(many), many)), width
    )

    assert max(map(len, output.splitlines())) <= width
    assert "\x1b" not in output
    assert "and 5 more, in the report" in output
    assert ("hallucinated" in output.split("by metric")[0]) == (width == 120)


def test_an_agents_text_cannot_steer_a_terminal_or_break_a_file_format(card: Card, manifest: Manifest) -> None:
    verdict = Verdict(check="k", verifier="v", version="1", passed=False, reason=HOSTILE)
    cards = [
        card("a", False, category=HOSTILE, verdicts=(verdict,)),
        card("b", None, category=HOSTILE, outcome="harness_failed", reason=HOSTILE),
    ]
    shown = summarise(manifest(cards, release=HOSTILE), cards)
    difference = compare(manifest(cards), cards, manifest(cards, "other"), [card("a", True), cards[1]])

    everything = {
        "terminal": printed(SummaryView(shown)) + printed(comparison_view(difference)),
        "markdown": summary_markdown(shown) + comparison_markdown(difference),
        "junit": junit_xml(shown, cards),
        "json": summary_json(shown) + comparison_json(difference),
    }

    for kind, text in everything.items():
        text.encode()
        bad = {char for char in text if not char.isprintable() and char != "\n"}
        assert (kind, bad) == (kind, set())
    assert "<script>" not in everything["markdown"].replace("\\<script\\>", "")
    assert "\n# heading" not in everything["markdown"]
    tables = [line for line in everything["markdown"].splitlines() if line.startswith("| ") and "script" in line]
    assert {line.replace("\\|", "").count("|") for line in tables} == {7, 10}
    assert ET.fromstring(everything["junit"]).get("tests") == "2"


def test_junit_tells_failures_errors_and_skipped_trials_apart(card: Card, manifest: Manifest) -> None:
    cards = [
        card("ok"),
        card("bad", False),
        card("broken", None, outcome="harness_failed", reason="no engine"),
        card("missed", None, outcome="inconclusive", reason="no recording"),
        card("unknown", None),
    ]
    root = ET.fromstring(junit_xml(summarise(manifest([*cards, card("never")]), cards), cards))

    found = {test.get("name"): [(part.tag, part.get("message")) for part in test] for test in root.iter("testcase")}

    assert found == {
        "ok/1": [],
        "bad/1": [("failure", "k: as seen")],
        "broken/1": [("error", "no engine")],
        "missed/1": [("error", "no recording")],
        "unknown/1": [("error", "k: as seen")],
        "never/1": [("error", "the run ended before this trial")],
    }
    assert [root.get(key) for key in ("tests", "failures", "errors", "skipped")] == ["6", "1", "4", "0"]


@pytest.mark.parametrize(("allowed", "tag"), [(0, "error"), (1, "error"), (2, "skipped")])
def test_junit_takes_inconclusive_trials_as_the_exit_status_does(
    card: Card, manifest: Manifest, allowed: int, tag: str
) -> None:
    cards = [card(name, None, outcome="inconclusive", reason="no recording") for name in ("a", "b")]
    gated = manifest(cards).model_copy(update={"gates": Gates(max_inconclusive=allowed)})
    root = ET.fromstring(junit_xml(summarise(gated, cards), cards))

    assert [tag, tag] == [part.tag for test in root.iter("testcase") for part in test]


def test_json_holds_every_field_of_the_summary(summary: Summary) -> None:
    assert Summary.model_validate(json.loads(summary_json(summary))) == summary


def test_markdown_mentions_nobody_and_leads_nowhere(card: Card, manifest: Manifest) -> None:
    """Trackers look for names, numbers and addresses in the text that is shown, after escapes and entities."""
    said = "ask @everyone or @org/team, see #12, GH-7, !3 at https://x.example/a and www.example.com, a@b.example"
    verdict = Verdict(check="k", verifier="v", version="1", passed=False, reason=said)
    cards = [card("a", False, verdicts=(verdict,))]
    text = summary_markdown(summarise(manifest(cards), cards))
    shown = html.unescape(re.sub(r"\\([^\w\s])", r"\1", text))

    assert "everyone" in shown
    assert None is re.search(r"@\w|[#!]\d|GH-\d|://|www\.", shown)


def test_markdown_names_what_terminal_names(summary: Summary) -> None:
    text = summary_markdown(summary)

    assert "**1/2 passed = 50 % (95 %: 9 to 91 %); unknown for 1 of 3**; 2 of 3 trials measured." in text
    assert "## 1 of 3 trials not measured: 1 inconclusive" in text
    assert "- b-1/1 inconclusive: 1 call(s) met no recording" in text.splitlines()
    assert "| not on menu | 2 | 1/2 | 50 % | 9 to 91 % | 0.5 |" in text
    assert "Record the missing answers: `harness record drive_thru --agent v1`" in text
    assert "- a-2/1: k: as seen" in text
    lines = text.splitlines()
    separators = [number for number, line in enumerate(lines) if line.startswith("|---")]
    assert separators
    assert all(lines[at].count("|") == lines[at - 1].count("|") for at in separators)


def test_what_a_dead_service_printed_last_is_shown_and_steers_no_reader(card: Card, manifest: Manifest) -> None:
    cards = [card("a", None, outcome="harness_failed", reason="service 'desk' ended")]
    nothing = Trajectory(trace_id="", agent="a", steps=())
    last = "out of paper " + HOSTILE.replace("\r\n", " ")
    logs = {"desk": f"began\n{last}", "mute": ""}
    died = Trial(case_id="a", attempt=1, outcome="harness_failed", trajectory=nothing, service_logs=logs)
    shown = summarise(manifest(cards), cards, trials=[died])

    terminal, markdown = printed(SummaryView(shown), 200), summary_markdown(shown)

    assert "a/1  service mute: printed nothing" in terminal
    assert "  - service mute: printed nothing" in markdown.splitlines()
    for text in (terminal, markdown):
        assert "began" not in text
        assert {"\n"} == {char for char in text if not char.isprintable()}
        assert "out of paper" in text
    assert "\\[x\\](y)" in markdown


def test_the_same_run_folder_gives_the_same_bytes(tmp_path: Path, cards: list[Scorecard], manifest: Manifest) -> None:
    def stored(root: Path, order: list[Scorecard]) -> dict[str, bytes]:
        with RunFolder.create(root, manifest(cards)) as folder:
            for one in order:
                trajectory = Trajectory(trace_id="t", agent="a", steps=())
                trial = Trial(case_id=one.case_id, attempt=1, outcome=one.outcome, trajectory=trajectory)
                folder.commit(trial, (), one)
            where = write_report(folder, summarise_run(folder))
            first = {path.name: path.read_bytes() for path in where.parent.iterdir()}
            write_report(folder, summarise_run(folder))
            assert {path.name: path.read_bytes() for path in where.parent.iterdir()} == first
        return first

    one = stored(tmp_path / "one", cards)
    other = stored(tmp_path / "other", cards[::-1])

    assert sorted(one) == ["junit.xml", "summary.json", "summary.md"]
    assert one == other
