"""The harness reaches for nothing but what it was told to: every address is noted by a hook of the interpreter."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.starting import HARNESS

WATCHED = Path(__file__).with_name("watched")
_REACH = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(('192.0.2.1', 9))"


def reached(folder: Path, *command: str | Path, status: int = 0) -> list[str]:
    """Whom the command and what it started reached for, Unix sockets and this machine's loopback left out."""
    noted = folder / "noted"
    noted.write_text("", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(WATCHED), "WATCHED": str(noted)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert status == done.returncode, done.stdout + done.stderr
    lines = noted.read_text(encoding="utf-8").splitlines()
    near = ("'127.0.0.1'", "'::1'", "'localhost'")
    return [
        line for line in lines if not (line.split(" ", 1)[1].startswith(("'/", "b'/")) or any(n in line for n in near))
    ]


def test_what_is_reached_for_is_noted(tmp_path: Path) -> None:
    assert ["socket.connect ('192.0.2.1', 9)"] == reached(tmp_path, sys.executable, "-c", _REACH)


@pytest.mark.slow
def test_a_project_is_made_run_reported_and_judged_without_reaching_for_anybody(tmp_path: Path) -> None:
    assert [] == reached(tmp_path, HARNESS, "init", ".")
    assert [] == reached(tmp_path, HARNESS, "run", "hello", "--sandbox", "local", "--run-name", "first")
    assert [] == reached(tmp_path, HARNESS, "report", "first", "--html", "-o", "page.html")
    assert [] == reached(tmp_path, HARNESS, "score", "first")
    assert [] == reached(tmp_path, HARNESS, "--version")
    assert [] == reached(tmp_path, HARNESS, "issue", "list")
