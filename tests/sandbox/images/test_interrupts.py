"""Interrupting a build leaves nothing half-made: no tag, no container, no file, no process."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.sandbox.engine import connect
from harness.sandbox.images.building import debian_tag

Project = Callable[..., Path]

BUILD = """
import pathlib, sys
from harness.sandbox.images.store import ImageStore
ImageStore(pathlib.Path(sys.argv[1])).build(sys.argv[2], lambda line: print(line, flush=True))
"""
BOOTSTRAP = """
import sys
from harness.sandbox.images.building import make_debian
from harness.sandbox.images.building import debian_tag
from harness.sandbox.engine import connect
make_debian(connect(), lambda line: print(line, flush=True))
"""
STAND_IN = """#!/bin/sh
# Behaves like mmdebstrap in the middle of its work: files in TMPDIR, a child, and a tidy end when it is told to.
mkdir -p "$TMPDIR/mmdebstrap.x/proc"
sleep 300 &
trap 'rm -r "$TMPDIR/mmdebstrap.x"; kill $!; exit 1' TERM
echo "I: extracting archives..." >&2
wait
"""


def interrupted(
    code: str, *arguments: str, at: str, env: dict[str, str] | None = None, how: int = signal.SIGINT
) -> int:
    """Runs Python code, interrupts it when it prints a line with `at`, and gives its exit status."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    )
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if at in line:
            break
    assert lines, process.communicate()
    assert at in lines[-1]
    time.sleep(0.5)  # the step itself begins after it is announced
    process.send_signal(how)
    process.communicate(timeout=60)
    return process.returncode


def gone_within_s(seconds: float, look: Callable[[], object]) -> object:
    """What `look` still finds when it finds nothing, or when the time is over."""
    until = time.monotonic() + seconds
    while (found := look()) and time.monotonic() < until:
        time.sleep(0.1)
    return found


@pytest.mark.slow
@pytest.mark.docker
def test_an_interrupted_build_leaves_no_tag_and_no_container(base: str, project: Project, name: str) -> None:
    marker = f"sleep 3{name[-4:].translate(str.maketrans('abcdef', '012345'))}"
    root = project(**{f"{name}/Dockerfile": f"ARG BASE=base\nFROM ${{BASE}}\nRUN {marker}\n"})
    client = connect()

    def containers() -> list[str]:
        found = client.api.containers(all=True)
        return [container["Id"] for container in found if marker in container["Command"]]

    status = interrupted(BUILD, str(root), name, at=marker)

    assert -signal.SIGINT == status
    assert [] == gone_within_s(15, containers)
    assert [] == client.api.images(f"harness/{name}")
    client.close()


def processes_with(temporary: Path) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"TMPDIR={temporary}".encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue  # it has just ended
    return found


@pytest.fixture
def stand_in(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A folder for temporary files, and the variables with which a bootstrap takes the stand-in and that folder."""
    programs, temporary = tmp_path / "bin", tmp_path / "tmp"
    programs.mkdir()
    temporary.mkdir()
    (programs / "mmdebstrap").write_text(STAND_IN)
    (programs / "mmdebstrap").chmod(0o755)
    return temporary, {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "TMPDIR": str(temporary),
        "HARNESS_DEBIAN_MIRROR": "http://mirror.invalid",
    }


@pytest.mark.slow
@pytest.mark.docker
def test_two_processes_that_need_one_image_build_it_once(base: str, project: Project, name: str) -> None:
    root = project(**{f"{name}/Dockerfile": "ARG BASE=base\nFROM ${BASE}\nRUN sleep 1\n"})
    command = [sys.executable, "-c", BUILD, str(root), name]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]

    said = sorted(process.communicate(timeout=60)[0].count("building image") for process in both)

    assert ([0, 1], [0, 0]) == (said, [process.returncode for process in both])


@pytest.mark.slow
@pytest.mark.docker
def test_an_interrupted_bootstrap_leaves_no_file_no_process_and_no_tag(stand_in: tuple[Path, dict[str, str]]) -> None:
    temporary, env = stand_in
    client = connect()
    before = client.api.images(debian_tag(), quiet=True)

    status = interrupted(BOOTSTRAP, at="extracting archives", env=env)

    assert -signal.SIGINT == status
    assert [] == list(temporary.iterdir())
    assert [] == gone_within_s(5, lambda: processes_with(temporary))
    assert before == client.api.images(debian_tag(), quiet=True)
    client.close()


@pytest.mark.slow
@pytest.mark.docker
def test_what_a_killed_bootstrap_leaves_is_removed_by_the_next(stand_in: tuple[Path, dict[str, str]]) -> None:
    temporary, env = stand_in
    assert -signal.SIGKILL == interrupted(BOOTSTRAP, at="extracting archives", env=env, how=signal.SIGKILL)
    assert [] == gone_within_s(5, lambda: processes_with(temporary))
    assert 1 == len(list(temporary.iterdir()))

    interrupted(BOOTSTRAP, at="extracting archives", env=env)

    assert [] == list(temporary.iterdir())


@pytest.mark.slow
@pytest.mark.docker
def test_a_failing_bootstrap_shows_what_it_said_and_leaves_no_file(stand_in: tuple[Path, dict[str, str]]) -> None:
    temporary, env = stand_in
    program = Path(env["PATH"].partition(":")[0]) / "mmdebstrap"
    program.write_text("#!/bin/sh\necho 'E: mirror is unreachable' >&2\nexit 25\n")

    ended = subprocess.run([sys.executable, "-c", BOOTSTRAP], env={**os.environ, **env}, capture_output=True, text=True)

    assert "25:\nE: mirror is unreachable\n  -> " in ended.stderr
    assert [] == list(temporary.iterdir())


@pytest.mark.docker
def test_where_mmdebstrap_is_missing_the_exact_command_is_named(tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": str(tmp_path), "HARNESS_DEBIAN_MIRROR": "http://mirror.invalid"}

    ended = subprocess.run([sys.executable, "-c", BOOTSTRAP], env=environment, capture_output=True, text=True)

    assert "as root: apt-get install --yes --no-install-recommends mmdebstrap" in ended.stderr
