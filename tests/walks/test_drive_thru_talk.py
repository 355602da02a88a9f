"""The conversations at the drive-thru, replayed; and what overlays do to them."""

import re
from pathlib import Path

import pytest

from tests.walks.conftest import Walk

CASES = "suites/drive_thru_talk/cases.yaml"


def edit(walk: Walk, before: str, after: str) -> None:
    path: Path = walk.folder / CASES
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.docker
def test_six_conversations_are_replayed_to_their_end_and_the_same_each_time(drive_thru: Walk) -> None:
    summary = drive_thru.summary("run", "drive_thru_talk", "--trials", "2", "--jobs", "2", "--run-name", "talk")
    assert (12, 12) == (summary["success"]["n"], summary["success"]["successes"])
    assert ([], 1.0, 2) == (summary["unsaid_turns"], summary["fidelity"], summary["tiers"]["fixture"])
    spoken = [step["source"] for step in drive_thru.trial("talk", "talk-confirm")["trajectory"]["steps"]]
    assert 3 == spoken.count("user")


@pytest.mark.slow
def test_a_fault_is_met_and_marked_and_one_that_is_not_met_is_told(drive_thru: Walk) -> None:
    kept = (drive_thru.folder / CASES).read_bytes()
    edit(
        drive_thru,
        "- id: talk-modify\n",
        "- id: talk-modify\n  faults:\n"
        "    - {tool: finalize_order, call: 1, kind: http_status, status: 503}\n"
        "    - {tool: get_order, call: 3, kind: timeout}\n",
    )
    try:
        words = ("run", "drive_thru_talk", "--case", "talk-modify", "--sandbox", "local")
        shown = drive_thru(*words, "--run-name", "struck").stdout
        assert "talk-modify/1: timeout at get_order, call 3" in " ".join(shown.split())
        steps = drive_thru.trial("struck", "talk-modify")["trajectory"]["steps"]
        struck = [seen for step in steps for seen in step["observations"] if seen["injected"]]
        assert [("http_status", "tool_unavailable", "fault")] == [
            (seen["injected"], seen["error"]["type"], seen["replayed"]) for seen in struck
        ]
        checked = drive_thru(
            "case", "check", "drive_thru_talk", "--case", "talk-modify", "--live", "none", "--sandbox", "local"
        )
        # The oracle makes a struck call again, so that it is the case that is judged.
        assert re.search("talk-modify: warning: .* timeout at get_order, call 3", checked.stdout)
    finally:
        (drive_thru.folder / CASES).write_bytes(kept)
