"""A real run is watched while it goes on, and stopped from the app."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from harness.cli.view import app_pages
from harness.reports.pages.server import ViewServer
from harness.runs.store.beside_trials import in_flight, stop_of
from harness.runs.store.folder import RunFolder
from tests.reports.app.client import entered

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


def _project(folder: Path) -> Path:
    for name in ("suites", "cassettes", "images", "snapshots"):
        shutil.copytree(ROOT / name / "drive_thru", folder / name / "drive_thru")
    return folder


def _until_there(path: Path, process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 120
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _first_step(client: httpx.Client) -> list[dict[str, object]]:
    """The trials in flight, when one of them has made a step."""
    with client.stream("GET", "/live/now", timeout=60) as events:
        for line in events.iter_lines():
            if line.startswith("data: "):
                trials = json.loads(line.removeprefix("data: ")).get("trials", [])
                if any("last" in one["words"] for one in trials):
                    return list(trials)
    raise AssertionError("no step was seen before the run ended")


def test_a_run_is_followed_step_by_step_and_stopped(tmp_path: Path) -> None:
    project = _project(tmp_path)
    line = ["run", "drive_thru", "--sandbox", "local", "--jobs", "2", "--trials", "40", "--run-name", "now"]
    command = [sys.executable, "-m", "harness", "--project", str(project), *line]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        run = project / "runs" / "now"
        _until_there(run / "manifest.json", process)
        with ViewServer(project, app_pages()) as server, entered(server) as client:
            seen = _first_step(client)
            assert 1 <= len(seen) <= 2
            assert "Stop after the trials in flight" in client.get("/runs/now").text
            assert 200 == client.post("/runs/now/stop").status_code
            output, _ = process.communicate(timeout=120)
            page = client.get("/runs/now").text
    finally:
        process.kill()
        process.wait()
    folder = RunFolder.open(run)
    stopped = stop_of(folder)
    assert stopped is not None, output
    assert 0 < len(folder.committed()) < len(folder.manifest.planned)
    assert "Stopped before its plan was complete" in page
    assert () == in_flight(run), "nothing is in flight any more"
    folder.verify()
