"""Servers that a live run starts by itself, and ends."""

import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from harness.runs.store.folder import RunFolder
from tests.drift.conftest import Project
from tests.drift.shop import Shop
from tests.walks.conftest import HARNESS

SERVER = """
import http.server, os, sys

class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        said = b'{"id": 1, "name": "Biscuit"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)
    do_HEAD = do_GET

print("the key is", os.environ.get("SHOP_KEY"), flush=True)
if sys.argv[2:] == ["broken"]:
    sys.exit("no database")
if sys.argv[2:] == ["dies"]:
    Answers.do_GET = lambda self: os._exit(7)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Answers).serve_forever()
"""
READ = [["get_item", {"id": 1}]]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    return Project(tmp_path, Shop(url=f"http://127.0.0.1:{port}"))


def write(project: Project, *more: str) -> None:
    """The server stands behind a shell, as one of a group."""
    command = ["sh", "-c", f"python3 server.py {project.shop.url.rpartition(':')[2]} {' '.join(more)}; exit $?"]
    server = {"base_url": project.shop.url, "disposable": True, "command": command}
    project.write({"one": READ}, servers={"shop": server}, secrets=["SHOP_KEY"])
    (project.suite / "server.py").write_text(SERVER)


def answers(project: Project) -> bool:
    try:
        socket.create_connection(("127.0.0.1", int(project.shop.url.rpartition(":")[2])), 1).close()
    except OSError:
        return False
    return True


def test_it_answers_a_live_run_and_a_check_for_drift_and_is_gone_after_each(project: Project) -> None:
    write(project)
    project.record()
    assert not answers(project)
    assert "1 recorded calls compared" in project.type("drift", "probe", "s", "--no-learn")
    assert not answers(project)
    (project.suite / "server.py").write_text("raise SystemExit(1)")
    project.type("run", "s", "--sandbox", "local", "--run-name", "replayed")
    assert ["finished"] == [one.trial.outcome for one in RunFolder.open(project.folder / "runs/replayed").trials()]


def test_one_that_does_not_start_or_whose_address_is_taken_is_told_before_any_trial(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_KEY", "a-long-secret-value")
    write(project, "broken")
    said = project.live("r", status=3)
    assert "'shop'" in said
    assert "no database" in said
    assert "a-long-secret-value" not in said
    with socket.create_server(("127.0.0.1", int(project.shop.url.rpartition(":")[2]))):
        assert f"something answers at {project.shop.url} already" in project.live("r", status=3)
    assert not (project.folder / "runs" / "r").exists()


@pytest.mark.slow
def test_one_that_dies_is_named_with_its_status(project: Project) -> None:
    write(project, "dies")
    assert "'shop'" in (said := project.live("r", status=3))
    assert "status 7" in said


@pytest.mark.slow
def test_ctrl_c_ends_it_with_its_group(project: Project) -> None:
    write(project)
    (project.suite / "agent" / "agent.py").write_text("import time; time.sleep(60)")
    words = ("run", "s", "--live", "tools", "--sandbox", "local")
    with subprocess.Popen([HARNESS, *words], cwd=project.folder, stderr=subprocess.PIPE) as running:
        until = time.monotonic() + 60
        while not list((project.folder / "runs").glob("*/manifest.json")) and time.monotonic() < until:
            time.sleep(0.2)
        assert answers(project)
        running.send_signal(signal.SIGINT)
        assert 130 == running.wait(timeout=60)
    assert not answers(project)
