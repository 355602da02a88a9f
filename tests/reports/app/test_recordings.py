"""From a step to the recording that answered it, and the calls that no recording answers."""

import shutil
from pathlib import Path

import pytest

from harness.cassettes.check import ShownRecording, cassette_paths, shown_cassette
from harness.cli.view import app_pages
from harness.reports.pages.server import ViewServer
from harness.runs.store.folder import RunFolder
from harness.traces.trajectory import Observation, Step, ToolCall, Trajectory
from harness.traces.trial import Trial
from tests.reports.app.client import entered
from tests.reports.html.runs import HOSTILE, card, manifest, store, trial

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, int, ShownRecording]:
    """A project whose run replays one call of a real cassette; its case, the place of the recording, and itself."""
    project = tmp_path_factory.mktemp("recorded")
    shutil.copytree(ROOT / "cassettes" / "drive_thru", project / "cassettes" / "drive_thru")
    path = cassette_paths(project / "cassettes", "drive_thru")[0]
    place, one = next((place, one) for place, one in enumerate(shown_cassette(path).recordings) if one.kind == "tool")
    assert isinstance(one.arguments, dict)
    seen = Observation(call_id="c", content="x", replayed="exact")
    steps = (
        Step(index=0, source="user", message="hello"),
        Step(
            index=1,
            source="agent",
            calls=(
                ToolCall(id="c", name=one.tool, arguments=one.arguments),
                ToolCall(id="d", name="none", arguments={}),
            ),
            observations=(seen, Observation(call_id="d", content="y", replayed="exact")),
        ),
    )
    own = Trial(
        case_id=path.stem,
        attempt=1,
        outcome="finished",
        trajectory=Trajectory(trace_id="t", agent="s", steps=steps),
    )
    keys = [(path.stem, 1)]
    with RunFolder.create(project / "runs", manifest(keys, "now", suite="drive_thru")) as folder:
        folder.commit(own, (), card(path.stem, 1, success=True, said="x"))
    return project, path.stem, place, one


def test_a_replayed_call_leads_to_its_recording(recorded: tuple[Path, str, int, ShownRecording]) -> None:
    project, case, place, one = recorded
    with ViewServer(project, app_pages()) as server, entered(server) as client:
        page = client.get(f"/runs/now/trials/{case}/1").text
        assert f'data-load="/runs/now/trials/{case}/1/recordings/1/0"' in page
        part = client.get(f"/runs/now/trials/{case}/1/recordings/1/0").text
        anchor = f"/cassettes/drive_thru/{case}#recording-{place}"
        assert part.index(f'href="{anchor}"') < part.index("other recordings") if "other" in part else anchor in part
        assert one.provenance in part
        assert f'id="recording-{place}"' in client.get(f"/cassettes/drive_thru/{case}").text
        assert "No recording has the arguments" in client.get(f"/runs/now/trials/{case}/1/recordings/1/1").text
        for bad in ("1/2", "9/0", "1/x"):
            assert 404 == client.get(f"/runs/now/trials/{case}/1/recordings/{bad}").status_code


def test_calls_without_a_recording_are_shown_over_all_runs_with_the_nearest(tmp_path: Path) -> None:
    nearest = [{"tool": "look_up", "arguments": {"query": "eggs"}, "difference": "query: 'eggs' is recorded"}]
    miss = {"tool": "look_up", "arguments": {"query": HOSTILE}, "nearest": nearest}
    other = {"tool": "pay", "arguments": {}, "nearest": []}
    for run in ("one", "two"):
        keys = [("case-0000", 1), ("case-0001", 1)]
        with RunFolder.create(tmp_path / "runs", manifest(keys, run)) as folder:
            for number, (case, attempt) in enumerate(keys):
                own = trial(case, attempt, "x", {}).model_copy(
                    update={"outcome": "inconclusive", "misses": (miss, other) if number else (miss,)}
                )
                ended = card(case, attempt, success=True, said="x").model_copy(
                    update={"outcome": "inconclusive", "success": None}
                )
                folder.commit(own, (), ended)
    store(tmp_path / "runs", "sound", trials=1)
    with ViewServer(tmp_path, app_pages()) as server, entered(server) as client:
        text = client.get("/misses").text
        assert 'href="/misses"' in client.get("/cassettes").text
        assert "had a recording" in client.get("/misses?suite=none").text
    rows = text.partition("<tbody>")[2].split("<tr>")[1:]
    assert 3 == len(rows)
    assert 2 == sum("is recorded" in row for row in rows)
    assert 1 == sum("has none of this tool" in row for row in rows)
    assert all('<td class="num">2</td>' in row for row in rows), "each in both runs"
    assert "<img src=x" not in text


def test_a_damaged_run_costs_the_others_nothing(tmp_path: Path) -> None:
    store(tmp_path / "runs", "torn", trials=1)
    (tmp_path / "runs" / "torn" / "trials" / "case-0000" / "1" / "scorecard.json").write_text("{}")
    with ViewServer(tmp_path, app_pages()) as server, entered(server) as client:
        answer = client.get("/misses")
    assert (200, True) == (answer.status_code, "its checksum" in answer.text)
