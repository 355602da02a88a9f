"""What dead runs leave is found, told and removed; what living ones use is kept."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.processes import abandoned_partials, partial_name
from harness.sandbox.leftovers import left_in_project, left_on_machine, remove_all
from harness.sandbox.ownership import private_folder, remove_private_folder
from tests.cli.starting import run_command

STUBBORN = """
import signal, time
for one in (1, 2, 15):
    signal.signal(one, signal.SIG_IGN)
print("up", flush=True)
time.sleep(300)
"""
STARTS_ONE = f"""
import subprocess, sys
from harness.sandbox.ownership import owned_environment
child = subprocess.Popen([sys.executable, "-c", {STUBBORN!r}], env=owned_environment(), stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
sys.stdin.read()
"""
NAMES_A_HALF = "from harness.processes import partial_name; print(partial_name('cassette.yaml'))"


@contextmanager
def owner_of_a_program() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process that has started a program which ends by nothing but SIGKILL, and the program's process id."""
    with subprocess.Popen(
        [sys.executable, "-c", STARTS_ONE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        try:
            yield owner, pid
        finally:
            owner.kill()
            if Path(f"/proc/{pid}").exists():
                os.kill(pid, 9)


def test_programs_of_a_dead_owner_are_ended_and_those_of_a_living_one_go_on() -> None:
    with owner_of_a_program() as (dead, left), owner_of_a_program() as (_, kept):
        dead.kill()
        dead.wait()

        removed = [line for line in remove_all(left_on_machine()) if line.startswith(f"process {left} ")]

        assert 1 == len(removed)
        assert not Path(f"/proc/{left}").exists() or "State:\tZ" in Path(f"/proc/{left}/status").read_text()
        assert "State:\tS" in Path(f"/proc/{kept}/status").read_text()


def named_by_a_dead_process() -> str:
    return subprocess.run(
        [sys.executable, "-c", NAMES_A_HALF], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_files_that_dead_processes_left_half_made_are_told_from_those_that_are_being_made(tmp_path: Path) -> None:
    folder = tmp_path / "cassettes" / "s"
    folder.mkdir(parents=True)
    left, kept, whole = (
        folder / named_by_a_dead_process(),
        folder / partial_name("cassette.yaml"),
        folder / "cassette.yaml",
    )
    for path in (left, kept, whole):
        path.write_text("x")

    assert [left] == list(abandoned_partials(tmp_path))
    assert [f"file {left}"] == remove_all(one for one in left_in_project(tmp_path) if str(tmp_path) in one.name)
    assert (False, True, True) == (left.exists(), kept.exists(), whole.exists())


def test_the_doctor_lists_what_is_left_and_removes_it_when_told_to(tmp_path: Path) -> None:
    left = tmp_path / "runs" / named_by_a_dead_process()
    left.mkdir(parents=True)
    env = {"DOCKER_HOST": "unix:///no/such/engine.sock", "XDG_CACHE_HOME": str(tmp_path / "cache")}

    listed = run_command("doctor", "--no-clean", "--json", folder=tmp_path, env=env)
    found = {one["subject"]: one for one in json.loads(listed.stdout)}
    assert (3, False, True) == (listed.returncode, found["engine"]["good"], left.exists())
    assert str(left) in found["left behind"]["text"]
    assert (False, "harness doctor --clean") == (found["left behind"]["good"], found["left behind"]["remedy"])

    cleaned = run_command("doctor", folder=tmp_path, env=env)
    assert f"removed folder {left}" in cleaned.stdout
    assert not left.exists()


def test_the_doctor_names_recordings_that_are_on_no_cassette_and_leaves_them(tmp_path: Path) -> None:
    journal = tmp_path / "cassettes" / "s" / ".c.0123.journal"
    journal.parent.mkdir(parents=True)
    journal.write_text("x\n")

    said = run_command("doctor", folder=tmp_path).stdout

    assert f"recording    {journal} was not merged into its cassette\n             -> harness record s" in said
    assert "protected from an environment's services" in said
    assert journal.exists()


def test_threads_that_remove_their_last_private_folder_do_not_take_it_from_others() -> None:
    until, problems = time.monotonic() + 1, list[OSError]()

    def make_and_remove() -> None:
        while time.monotonic() < until:
            try:
                folder = private_folder()
                (folder / "x").touch()
                remove_private_folder(folder)
            except OSError as error:
                problems.append(error)

    threads = [threading.Thread(target=make_and_remove) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [] == problems
