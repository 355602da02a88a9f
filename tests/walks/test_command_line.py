"""The command line itself: help, errors, a first project, and what help must not import."""

import os
import subprocess
import sys

import pytest

from tests.walks.conftest import HARNESS, Walk


def test_help_imports_no_heavy_room() -> None:
    program = """
import sys
from harness.cli.main import harness
harness.main(["--help"], standalone_mode=False)
heavy = {"docker", "vcr", "opentelemetry", "aiohttp", "testcontainers", "pydantic", "rich", "yaml", "ray", "pathlib"}
heavy &= set(sys.modules)
sys.exit(f"imported: {heavy}" if heavy else 0)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (0, "") == (done.returncode, done.stderr)


def test_the_module_is_the_command(walk: Walk) -> None:
    as_module = subprocess.run([sys.executable, "-m", "harness", "--version"], capture_output=True, text=True)
    as_command = subprocess.run([HARNESS, "--version"], capture_output=True, text=True)
    assert (0, as_command.stdout) == (as_module.returncode, as_module.stdout)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("image", "build", "nowhere"), "there is no image 'nowhere'"),
        (("run",), "none is named"),
        (("run", "nowhere"), "there is no suite 'nowhere'"),
        (("runn",), "No such command 'runn'"),
        (("run", "s", "--sandbox", "moon"), "there is no sandbox named 'moon'"),
        (("run", "--resume", "nothing"), "'nothing' is "),
        (("report", "nothing"), "'nothing' is "),
        (("snapshot", "build", "nowhere", "x"), "there is no environment 'nowhere'"),
    ],
)
def test_a_wrong_word_is_answered_with_what_is_wrong(walk: Walk, words: tuple[str, ...], message: str) -> None:
    refused = walk(*words, status=2)
    assert message in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_first_project_runs_as_it_is_and_is_never_overwritten(walk: Walk) -> None:
    walk("init", "mine")
    refused = walk("init", "mine", status=2)
    assert "mine" in refused.stderr
    inside = Walk(walk.folder / "mine/suites/hello/agents")
    assert 2 == inside.summary("run", "hello", "--sandbox", "local")["success"]["successes"]
    assert 1 == len(list((walk.folder / "mine/runs").iterdir()))
    suite = walk.folder / "mine/suites/hello/suite.yaml"
    program = suite.parent / "agents/v1/main.py"
    program.write_text("")
    assert "no gate is set" in inside("run", "hello", "--sandbox", "local").stderr
    gated = ("run", "hello", "--sandbox", "local", "--fail-under", "task_success=1")
    assert "no gate is set" not in inside(*gated, status=1).stderr
    before, place, after = suite.read_text(encoding="utf-8").partition("    command: ")
    suite.write_text(f"{before}    image: nowhere\n{place}{after}", encoding="utf-8")
    line = before.count("\n") + 1
    assert f"suite.yaml:{line}: field 'agents.v1.image': there is no image" in inside("run", "hello", status=2).stderr


@pytest.mark.slow
def test_without_an_engine_the_demo_says_so_and_runs_in_the_local_sandbox(drive_thru: Walk) -> None:
    program = [sys.executable, "-m", "qa.demo", "drive_thru"]
    environment = {**os.environ, "DOCKER_HOST": "unix:///nonexistent/docker.sock"}
    done = subprocess.run(program, cwd=drive_thru.folder, env=environment, capture_output=True, text=True, check=True)
    assert "container engine" in done.stderr
    assert "NOT isolated" in done.stderr
    assert "passed 32 % → 88 %" in done.stdout


def test_without_an_engine_a_run_in_containers_says_what_to_do(drive_thru: Walk) -> None:
    refused = drive_thru("run", "drive_thru", env={"DOCKER_HOST": "unix:///nonexistent/docker.sock"}, status=3)
    assert "--sandbox local" in refused.stderr
